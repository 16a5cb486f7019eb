from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import Detector
from dedup.model.errors import IndexUnavailable
from dedup.plugin import crawl_index
from dedup.plugin.notices import CrawlStats, Notices
from dedup.settings import DedupSettings


class Clock:
    """Seconds that only pass when they are told to, and an index that is asked by them."""

    def __init__(self) -> None:
        crawler = Crawler(Spider)
        crawler.stats = MemoryStatsCollector(crawler)
        self.counts = CrawlStats(crawler)
        notices = Notices(self.counts)
        self.index = crawl_index.CrawlIndex(crawler, DedupSettings(), self.counts, notices)
        self.index.detector = cast(Detector, "it is not asked")
        self.now = 1000.0

    def waits_in_vain(self, seconds: float) -> None:
        def ask(_: Detector) -> str:
            self.now += seconds
            raise IndexUnavailable("locked for too long")

        assert self._answers(ask) == [None]

    def is_asked(self) -> bool:
        return self._answers(lambda _: "yes") == ["yes"]

    def _answers(self, ask: Callable[[Detector], str]) -> list[str | None]:
        answers: list[str | None] = []
        self.index.do(ask, answers.append)
        return answers


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(crawl_index, "monotonic", lambda: clock.now)
    return clock


@pytest.mark.parametrize(("seconds", "pause"), [(0.49, 0.0), (0.5, 10.0), (2.0, 40.0)])
def test_after_a_wait_in_vain_the_index_is_not_asked_for_a_while(
    clock: Clock, caplog: pytest.LogCaptureFixture, seconds: float, pause: float
) -> None:
    for _ in range(3):
        clock.waits_in_vain(0.1)
    clock.waits_in_vain(seconds)
    clock.now += pause - 0.01
    assert clock.is_asked() is (pause == 0)
    clock.now += 0.02
    assert clock.is_asked()
    assert clock.counts.own().get("not_asked", 0) == (pause > 0)
    assert (clock.counts.own()["index_errors"], caplog.text.count("locked for too long")) == (4, 1)
