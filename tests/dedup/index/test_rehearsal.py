"""A rehearsal changes nothing but that copies are delivered; then it is over for good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex, Verdict
from dedup.files.exchange.files import Exported, export_lines
from dedup.files.exchange.merge import import_export
from dedup.index import Index
from dedup.report.rehearsal import rehearsal
from dedup.report.replay import replayed
from dedup.values.run import DRY_RUN
from dedup.values.verdict import Outcome
from tests.pages import edited, page, text

CONTENTS = [text(1), text(1), edited(1), edited(1, 5), text(2), edited(2, 3), text(3), "a b", ""]


def judged(index: Index, contents: list[int], config: DedupConfig) -> list[Verdict]:
    """Return what is said of pages with each a URL of its own, in one run."""
    with Detector(index, config) as detector:
        return [
            detector.check(page(CONTENTS[content], f"http://a.example/{number}"))
            for number, content in enumerate(contents)
        ]


@given(
    contents=st.lists(st.integers(0, len(CONTENTS) - 1), max_size=12),
    pages=st.integers(0, 14),
    unchanged=st.sampled_from(["keep", "drop"]),
)
def test_the_verdicts_are_those_without_it(contents: list[int], pages: int, unchanged: str) -> None:
    config = DedupConfig(unchanged=unchanged)
    plain = judged(MemoryIndex(), contents, config)
    index = MemoryIndex()
    found = judged(index, contents, replace(config, rehearse=pages))
    assert found == plain
    rehearsed = [place for place, one in enumerate(found) if one.is_rehearsed]
    copies = [place for place, one in enumerate(plain) if not one.kept]
    assert rehearsed == [place for place in copies if place < pages]
    rows = {row.id: row for row in index.rows()}
    assert [row.id - 1 for row in index.views.rehearsed()] == rehearsed
    assert not any(rows[place + 1].listed for place in rehearsed)
    assert not any(
        one.is_delivered for place, one in enumerate(found) if place in copies[len(rehearsed) :]
    )


def stored(found: Verdict) -> tuple[object, ...]:
    """Return what a row keeps of a verdict."""
    return found.reason, found.kept, found.canonical, found.previous, found.replaces, found.represents


CRAWLS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, len(CONTENTS) - 1)), max_size=6), max_size=4
)


def crawled(index: Index, crawls: list[list[tuple[int, int]]], config: DedupConfig) -> list[Verdict]:
    """Return what is said in some crawls, each with the URL and the content of its pages."""
    found = []
    for crawl in crawls:
        with Detector(index, config) as detector:
            detector.visit("a.example")
            for url, content in crawl:
                one = page(CONTENTS[content], f"http://a.example/{url}")
                found.append(detector.check(one))
    return found


@given(
    crawls=CRAWLS,
    pages=st.integers(0, 20),
    unchanged=st.sampled_from(["keep", "drop"]),
)
def test_later_crawls_say_what_they_would_without_it(
    crawls: list[list[tuple[int, int]]], pages: int, unchanged: str
) -> None:
    config = DedupConfig(unchanged=unchanged)
    plain = crawled(MemoryIndex(), crawls, config)
    with TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as index:
        assert crawled(index, crawls, replace(config, rehearse=pages)) == plain
        assert [stored(row.verdict) for row in index.rows()] == list(map(stored, plain))


def test_a_copy_that_was_rehearsed_and_changed_is_updated() -> None:
    crawls = [[(0, 0), (1, 4)], [(0, 0), (1, 4)], [(0, 6), (2, 0), (1, 4)]]
    config = DedupConfig(unchanged="drop", rehearse=4)
    *_, changed, new, same = crawled(MemoryIndex(), crawls, config)
    assert (changed.reason.value, new.reason.value, same.reason.value) == ("updated", "new", "unchanged")


def test_what_it_delivered_is_no_orphan_and_cannot_be_restored() -> None:
    index, config = MemoryIndex(), DedupConfig(rehearse=10)
    judged(index, [0, 1, 2], config)
    assert [row.id for row in index.views.rehearsed()] == [2, 3]
    assert index.ledger.restore_run_copies(1) == []
    assert index.ledger.forget_url("http://a.example/0") == 1
    assert index.views.orphans() == []
    assert judged(index, [2], config)[0].kept  # its page is gone, and it stands for nothing itself


def test_the_next_crawl_drops_it_for_what_that_crawl_delivers() -> None:
    index, config = MemoryIndex(), DedupConfig(rehearse=3)
    judged(index, [0, 1, 4], config)
    again = judged(index, [0, 1, 4], config)
    assert [one.is_delivered for one in again] == [True, False, True]


def test_a_dry_run_is_none() -> None:
    index = MemoryIndex()
    with Detector(index, DedupConfig(rehearse=9), action=DRY_RUN) as detector:
        for number in range(2):
            verdict = detector.check(page(text(1), f"http://a.example/{number}"))
    assert not verdict.is_rehearsed


def test_it_is_over_when_another_process_has_seen_the_pages(tmp_path: Path) -> None:
    config = DedupConfig(rehearse=3)
    with SQLiteIndex(tmp_path / "pages.db") as one, SQLiteIndex(tmp_path / "pages.db") as other:
        assert judged(one, [0, 1], config)[-1].is_rehearsed
        judged(other, [4, 6], config)
        assert judged(one, [0, 1], config)[-1].is_delivered is False
        assert other.problems() == []
        assert one.views.statistics().orphans == 0


@pytest.mark.parametrize("pages", [3, 100])
def test_it_tells_what_it_would_have_dropped(pages: int) -> None:
    index = MemoryIndex()
    judged(index, [0, 1, 3], DedupConfig(rehearse=pages))
    told = rehearsal(index, pages)
    first = {
        3: "The dry run is over: 2 of 3 pages would have been dropped.",
        100: "Dry run, 3 of 100 pages: 2 would have been dropped.",
    }
    assert told.splitlines()[0] == first[pages]
    assert "1 exact copy: safe. 1 near copy loses about" in told
    assert "of 120 words: <http://a.example/2> repeats <http://a.example/0>" in told
    assert told.endswith("dropped." if pages == 3 else "dry run.")


def test_replay_judges_what_was_rehearsed_and_rehearses_nothing() -> None:
    index, config = MemoryIndex(), DedupConfig(rehearse=10)
    judged(index, [0, 1, 2, 4], config)
    with replayed(index, config) as replay:
        assert [row.verdict.kept for row in replay.index.rows()] == [True, False, False, True]
        assert replay.index.views.rehearsed() == []
        assert (replay.changes.dropped, replay.changes.kept) == (0, 0)


@pytest.mark.parametrize("is_merge", [False, True])
def test_an_export_keeps_what_became_of_it(tmp_path: Path, is_merge: bool) -> None:
    index, other = MemoryIndex(), MemoryIndex()
    judged(index, [0, 1, 4], DedupConfig(rehearse=10))
    path = tmp_path / "export.jsonl"
    path.write_text("".join(export_lines(index)), "utf-8")
    if is_merge:
        judged(other, [6], DedupConfig())
    import_export(other, Exported.opened(path), DedupConfig(rehearse=10))
    assert [row.outcome for row in other.rows()][-2] is Outcome.REHEARSED
    assert len(other.views.rehearsed()) == 1
