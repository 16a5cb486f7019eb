"""What is held in memory is what stands in the file, whoever changes that."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from dedup import DedupConfig, SQLiteIndex
from dedup.index import search
from dedup.index.search import Lists
from dedup.index.store import Store
from dedup.model.fingerprint import SIMHASH_FIELDS, Fingerprint
from tests.laws.test_index import SameAnswers
from tests.laws.test_planted_faults import BUDGET
from tests.support.budget import examples
from tests.support.pages import find_or_add

# The laws hold for few examples too, the same each time and without a search for the smallest one.
LAWS = settings(BUDGET, max_examples=examples(50))


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill tails, lists and templates as soon as there is anything in them."""
    monkeypatch.setattr(search, "_LEAST_IN_TAIL", 1)
    monkeypatch.setattr(search, "MOST_IN_TAIL", 4)
    monkeypatch.setattr(search, "_MOST_LISTS", 3)
    monkeypatch.setattr(search, "_MOST_SKETCHES", 3)
    monkeypatch.setattr(search, "_FEW_SIMHASHES", 1)
    monkeypatch.setattr(search, "_LATEST", 4)


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


def check_memory(path: Path, seed: int) -> None:
    """Ask one of two processes what it holds, while both change rows, and undo some of that."""
    rng, config = Random(seed), DedupConfig(scope="global")
    with SQLiteIndex(path) as index, SQLiteIndex(path) as other:
        run = index.runs.begin("laws")
        for number in range(1, 60):
            digest, sketch = number.to_bytes(16, "big"), rng.randbytes(256)
            page = Fingerprint(number << 40, rng.randint(1, 4), sketch, digest, digest, 300, 300, 297)
            adding = rng.choice([index, other])
            with suppress(ZeroDivisionError), adding.store.transaction(writing=True):
                find_or_add(adding, page, f"http://a/{rng.randrange(30)}", run=run, config=config)
                last = adding.store.last()
                row = adding.store.row(rng.randint(max(1, last - 9), last))
                if rng.random() < 0.3:
                    adding.store.set_listed(row, listed=not row.listed)
                elif rng.random() < 0.1:
                    changed = replace(page, content_simhash=number, sketch=rng.randbytes(256))
                    adding.store.reprint(row.id, changed)
                check_held(adding.store, rng)
                number / rng.choice([0, 1, 1])
            asked = rng.choice([index, other]).store
            with asked.transaction(writing=False):
                check_held(asked, rng)


def check_held(store: Store, rng: Random) -> None:
    pages = {row.id: row.sighting.fingerprint for row in store.rows("p.listed")}
    scope = store.scope(("page", ""))
    for field in SIMHASH_FIELDS:
        held = store._lists.simhashes(field, scope).all().tolist()
        assert {page.simhash(field) for page in pages.values()} <= {*held}
    asked = rng.sample([*pages], min(len(pages), 5))
    assert store._lists.sketches(asked) == [pages[row].sketch for row in asked]


@pytest.mark.parametrize("seed", range(6))
def test_the_rows_listed_are_held(seed: int, tmp_path: Path) -> None:
    check_memory(tmp_path / "pages.db", seed)


@pytest.mark.parametrize("fault", ["read_at", "_end", "_read_on", "_NEWS"])
def test_it_finds_what_is_held_on(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of: Any = Store if fault == "_end" else Lists
    # To whom nothing seems to have changed since.
    now = property(lambda lists: lists.connection.total_changes, lambda *_: None)
    monkeypatch.setattr(of, fault, now if fault == "read_at" else lambda *_: None, raising=False)
    if fault == "_NEWS":  # of what was listed before nothing is read again
        monkeypatch.setattr(search, fault, f"{search._NEWS} AND FALSE")
    with pytest.raises(AssertionError):
        check_memory(tmp_path / "pages.db", 0)


@pytest.mark.parametrize("field", SIMHASH_FIELDS)
def test_a_list_is_read_from_its_own_index(field: str) -> None:
    store, asked = Store(None), list[str]()
    store.connection.set_trace_callback(asked.append)
    store._lists.simhashes(field, 1)
    ((*_, plan),) = store.connection.execute(f"EXPLAIN QUERY PLAN {asked[-1]}")
    assert f"INDEX pages_by_{field} (scope=?" in plan


def test_of_what_others_list_again_nothing_else_is_read(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index, SQLiteIndex(tmp_path / "pages.db") as other:
        run = index.runs.begin("laws")
        for number in (1, 2, 4):
            digest = bytes([number]) * 16
            page = Fingerprint(1 << 9 * number, 7, bytes(256), digest, digest, 300, 300, 297)
            find_or_add(index, page, f"http://a/{number}", run=run, config=DedupConfig(scope="global"))
        held = list[Any]()
        for listed in (False, False, True):
            with other.batch():
                other.store.reprint(1, page)
                other.store.set_listed(other.row(2), listed=listed)
            with index.store.transaction(writing=False):
                held.append(index.store._lists.simhashes("content", 1))
        assert held[1] is held[2]
        assert 1 << 18 in held[2].all()
