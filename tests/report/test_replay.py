"""What another threshold would have dropped is what a crawl with that threshold drops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, MemoryIndex
from dedup.index import Index, Row
from dedup.model.verdict import Outcome
from dedup.report.replay import Changes, replay_into, replayed
from tests.budget import examples
from tests.index.scan_store import ScanIndex
from tests.index.test_laws import CONFIGS, PRINTS, URLS
from tests.sightings import find_or_add

# Pages of a life: fingerprint, URL, kind, and which of the runs so far sees it (0: a new one).
LIVES = st.lists(
    st.tuples(
        st.integers(0, len(PRINTS) - 1),
        st.sampled_from(URLS),
        st.sampled_from(["page", "item"]),
        st.integers(0, 4),
    ),
    max_size=25,
)
ANY_CONFIG = st.sampled_from(CONFIGS)
GONE = (Outcome.PENDING, Outcome.RELEASED, Outcome.FORGOTTEN)

Life = Sequence[tuple[int, str, str, int]]


def lived(life: Life, config: DedupConfig, scope: str = "spider") -> MemoryIndex:
    index = MemoryIndex()
    index.prepare()
    runs = [index.runs.begin("s")]
    for found, url, kind, run in life:
        if not run:
            runs.append(index.runs.begin("t" if len(runs) % 3 == 2 else "s"))
        find_or_add(index, PRINTS[found], url, run=runs[-run % len(runs)], config=config, kind=kind)
    return index


def verdicts(index: Index) -> list[tuple[Any, ...]]:
    return [(*observed(row), *judged(row)) for row in index.rows()]


def observed(row: Row) -> tuple[Any, ...]:
    return (row.id, row.sighting)


def judged(row: Row) -> tuple[Any, ...]:
    found = row.verdict
    measures = (found.content_distance, found.structure_distance, found.similarity)
    return (found.reason, found.kept, found.canonical, found.previous, found.replaces, *measures)


@settings(max_examples=examples(40))
@given(LIVES, ANY_CONFIG)
def test_the_thresholds_of_the_crawl_give_its_verdicts(life: Life, config: DedupConfig) -> None:
    index = lived(life, config)
    with replayed(index, config) as replay:
        assert verdicts(replay.index) == verdicts(index)
        assert replay.index.runs.all() == index.runs.all()
        assert replay.changes == Changes(pages=len(life))


@settings(max_examples=examples(40))
@given(LIVES, st.sampled_from(CONFIGS), st.sampled_from(CONFIGS))
def test_other_thresholds_give_the_verdicts_of_another_crawl(
    life: Life, one: DedupConfig, other: DedupConfig
) -> None:
    if one.scope != other.scope:
        return  # the scopes of the crawl stay
    index, crawled_again = lived(life, one), lived(life, other)
    with replayed(index, other) as replay:
        assert [judged(row) for row in replay.index.rows()] == [
            judged(row) for row in crawled_again.rows()
        ]


@settings(max_examples=examples(40))
@given(LIVES, ANY_CONFIG, ANY_CONFIG, st.sampled_from(["nothing", *URLS]))
def test_a_replay_is_that_of_the_linear_scan_and_changes_nothing(
    life: Life, config: DedupConfig, other: DedupConfig, forgotten: str
) -> None:
    index = lived(life, config)
    index.ledger.forget_url(forgotten)
    before = list(index.rows())
    slow = ScanIndex()
    changes = replay_into(slow, index, other)
    with replayed(index, other) as replay:
        assert verdicts(replay.index) == verdicts(slow)
        assert replay.changes == changes
        assert replay.index.problems() == []
    assert list(index.rows()) == before


@settings(max_examples=examples(40))
@given(LIVES, ANY_CONFIG, st.integers(1, 5))
def test_what_is_gone_is_nobodys_canonical(life: Life, config: DedupConfig, run: int) -> None:
    index = lived(life, config)
    index.runs.forget(min(run, len(index.runs.all())))
    before = list(index.rows())
    gone = {row.id for row in before if row.outcome in GONE}
    with replayed(index, config) as replay:
        for was, now in zip(before, replay.index.rows(), strict=True):
            if was.id in gone:
                assert (judged(now), now.outcome) == (judged(was), was.outcome)
            else:
                assert now.verdict.canonical not in gone
