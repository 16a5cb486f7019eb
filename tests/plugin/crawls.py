"""Crawls of items that are listed, at once or in stages, and what became of them; tests of what a loop does."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from dedup import SQLiteIndex
from dedup.model.verdict import Outcome, Row
from dedup.plugin.addon import read_settings
from dedup.plugin.judge import Judge
from tests.support import crawling
from tests.support.commands import run
from tests.support.crawling import KNOBS, MOST_GATHERED, WAIT, Crawl, Running, crawl, started, wait_until
from tests.support.pages import edited, text

ITEMS = "tests.plugin.spiders.ItemSpider"
_P = ParamSpec("_P")


def asynchronous(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    @wraps(test)
    def run(*given: _P.args, **named: _P.kwargs) -> None:
        asyncio.run(test(*given, **named))

    return run


def item(number: int, content: str, **fields: Any) -> dict[str, Any]:
    return {"url": f"http://a/{number}", "text": content, **fields}


def listed(*items: Any) -> dict[str, str]:
    return {"items": json.dumps(items)}


def items(folder: Path, *found: Any, spider: str = "ItemSpider", **settings: Any) -> Crawl:
    return crawl(folder, f"tests.plugin.spiders.{spider}", settings, listed(*found))


def urls(done: Crawl) -> list[str]:
    return [str(found["url"]) for found in done.items]


def rows(folder: Path) -> list[Row]:
    with SQLiteIndex(folder / "pages.db") as index:
        assert index.problems() == []
        return list(index.rows())


def outcomes(folder: Path) -> dict[str, Outcome]:
    return {row.sighting.url: row.outcome for row in rows(folder)}


def fates(folder: Path) -> list[Outcome]:
    return [row.outcome for row in rows(folder)]


def dedup(folder: Path, *arguments: str) -> str:
    done = run(*arguments, crawling.index_of(folder))
    assert done.exit_code == 0, done.output
    return done.stdout


def judge_of(index: str, **settings: object) -> Judge:
    """Return what judges the pages of a crawl into *index*, without a crawl."""
    crawler = Crawler(Spider, {"DEDUP_INDEX": index, **settings})
    crawler.stats, crawler.spider = MemoryStatsCollector(crawler), Spider("some")
    judge = Judge(crawler, read_settings(crawler.settings))
    judge.open()
    return judge


# Crawls that go up to a mark and wait there, while the test does something to their machine
PIPELINES = {"tests.plugin.storages.Held": 100, "tests.plugin.storages.Gated": 300}


def page(number: int, content: int, **fields: Any) -> dict[str, Any]:
    return {**item(number, text(content), **fields), "content": content}


def near(number: int, content: int, **fields: Any) -> dict[str, Any]:
    """Return the item of a page whose text is nearly that of *content*."""
    return {**item(number, edited(content), **fields), "content": content}


@dataclass
class Staged:
    """A crawl of several stages, its items one after the other; each begins when the test says so."""

    folder: Path  # of feed and log
    index: Path
    settings: dict[str, Any] = field(default_factory=dict)
    most_gathered: int = 1  # so many records of pages are committed together
    ends: int = 10_000  # the number of the page that ends the first stage
    running: Running | None = None

    def start(self, *stages: Sequence[dict[str, Any]]) -> None:
        items: list[dict[str, Any]] = []
        for number, stage in enumerate(stages):
            first, *rest = stage
            marks = {"after": str(self._mark("go", number)), "waits": str(self._mark("end", number - 1))}
            items += [{**first, **marks}, *rest]
            items.append(page(self.ends + number, self.ends + number))
        items[-1]["reached"] = str(self._mark("end", len(stages) - 1))
        settings: dict[str, Any] = {"DEDUP_INDEX": str(self.index), "DEDUP_TEXT_FIELDS": "text"}
        settings |= {KNOBS: {WAIT: 2, MOST_GATHERED: self.most_gathered}, "ITEM_PIPELINES": PIPELINES}
        settings["CONCURRENT_ITEMS"] = 1
        self.running = started(self.folder, ITEMS, settings | self.settings, listed(*items))

    def do(self, stage: int) -> None:
        """Let a stage begin, and wait until its last item is stored, or where it is the last stage met."""
        self.begin(stage)
        wait_until(self._mark("end", stage).exists)

    def begin(self, stage: int) -> None:
        self._mark("go", stage).touch()

    def finish(self) -> Crawl:
        assert self.running is not None
        return self.running.finish()

    def _mark(self, name: str, stage: int) -> Path:
        return self.folder / f"{name}-{stage}"


def stored(done: Crawl) -> Counter[int]:
    """Return how often each content was stored, without the ends of stages."""
    return Counter(found["content"] for found in done.items if found["content"] < 10_000)


def rows_of_a_sound_index(path: Path) -> list[Row]:
    """Return the rows of an index whose crawl is over: nothing pending, every copy has its canonical."""
    with SQLiteIndex(path) as index:
        assert index.problems() == []
        rows = {row.id: row for row in index.rows()}
        listed_orphans = {row.id for row in index.orphans()}
    for row in rows.values():
        assert row.outcome is not Outcome.PENDING
        if not row.verdict.kept and row.id not in listed_orphans:
            assert row.verdict.canonical is not None
            assert rows[row.verdict.canonical].outcome is Outcome.CONFIRMED
    return list(rows.values())
