"""Whoever says something about two pages says the same: numbers, verdict and sentence."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from dedup import DedupConfig, Fingerprint, SQLiteIndex, compare
from dedup.index import Index, search
from dedup.model.verdict import Match
from dedup.report import explanation as explain
from dedup.report import html
from dedup.report.clusters import Report, what_is
from dedup.report.html import entries_of
from dedup.rule import decide, match
from dedup.rule.loss import OWN, words_of
from tests.budget import examples, fault_budget
from tests.index.scan_store import ScanIndex
from tests.rule.pairs import bases, configs, others
from tests.sightings import find_or_add

# Enough to find each of the faults below.
BUDGET = fault_budget(1_200)


@contextmanager
def indexes() -> Iterator[list[Index]]:
    with tempfile.TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as stored:
        yield [ScanIndex(), stored]


def law(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> None:
    matched = compare(kept, page, config)
    explains(kept, page, config, matched)
    with indexes() as both:
        for index in both:
            index.prepare()
            run = index.runs.begin("s")
            find_or_add(index, kept, "http://a/1", run=run, config=config)
            verdict = find_or_add(index, page, "http://a/2", run=run, config=config)
            if matched.finding == OWN and verdict.kept:
                continue  # a crawl asks for more pages of the site than this one
            decides(verdict, matched)
            reports(index, config, matched)


def explains(kept: Fingerprint, page: Fingerprint, config: DedupConfig, matched: Match) -> None:
    explained = explain.explain(kept, page, config)
    assert explained.match == matched
    assert matched.sentence in explained.reasons
    assert matched.is_duplicate or explained.reasons[-1] != "So it is a copy."
    assert explained.words == words_of(page)


def decides(verdict: Any, matched: Match) -> None:
    assert verdict.reason is matched.reason
    assert verdict.kept is not matched.is_duplicate
    if matched.is_duplicate:
        assert numbers_of(verdict) == numbers_of(matched)
        assert verdict.sentence == matched.sentence


def numbers_of(told: Any) -> tuple[int | None, int | None, float, int | None]:
    return told.content_distance, told.structure_distance, told.similarity, told.lost


def reports(index: Index, config: DedupConfig, matched: Match) -> None:
    entries = entries_of(Report(index), config)
    assert bool(entries) is matched.is_duplicate
    for entry in entries:
        lost = -1 if matched.lost is None else matched.lost
        assert (entry.nowhere, entry.why) == (lost, matched.sentence)
        assert what_is(entry.copy).split()[0] == matched.reason.split("_")[0]


test_all_say_the_same = settings(max_examples=examples(60), deadline=None)(
    given(bases(), others(), configs())(law)
)


def by_default(*pages: Fingerprint) -> Match:
    """Judge two pages by another rule than the one that was asked for."""
    return match.match(pages[0], pages[1], DedupConfig())


def is_above(page: Fingerprint, sketches: list[bytes]) -> list[bool]:
    return [likeness_of(page.sketch, sketch) > 0.9 for sketch in sketches]


def likeness_of(a: bytes, b: bytes) -> float:
    return compare(Fingerprint(1, 1, a, b"a", b"a", 1), Fingerprint(1, 1, b, b"b", b"b", 1)).similarity


def unsaid(*arguments: Any, **choices: Any) -> Any:
    return replace(VERDICT(*arguments, **choices), sentence="")


VERDICT = decide._Case._verdict
Plant = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[str, Plant] = {
    "the index rules out what could pass": lambda plant: plant.setattr(search, "are_alike", is_above),
    "the index decides by another rule": lambda plant: plant.setattr(
        decide, "match", lambda kept, page, *_: by_default(kept, page)
    ),
    "the verdict has no sentence": lambda plant: plant.setattr(decide._Case, "_verdict", unsaid),
    "another rule is explained": lambda plant: plant.setattr(
        explain, "match", lambda kept, page, _: by_default(kept, page)
    ),
    "a report has words of its own": lambda plant: plant.setattr(
        html, "why", lambda _, row, config: f"{row.verdict.reason}: {row.verdict.similarity:.2f}"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_finds_a_fault(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        BUDGET(given(bases(), others(), configs())(law))()
