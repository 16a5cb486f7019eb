"""The first crawl of an index is a rehearsal: all is delivered, and the log says what would be lost."""

from __future__ import annotations

import json
from pathlib import Path

from dedup import SQLiteIndex
from dedup.values.verdict import Outcome
from tests.crawling import Crawl, crawl
from tests.knobs import EXPLORED
from tests.pages import edited, text
from tests.plugin.test_runs import PAGES, dedup, listed, urls

ITEMS = "tests.plugin.spiders.ItemSpider"
TEXTS = "tests.plugin.spiders.OneTextAfterTheOther"


def rehearsed(folder: Path, pages: int, *contents: str, **settings: object) -> Crawl:
    return crawl(folder, ITEMS, {"DEDUP_DRY_RUN": pages, **settings}, listed(*contents))


def test_all_is_delivered_and_told_and_then_it_drops(tmp_path: Path) -> None:
    contents = [text(1), text(1), edited(1, 5), text(1), text(2)]
    one_by_one = {
        "CONCURRENT_REQUESTS": 1,
        "CONCURRENT_ITEMS": 1,
        "DEDUP_TEXT_FIELDS": ["text"],
        "DEDUP_DRY_RUN": 3,
    }
    done = crawl(tmp_path, TEXTS, one_by_one, {"contents": json.dumps(contents)})
    assert [item["text"] for item in done.items] == [*contents[:3], contents[4]]
    counts = done.dedup()
    assert (counts["rehearsed"], counts["dropped"], counts["kept"]) == (2, 1, 4)
    assert "The dry run is over: 2 of 3 pages would have been dropped." in done.log
    assert "of 120 words: <" in done.log
    assert done.log.count("Would drop, after the dry run,") == 2
    assert "2 copies were kept in the dry run" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert [row.outcome for row in index.rows()].count(Outcome.REHEARSED) == 2
        assert index.problems() == []
    assert "not all of them dropped" in dedup(tmp_path, "report")


def test_it_goes_on_in_the_next_crawl(tmp_path: Path) -> None:
    first = rehearsed(tmp_path, 4, text(1), text(1))
    assert len(first.items) == 2
    assert "Dry run, 2 of 4 pages: 1 would have been dropped." in first.log
    second = rehearsed(tmp_path, 4, text(3), text(3), text(3))
    assert len(second.items) == 2
    assert "it has 2" in second.log
    assert "The dry run is over" in second.log
    third = rehearsed(tmp_path, 4, text(4), text(4))
    assert len(third.items) == 1
    assert "ry run" not in third.log


def test_it_goes_on_in_a_job_that_was_stopped(tmp_path: Path) -> None:
    settings = {
        "CONCURRENT_REQUESTS": 1,
        "DEDUP_DRY_RUN": 4,
        "JOBDIR": str(tmp_path / "job"),
        "DEDUP_TEXT_FIELDS": ["text"],
    }
    contents = {"contents": json.dumps([text(1)] * 6)}
    first = crawl(tmp_path, TEXTS, {**settings, "CLOSESPIDER_ITEMCOUNT": 2}, contents)
    second = crawl(tmp_path, TEXTS, settings, contents)
    assert len(first.items) + len(second.items) == 4
    assert (first.log + second.log).count("The dry run is over: 3 of 4 pages") == 1


def test_nothing_is_skipped(tmp_path: Path) -> None:
    contents = {"contents": json.dumps([text(1)] * 3)}
    settings = {"DEDUP_SOURCE": "response", "DEDUP_SKIP": "links", "KNOBS": {EXPLORED: 0}}
    done = crawl(tmp_path, PAGES, {**settings, "DEDUP_DRY_RUN": 50}, contents)
    assert len(done.items) == 3
    assert "requests_saved" not in done.dedup()


def test_a_rehearsed_copy_whose_canonical_is_lost_was_delivered_once(tmp_path: Path) -> None:
    """What waits is asked again, and what took no part in the end stands for nothing."""
    items = [{"url": f"http://a/{n}", "text": text(1)} for n in range(3)]
    items[0]["fate"] = "drop"
    storage = {"ITEM_PIPELINES": {"tests.plugin.spiders.FailingStorage": 900}}
    done = crawl(tmp_path, ITEMS, {"DEDUP_DRY_RUN": 9, **storage}, {"items": json.dumps(items)})
    assert urls(done) == ["http://a/1", "http://a/2"]
    with SQLiteIndex(tmp_path / "pages.db") as index:
        outcomes = [row.outcome.value for row in index.rows()]
        assert outcomes == ["released", "confirmed", "rehearsed"]


def test_copies_are_marked_as_ever(tmp_path: Path) -> None:
    done = rehearsed(tmp_path, 9, text(1), text(1), DEDUP_ACTION="mark")
    assert [item["dedup_reason"] for item in done.items] == ["new", "exact_duplicate"]
    assert done.dedup()["marked"] == 1
