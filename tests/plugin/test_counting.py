"""The stats: added up in one place, and the same for whoever reads them a little later."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.statscollectors import MemoryStatsCollector

from dedup.model.verdict import Reason, Verdict
from dedup.plugin import notices, pages
from dedup.plugin import spider_middlewares as responses
from dedup.plugin.notices import CrawlStats, DuplicatePage
from dedup.settings import read_settings
from tests.crawling import crawl
from tests.pages import text

names = st.sampled_from(["seen", Reason.NEW, "new", "index_errors", "seconds/index"])
added = st.tuples(st.just("add"), st.tuples(names, st.integers(0, 9)))


def crawler() -> Crawler:
    made = Crawler(Spider)
    made.stats = MemoryStatsCollector(made)
    return made


def test_what_scrapys_parser_takes_is_no_time_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    for module in (notices, pages):
        monkeypatch.setattr(module, "thread_time", lambda: next(clock))
    counts = CrawlStats(crawler())
    judge: Any = SimpleNamespace(counts=counts, settings=read_settings({}), wants_places=lambda _: True)
    response = HtmlResponse("http://a/", body=b"<p>some words", encoding="utf-8")

    async def in_a_loop() -> None:
        for _ in range(2):  # the second time nothing is parsed
            assert responses.read_timed(response, judge) is not None
        # From tick 0 to 3, of which 1 to 2 are the parser's, and from 4 to 5.
        assert counts.own() == {"seconds/parse": 3}
        # What the project has read before, with the parser's ticks in it, is no time of ours either.
        known = response.replace(url="http://b/")
        assert pages.page_from_response(known) is responses.read_timed(known, judge)
        assert counts.own() == {"seconds/parse": 4}

    asyncio.run(in_a_loop())


def looked_at(candidates: int) -> Verdict:
    return Verdict(Reason.NEW, kept=True, candidates=candidates)


def test_others_see_every_count_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "WRITTEN_AFTER", 0.05)
    made = crawler()

    async def count() -> list[int]:
        counts, seen = CrawlStats(made), []
        for _ in range(2):  # the clock is wound up again
            counts.add("seen")
            counts.add("seen")
            await asyncio.sleep(0.2)
            seen.append(made.stats.get_value("dedup/seen"))
        return seen

    assert asyncio.run(count()) == [2, 4]


class Reader:
    """An extension that reads the stats when the spider is closed, before any pipeline does."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Reader:
        reader = cls(crawler)
        crawler.signals.connect(reader.closed, signals.spider_closed)
        return reader

    def closed(self) -> None:
        assert self._crawler.stats
        seen = {n: v for n, v in self._crawler.stats.get_stats().items() if n.startswith("dedup/")}
        self._crawler.stats.set_value("read", dict(seen))


def test_extensions_that_read_at_the_end_see_everything(tmp_path: Path) -> None:
    items = [{"url": f"http://a/{n}", "text": text(n % 5)} for n in range(20)]
    settings = {"EXTENSIONS": {f"{__name__}.Reader": 0}}
    done = crawl(tmp_path, "tests.plugin.spiders.ItemSpider", settings, {"items": json.dumps(items)})
    read = done.stats["read"]
    counts = {name for name in read if "/seconds/" not in name}
    assert {name: read[name] for name in counts} == {name: done.stats[name] for name in counts}
    assert [read[f"dedup/{name}"] for name in ("seen", "kept", "dropped")] == [20, 5, 15]
    assert read["dedup/lookups"] == done.stats["dedup/lookups"]


def test_a_drop_is_worded_only_for_those_who_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    worded: list[str] = []

    def explained(url: str, *_: object) -> str:
        worded.append(url)
        return f"{url} repeats another"

    monkeypatch.setattr(notices, "explained", explained)
    copy = DuplicatePage("http://a/", looked_at(0))
    logger = logging.getLogger("a log that nobody reads")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logger.warning("Dropped %s", copy)
    assert worded == []
    assert str(copy) == "http://a/ repeats another"
