"""One crawl of the plan, as a user would run it: a Scrapy crawl with the add-on, and a feed."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import Response, TextResponse

from benchmarks.crawl import anonymous_mb
from benchmarks.soak.pages import Plan
from dedup import SQLiteIndex
from dedup.model.verdict import Outcome

BATCH = 100


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a crawl after so many of its pages; seconds are counted from its start.

    *wall* and *cpu* are seconds, *memory* is the anonymous resident memory of the process and
    *index* the size of the index with its log, both in megabytes (10**6 bytes); *load* is the load
    average of the machine over a minute.
    """

    crawl: int
    pages: int
    wall: float
    cpu: float
    memory: float
    index: float
    load: float

    @classmethod
    def read(cls, path: Path) -> list[Self]:
        with path.open(newline="") as file:
            return [
                cls(int(row.pop("crawl")), int(row.pop("pages")), *map(float, row.values()))
                for row in csv.DictReader(file)
            ]


class GeneratedPages(BaseDownloadHandler):
    """Answers ``soak:CRAWL/BATCH`` with the pages of that batch, as an API would list them."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        assert isinstance(crawler.spider, SoakSpider)
        self._spider = crawler.spider

    async def download_request(self, request: Request) -> Response:
        batch = int(request.url.rsplit("/")[-1])
        body = json.dumps(list(self._spider.batch(batch))).encode()
        return TextResponse(request.url, body=body, encoding="utf-8", request=request)


class SoakSpider(Spider):
    """Asks for one batch after the other, and yields each page of it as an item."""

    name = "soak"
    custom_settings = {"DOWNLOAD_HANDLERS": {"soak": "benchmarks.soak.crawling.GeneratedPages"}}  # noqa: RUF012

    def __init__(self, plan: Plan, number: int, seen: frozenset[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._plan, self._number, self._seen = plan, number, seen
        self._visits = len(plan.crawls[number])

    async def start(self) -> AsyncIterator[Any]:
        for batch in range(-(-self._visits // BATCH)):
            yield Request(f"soak://crawl{self._number}/{batch}", self.parse)

    def batch(self, number: int) -> Iterator[dict[str, str]]:
        visits = range(number * BATCH, min(self._visits, (number + 1) * BATCH))
        pages = self._plan.pages(self._number, visits)
        return (page for page in pages if page["url"] not in self._seen)

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        assert isinstance(response, TextResponse)
        yield from response.json()


class Meter:
    """Writes a `Sample` whenever so many more pages were judged."""

    def __init__(self, crawler: Crawler, number: int, folder: Path, *, every: int, seen: int) -> None:
        self._number, self._every, self._pages = number, every, seen
        self._path, self._index = folder / "soak.csv", folder / "pages.db"
        # Of one broken off and gone on with, the part before.
        samples = Sample.read(self._path) if self._path.exists() else []
        before = [sample for sample in samples if sample.crawl == number]
        self._before = before[-1] if before else Sample(number, 0, 0, 0, 0, 0, 0)
        self._begin = time.perf_counter(), _cpu()
        for signal in (signals.item_scraped, signals.item_dropped):
            crawler.signals.connect(self._settled, signal)
        crawler.signals.connect(self._write, signals.spider_closed)

    def _settled(self) -> None:
        self._pages += 1
        if self._pages % self._every == 0:
            self._write()

    def _write(self) -> None:
        wall, cpu = self._begin
        sample = Sample(
            crawl=self._number,
            pages=self._pages,
            wall=round(self._before.wall + time.perf_counter() - wall, 2),
            cpu=round(self._before.cpu + _cpu() - cpu, 2),
            memory=round(anonymous_mb(), 1),
            index=round(sum(file.stat().st_size for file in _files(self._index)) / 1e6, 1),
            load=round(os.getloadavg()[0], 2),
        )
        is_new = not self._path.exists()
        with self._path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(field.name for field in fields(Sample))
            writer.writerow(astuple(sample))
        print(asdict(sample), flush=True)


def crawl(plan: Plan, number: int, folder: Path, every: int) -> None:
    """Do crawl *number* in this process; if it was broken off before, what is left of it."""
    index = folder / "pages.db"
    seen = _seen(index, folder / f"rows-before-{number}")
    settings = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(index),
        "FEEDS": {str(folder / f"kept-{number}.jsonl"): {"format": "jsonlines", "fields": ["url"]}},
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    }
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(SoakSpider)
    meter = Meter(crawler, number, folder, every=every, seen=len(seen))
    process.crawl(crawler, plan=plan, number=number, seen=seen)
    process.start()
    assert crawler.stats is not None
    stats = {
        name: value for name, value in crawler.stats.get_stats().items() if not hasattr(value, "year")
    }
    (folder / f"stats-{number}.json").write_text(json.dumps(stats, indent=1, sort_keys=True))
    del meter


def _seen(index: Path, note: Path) -> frozenset[str]:
    """Return the URLs that are done with in this crawl, which began after the row that *note* names."""
    if not index.exists():
        note.write_text("0")
        return frozenset()
    with SQLiteIndex(index) as opened:
        if not note.exists():
            note.write_text(str(opened.store.statistics().rows))
        first = int(note.read_text())
        return frozenset(
            row.sighting.url
            for row in opened.rows()
            if row.id > first and row.outcome is Outcome.CONFIRMED
        )


def _files(index: Path) -> list[Path]:
    return [file for file in (index, index.with_name(index.name + "-wal")) if file.exists()]


def _cpu() -> float:
    from resource import RUSAGE_SELF, getrusage  # not on Windows, where tests read this module

    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
