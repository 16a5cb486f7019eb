"""What was dropped for an item that was lost afterwards is asked for once more, or delivered later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from dedup import SQLiteIndex
from dedup.model.verdict import Outcome
from dedup.plugin.requests import once_more
from tests.crawling import Crawl, crawl
from tests.knobs import KNOBS, WAIT

SPIDER = "tests.plugin.again_spiders.TwiceSpider"


def twice(
    folder: Path, *, wait: float = 0.2, loses: str = "first", later: str = "", **how: Any
) -> Crawl:
    """Crawl two addresses with one text, of which the first is lost after the other was dropped."""
    settings = {
        "ITEM_PIPELINES": {"tests.plugin.again_spiders.Losing": 900},
        "DOWNLOADER_MIDDLEWARES": {"tests.plugin.again_spiders.Served": 1},
        "CONCURRENT_REQUESTS": 1,
        "LOSES": loses,
        "LATER": later,
        KNOBS: {WAIT: wait},
        **how.pop("settings", {}),
    }
    return crawl(folder, SPIDER, settings, how)


def names(done: Crawl) -> list[str]:
    return [item["url"].rpartition("/")[2] for item in done.items]


def outcomes(folder: Path) -> list[Outcome]:
    with SQLiteIndex(folder / "pages.db") as index:
        assert index.problems() == []
        return [row.outcome for row in index.rows()]


def test_a_copy_of_what_was_lost_is_asked_for_once_more_and_kept(tmp_path: Path) -> None:
    done = twice(tmp_path)
    assert names(done) == ["copy"]
    assert (done.stats["asked/copy"], done.dedup()["requested_again"]) == (2, 1)
    # It was wanted back in the transaction that released the first, and has come.
    assert outcomes(tmp_path) == [Outcome.RELEASED, Outcome.FORGOTTEN, Outcome.CONFIRMED]


@pytest.mark.parametrize("how", [{"how": "no request"}, {"method": "POST"}], ids=str)
def test_what_cannot_be_asked_for_again_is_kept(tmp_path: Path, how: Any) -> None:
    done = twice(tmp_path, later="unseen", **how)
    assert names(done) == ["copy"]
    assert done.dedup()["wait_timeout"] == 1
    assert "requested_again" not in done.dedup()


def test_a_request_is_made_again_once_and_from_the_beginning() -> None:
    first = Request("http://a.example/", meta={"retry_times": 2, "depth": 3})
    again = once_more(first)
    assert again is not None
    assert again.dont_filter
    assert (again.meta.get("retry_times"), again.meta["depth"]) == (None, 3)
    assert once_more(again) is None
    assert once_more(Request("http://a.example/b", meta=again.meta)) is not None  # a link of it


def test_a_job_that_stops_before_the_first_is_lost_asks_for_the_copy_when_it_goes_on(
    tmp_path: Path,
) -> None:
    job: Any = {"settings": {"JOBDIR": str(tmp_path / "job")}}
    assert names(twice(tmp_path, later="stop", **job)) == []
    assert outcomes(tmp_path) == [Outcome.RELEASED, Outcome.RESTORED]
    assert names(twice(tmp_path, loses="", settings={"JOBDIR": str(tmp_path / "job")})) == ["copy"]
