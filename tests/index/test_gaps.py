"""Rows of lost pages are removed when they are old, and nobody counts on numbers without gaps."""

from __future__ import annotations

import pytest

from dedup import DedupConfig, MemoryIndex
from dedup.files.merge import merge
from dedup.index import Index, Row, Run
from dedup.report.replay import replayed
from tests.index.conftest import ON_BOTH
from tests.index.test_nearest import flipped, seen
from tests.sightings import find_or_add, sighting

CONFIG = DedupConfig(max_distance=0)
LATER = 10**10


@pytest.fixture
def run(index: Index) -> Run:
    """Return a run that has lost its second and fourth page, and ended."""
    index.prepare()
    run = index.runs.begin("s")
    for number, word in enumerate([1, 2**40 - 1, 1, 2**50 - 1, 2**60 - 1]):
        found = find_or_add(
            index,
            seen(word),
            f"http://a/{number}",
            run=run,
            config=CONFIG,
            confirmed=number not in (1, 3),
        )
        assert found.row == number + 1
    index.runs.end(run, "died")
    return run


def facts(row: Row) -> tuple[object, ...]:
    return row.id, row.sighting.url, row.verdict.reason, row.verdict.canonical, row.outcome


@ON_BOTH
def test_rows_of_lost_pages_are_removed(index: Index, run: Run) -> None:
    assert index.ledger.forget_unseen_since(LATER) == 5
    assert [row.id for row in index.rows()] == [1, 3, 5]
    assert index.store.statistics().rows == 3
    assert index.ledger.forget_unseen_since(LATER) == 0


@ON_BOTH
def test_what_is_named_by_others_stays(index: Index, run: Run) -> None:
    index.ledger.take_back([1])  # its copy names it
    again = index.runs.begin("s")
    lost = find_or_add(index, seen(2**30 - 1), "http://b/", run=again, config=CONFIG, confirmed=False)
    assert lost.row is not None
    index.ledger.release(lost.row)  # the last number does not come again
    assert index.store.remove([1, 2, lost.row]) == 1
    assert [row.id for row in index.rows()] == [1, 3, 4, 5, 6]
    index.runs.end(again, "finished")


@pytest.fixture
def gaps(index: Index, run: Run) -> Index:
    """Return an index without the rows 2 and 4."""
    assert index.store.remove([2, 4]) == 2
    return index


@ON_BOTH
def test_new_rows_come_behind_the_others(gaps: Index) -> None:
    run = gaps.runs.begin("s")
    found = find_or_add(gaps, seen(flipped(7, [1])), "http://b/", run=run, config=CONFIG)
    gaps.runs.end(run, "finished")
    assert found.row == 6
    seen_again = sighting(seen(2**60 - 1), "http://a/4", run=run, config=CONFIG)
    assert gaps.ledger.judge(seen_again, CONFIG).canonical == 5


@ON_BOTH
def test_a_replay_has_the_same_numbers(gaps: Index) -> None:
    with replayed(gaps, CONFIG) as replay:
        assert [*map(facts, replay.index.rows())] == [*map(facts, gaps.rows())]
        assert replay.changes.pages == 3


@ON_BOTH
def test_a_merge_takes_over_all_rows(gaps: Index) -> None:
    with MemoryIndex() as target:
        assert merge(gaps, target, CONFIG).rows == 3
        assert [row.sighting.url for row in target.rows()] == ["http://a/0", "http://a/2", "http://a/4"]
        assert [row.verdict.canonical for row in target.rows()] == [None, 1, None]
        assert merge(gaps, target, CONFIG).known == 3
