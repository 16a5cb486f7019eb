from __future__ import annotations

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup.model.errors import IndexUnavailable
from dedup.plugin import crawl_index as index_writer
from dedup.plugin.crawl_index import CircuitBreaker
from dedup.plugin.notices import CrawlStats, Notices


class Clock:
    """Seconds that only pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def waits(self, patience: CircuitBreaker, seconds: float, *, in_vain: bool) -> None:
        """Ask an index that keeps the crawl waiting."""

        def ask() -> str:
            self.now += seconds
            if in_vain:
                raise IndexUnavailable("locked for too long")
            return "answer"

        assert patience.attempt(ask) == (None if in_vain else "answer")


def impatient() -> CircuitBreaker:
    crawler = Crawler(Spider)
    crawler.stats = MemoryStatsCollector(crawler)
    counts = CrawlStats(crawler)
    return CircuitBreaker(counts, Notices(counts))


def is_over(patience: CircuitBreaker) -> bool:
    return patience.attempt(lambda: True) is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(index_writer, "monotonic", clock)
    return clock


@pytest.mark.parametrize(("seconds", "pause"), [(0.49, 0.0), (0.5, 10.0), (2.0, 40.0)])
def test_after_a_wait_in_vain_the_index_is_not_asked_for_a_while(
    clock: Clock, seconds: float, pause: float
) -> None:
    patience = impatient()
    clock.waits(patience, seconds, in_vain=True)
    clock.now += pause - 0.01
    assert is_over(patience) is (pause > 0)
    clock.now += 0.02
    assert not is_over(patience)


def test_what_is_not_asked_is_counted_and_an_error_is_reported_once(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    patience = impatient()
    for _ in range(3):
        clock.waits(patience, 0.1, in_vain=True)
    clock.waits(patience, 1.0, in_vain=True)
    for _ in range(2):
        assert patience.attempt(lambda: pytest.fail("it was asked")) is None
    assert patience._counts.own().items() >= {"not_asked": 2, "index_errors": 4}.items()
    assert caplog.text.count("locked for too long") == 1
