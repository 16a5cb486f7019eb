"""An index that is waited for in vain, and what is told of the fates of rows."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import Detector
from dedup.model.errors import IndexUnavailable
from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin import crawl_index
from dedup.plugin.crawl_index import MOST_AGAIN, CrawlIndex, PendingRows, Settler
from dedup.plugin.stats import CrawlStats
from dedup.settings import DedupSettings


@pytest.mark.parametrize(("seconds", "pause"), [(0.49, 0.0), (0.5, 10.0), (2.0, 40.0)])
def test_after_a_wait_in_vain_the_index_is_not_asked_for_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seconds: float, pause: float
) -> None:
    crawler, now = Crawler(Spider), [1000.0]
    crawler.stats = MemoryStatsCollector(crawler)
    counts = CrawlStats(crawler)
    index = CrawlIndex(crawler, DedupSettings(), counts)
    index.detector = cast(Detector, "it is not asked")
    monkeypatch.setattr(crawl_index, "monotonic", lambda: now[0])

    def answer(ask: Callable[[Detector], str]) -> str | None:
        answers: list[str | None] = []
        index.do(ask, answers.append)
        return answers[0]

    def lock_for(waited: float) -> Callable[[Detector], str]:
        def ask(_: Detector) -> str:
            now[0] += waited
            raise IndexUnavailable("locked for too long")

        return ask

    for waited in (0.1, 0.1, 0.1, seconds):
        assert answer(lock_for(waited)) is None
    now[0] += pause - 0.01
    assert answer(lambda _: "yes") == (None if pause else "yes")
    now[0] += 0.02
    assert answer(lambda _: "yes") == "yes"
    assert counts.own().get("not_asked", 0) == (pause > 0)
    assert (counts.own()["index_errors"], caplog.text.count("locked for too long")) == (4, 1)


def under_way(*rows: int) -> PendingRows:
    pending = PendingRows()
    pending.runs[7] = {}
    for row in rows:
        pending.begin(7, row)
    return pending


def test_copies_of_what_is_under_way_are_noted_however_many_repeat_pages_of_earlier_crawls() -> None:
    index: Any = SimpleNamespace(counts=None, crawler=None, settings=None)
    settler, request = Settler(index), Request("http://a.example/")
    settler.pending = under_way(1)
    copy = Verdict(Reason.NEAR_DUPLICATE, kept=False, row=9)
    for earlier in range(2, MOST_AGAIN + 3):
        settler.note_copy(replace(copy, canonical=earlier), request)
    settler.note_copy(replace(copy, canonical=1, standing=Standing(1, 7)), request)
    settler.pending.settle(1, kept=False)
    assert settler.pending.take().copies == [(9, request)]
