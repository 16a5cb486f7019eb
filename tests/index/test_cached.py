"""What is held in memory is what stands in the file, whoever changes that."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from dedup import DedupConfig, SQLiteIndex
from dedup.index import blocks, lists
from dedup.index.lists import Lists
from dedup.index.rows import Pool
from dedup.model.fingerprint import Fingerprint
from tests.budget import examples
from tests.index.test_laws import SameAnswers
from tests.index.test_planted_faults import BUDGET
from tests.sightings import find_or_add

# The laws hold for few examples too, the same each time and without a search for the smallest one.
LAWS = settings(BUDGET, max_examples=examples(50))


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill tails, lists and templates as soon as there is anything in them."""
    monkeypatch.setattr(blocks, "_LEAST_IN_TAIL", 1)
    monkeypatch.setattr(blocks, "MOST_IN_TAIL", 4)
    monkeypatch.setattr(lists, "_MOST_LISTS", 3)
    monkeypatch.setattr(lists, "_MOST_PAGES", 6)
    monkeypatch.setattr(lists, "_MOST_TEMPLATES", 2)
    monkeypatch.setattr(lists, "_LATEST", 4)


@pytest.mark.usefixtures("little_room")
def test_all_laws_hold_where_there_is_little_room() -> None:
    run_state_machine_as_test(SameAnswers, settings=LAWS)


class SameAnswersByTwo(SameAnswers):
    """Two processes, as it were, change one file."""

    def __init__(self) -> None:
        super().__init__()
        self.other = self.opened()

    def ask(self, **question: Any) -> None:  # type: ignore[override]
        if question["found"] % 3 == 0:
            self.fast, self.other = self.other, self.fast
        super().ask(**question)

    def teardown(self) -> None:
        self.other.close()
        super().teardown()


@pytest.mark.slow
def test_all_laws_hold_where_another_process_changes_the_file() -> None:
    run_state_machine_as_test(SameAnswersByTwo, settings=LAWS)


@pytest.mark.slow
def test_the_laws_find_what_is_held_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lists, "look_around", lambda _: None)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(SameAnswersByTwo, settings=settings(BUDGET, max_examples=500))


def check_newest(path: Path, seed: int) -> None:
    """Ask one of two processes for the newest pages, while both add some."""
    rng, config = Random(seed), DedupConfig(scope="global")
    with SQLiteIndex(path) as index, SQLiteIndex(path) as other:
        store, run = index.store, index.runs.begin("laws")
        for number in range(1, 60):
            digest = number.to_bytes(16, "big")
            page = Fingerprint(number << 40, rng.randint(1, 4), rng.randbytes(256), digest, digest, 300)
            adding = rng.choice([index, other])
            find_or_add(adding, page, f"http://a/{rng.randrange(30)}", run=run, config=config)
            row = store.row(rng.randint(1, store.last()))
            if rng.random() < 0.3:
                with adding.store.transaction(writing=True):
                    adding.store.set_listed(row, listed=not row.listed)
            wanted = set(rng.sample(range(1, 5), 2))
            newest = [
                one.id
                for one in index.rows()
                if one.listed and one.sighting.fingerprint.structure_simhash in wanted
            ][::-1]
            with store.transaction(writing=False):
                scope = store.scope(("page", ""))
                store._lists.simhashes("structure", scope)
                held = list(store._lists.newest.latest(scope, Pool(("page", "")), wanted))
            found = [number for number, _ in held]
            assert found == newest[: len(found)]
            assert set(found) >= {number for number in newest if number > store.last() - 5}


@pytest.mark.parametrize("seed", range(6))
def test_the_newest_pages_are_those_of_a_look_at_the_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_LATEST", 5)
    check_newest(tmp_path / "pages.db", seed)


def test_that_finds_pages_that_are_held_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_LATEST", 5)
    monkeypatch.setattr(Lists, "look_around", lambda _: None)
    with pytest.raises(AssertionError):
        check_newest(tmp_path / "pages.db", 0)
