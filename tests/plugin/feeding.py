"""Crawls whose feeds fail at random, at an item, at a batch or at the end, and what their user has then.

Real crawls by Scrapy without a network, many in one process.  A crawl that is killed is killed with its
process, a fork, and those behind it run in another one.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from scrapy import signals, version_info
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet import threads
from twisted.internet.defer import Deferred

from dedup import SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.index.runs import Runs
from dedup.model.verdict import Outcome
from dedup.plugin import feeds
from tests.knobs import KNOBS, MOST_GATHERED, turn
from tests.oracle.world import warm
from tests.pages import edited, text
from tests.plugin.spiders import ByText, CallbackSpider

HERE = "tests.plugin.feeding"
KILLED = 9
# What a feed may be: a file that is written in place, or what is stored when it is closed.
PLACES = ("file", "gzip", "raising", "deferred", "coroutine")
# Lone surrogates cannot be written as UTF-8.
UNWRITABLE = "\ud800"


@dataclass
class Sold:
    url: str
    text: str
    note: str = ""


class Plain(Sold):
    pass


class Other(Sold):
    pass


CLASSES: dict[str, type[Sold]] = {"plain": Plain, "other": Other}


@dataclass(frozen=True)
class Shown:
    """A page: its number is its URL, *content* its text, *edits* words of which differ."""

    number: int
    content: int
    edits: int = 0
    kind: str = "plain"
    is_unwritable: bool = False

    @property
    def url(self) -> str:
        return f"http://a/{self.number}"

    def item(self) -> Sold:
        content = edited(self.content, self.edits) if self.edits else text(self.content)
        return CLASSES[self.kind](self.url, content, UNWRITABLE if self.is_unwritable else "")


@dataclass(frozen=True)
class Feed:
    """A feed: its *place*, items a *batch* (0: all), what it *takes*, and the batches that fail, from 1."""

    place: str = "file"
    batch: int = 0
    takes: tuple[str, ...] = ("plain", "other")
    fails: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Step:
    """A crawl of *pages* into *feeds*; killed at an item or a batch that is stored if *killed_at* says so.

    *is_late* says that feeds get items only when dedup was told that they are scraped.
    """

    pages: tuple[Shown, ...]
    feeds: tuple[Feed, ...]
    killed_at: tuple[str, int] | None = None
    is_late: bool = False

    @property
    def may_return(self) -> bool:
        """Whether what all feeds have may be delivered again."""
        return bool(self.killed_at or any(feed.fails for feed in self.feeds))


@dataclass(frozen=True)
class History:
    steps: tuple[Step, ...]
    unchanged: str = "keep"
    at_a_time: int = 1
    gathered: int = 1


def drawn(seed: int) -> History:
    """Return the history of that *seed*; its last crawl is killed at nothing, and no feed of it fails."""
    rng = random.Random(f"feeds {seed}")
    contents = range(rng.randint(2, 6))
    pages = [_page(rng, number, rng.choice(contents)) for number in range(rng.randint(2, 10))]
    steps: list[Step] = []
    for last in (False,) * rng.randint(1, 2) + (True,):
        is_well = last or rng.random() < 0.1
        feeds = tuple(_feed(rng, is_well=is_well) for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))
        served = tuple(replace(page, is_unwritable=False) for page in pages) if is_well else tuple(pages)
        killed_at = None
        if not is_well and rng.random() < 0.4:
            killed_at = rng.choice((("item", rng.randint(1, 10)), ("batch", rng.randint(1, 4))))
        steps.append(Step(served, feeds, killed_at, is_late=rng.random() < 0.2))
        pages = _changed(rng, pages)
    unchanged, at_a_time = rng.choice(("keep", "drop")), rng.choice((1, 1, 4))
    return History(tuple(steps), unchanged, at_a_time, gathered=(1, 1, 16)[seed % 3])


def _page(rng: random.Random, number: int, content: int) -> Shown:
    kind = rng.choice(("plain", "plain", "plain", "other"))
    return Shown(number, content, rng.choice((0, 0, 1)), kind, is_unwritable=rng.random() < 0.1)


def _feed(rng: random.Random, *, is_well: bool) -> Feed:
    takes = rng.choice((("plain", "other"), ("plain", "other"), ("plain",), ("other",)))
    fails = frozenset(rng.sample(range(1, 5), rng.randint(0, 3)))
    return Feed(
        rng.choice(PLACES), rng.choice((0, 0, 1, 2, 3)), takes, frozenset() if is_well else fails
    )


def _changed(rng: random.Random, pages: Sequence[Shown]) -> list[Shown]:
    """Return the site as it is at the next crawl: a few pages are new, in another order, or written."""
    pages = [replace(page, is_unwritable=rng.random() < 0.05) for page in pages]
    pages += [_page(rng, len(pages) + n, rng.randrange(8)) for n in range(rng.randint(0, 2))]
    return rng.sample(pages, len(pages))


# Judging


@dataclass(frozen=True)
class Left:
    """What a crawl left: the pages that each feed has, those that were scraped, all rows, what it said."""

    feeds: Sequence[frozenset[str]]
    scraped: frozenset[str]
    rows: Mapping[int, Mapping[str, Any]]
    lost: int

    def had(self, step: Step) -> set[str]:
        """Return the pages that are in all feeds that take them; of those without a feed, the scraped."""
        return {
            page.url
            for page in step.pages
            if page.url in self.scraped
            and all(
                page.url in urls
                for feed, urls in zip(step.feeds, self.feeds, strict=True)
                if page.kind in feed.takes
            )
        }


def violations(history: History, left: Sequence[Left]) -> list[str]:
    """Return what is against the law: what is confirmed is where it should be, and nothing else is lost.

    Of files that are closed at once all may count as lost when one is, and be delivered again.
    """
    found: list[str] = []
    for number, (step, crawl) in enumerate(zip(history.steps, left, strict=True)):
        had = crawl.had(step)
        found += [
            f"crawl {number}: {row['url']} {problem}"
            for row in crawl.rows.values()
            if row["run"] == number + 1
            and (problem := _problem(row, crawl, is_had=row["url"] in had, may_return=step.may_return))
        ]
        lost = len(crawl.scraped - had)
        if not step.killed_at and (crawl.lost < lost or (crawl.lost > lost and not step.may_return)):
            found.append(f"crawl {number}: {crawl.lost} are said to be lost, not {crawl.scraped - had}")
    delivering = slice(None) if history.unchanged == "drop" else slice(-1, None)
    texts = {
        page.content
        for step, crawl in list(zip(history.steps, left, strict=True))[delivering]
        for page in step.pages
        if page.url in crawl.had(step)
    }
    nowhere = [page.url for page in history.steps[-1].pages if page.content not in texts]
    return found + [f"{url} was never delivered" for url in nowhere]


def _problem(row: Mapping[str, Any], crawl: Left, *, is_had: bool, may_return: bool) -> str:
    is_confirmed = row["outcome"] == Outcome.CONFIRMED
    if row["outcome"] == Outcome.PENDING:
        return "is pending for ever"
    if not row["kept"]:
        is_orphan = is_confirmed and crawl.rows[row["canonical"]]["outcome"] != Outcome.CONFIRMED
        return "was dropped for a page that was lost" if is_orphan else ""
    if is_confirmed and not is_had:
        return "counts as kept, but is not in all of its feeds"
    if is_had and not (is_confirmed or may_return):
        return "is in all of its feeds, but was taken back"
    return ""


# Living


Task = tuple[History, int, Path]


def lived(histories: Sequence[History], folder: Path, fault: str = "") -> list[list[Left]]:
    """Live *histories*, each in a folder and with an index of its own; for a process without a reactor."""
    warm()
    tasks: list[Task] = []
    for number, history in enumerate(histories):
        (folder / str(number)).mkdir()
        tasks += [(history, step, folder / str(number)) for step in range(len(history.steps))]
    while left := [task for task in tasks if not _stock(task).exists()]:
        code = _in_a_fork(left, fault)
        assert code in (0, KILLED), f"a crawl ended with {code}"
    told = iter(tasks)
    return [[_left(next(told)) for _ in history.steps] for history in histories]


def tried(seeds: Sequence[int], folder: Path, fault: str = "") -> list[tuple[int, list[str]]]:
    """Return the seeds whose histories are against the law, and what of them is."""
    histories = [drawn(seed) for seed in seeds]
    found = zip(seeds, histories, lived(histories, folder, fault), strict=True)
    return [(seed, problems) for seed, history, left in found if (problems := violations(history, left))]


def _journal(task: Task) -> Path:
    return task[2] / f"{task[1]}.journal"


def _stock(task: Task) -> Path:
    return task[2] / f"{task[1]}.stock"


def _left(task: Task) -> Left:
    history, number, folder = task
    stock = json.loads(_stock(task).read_text())
    feeds = [
        frozenset(_urls_in(folder, number, feed)) for feed in range(len(history.steps[number].feeds))
    ]
    rows = {row["id"]: row for row in stock["rows"]}
    return Left(feeds, frozenset(_journal(task).read_text().split()), rows, stock["lost"])


def _urls_in(folder: Path, step: int, feed: int) -> Iterator[str]:
    for path in folder.glob(f"{step}-{feed}-*"):
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(path)
        for line in content.splitlines():
            yield json.loads(line)["url"]


def _unpacked(path: Path) -> bytes:
    """Return what can be read of a compressed file, which a kill may have cut off."""
    lines = []
    with suppress(EOFError), gzip.open(path) as file:
        lines += [line for line in file if line.endswith(b"\n")]
    return b"".join(lines)


def _in_a_fork(tasks: Sequence[Task], fault: str) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        if fault:
            FAULTS[fault]()
        _live(tasks)
        code = 0
    except BaseException:
        logging.getLogger(__name__).exception("a history could not be lived")
    finally:
        os._exit(code)


def _live(tasks: Sequence[Task]) -> None:
    """Run the crawls of *tasks*, to the end or until one kills this process."""
    from scrapy.utils.reactor import install_reactor

    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    reactor: Any = import_module("twisted.internet.reactor")
    logging.getLogger().addHandler(logging.NullHandler())
    failures: list[BaseException] = []

    async def live() -> None:
        try:
            for task in tasks:
                lost = 0
                if not _journal(task).exists():
                    lost = await _crawled(task)
                _take_stock(task, lost)
        except BaseException as error:
            failures.append(error)
        reactor.stop()

    reactor.callWhenRunning(lambda: deferred_from_coro(live()))
    reactor.run()
    if failures:
        raise failures[0]


def _take_stock(task: Task, lost: int) -> None:
    with SQLiteIndex(task[2] / "pages.db") as index:
        rows = [
            {
                "id": row.id,
                "run": row.sighting.run,
                "url": row.sighting.url,
                "kept": row.verdict.kept,
                "canonical": row.verdict.canonical,
                "outcome": row.outcome,
            }
            for row in index.rows()
        ]
    _stock(task).write_text(json.dumps({"rows": rows, "lost": lost}))


class Stage:
    """The crawl that is under way in this process."""

    def __init__(self, task: Task) -> None:
        history, number, self.folder = task
        self.step = history.steps[number]
        self.journal = os.open(_journal(task), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.counts: Counter[str] = Counter()

    def may_die(self, what: str) -> None:
        self.counts[what] += 1
        if self.step.killed_at == (what, self.counts[what]):
            os._exit(KILLED)

    def scraped(self, item: Sold) -> None:
        os.write(self.journal, f"{item.url}\n".encode())


_stages: list[Stage] = []


async def _crawled(task: Task) -> int:
    history, number, folder = task
    step = history.steps[number]
    settings = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(folder / "pages.db"),
        "DEDUP_UNCHANGED": history.unchanged,
        "CONCURRENT_ITEMS": history.at_a_time,
        "ITEM_PIPELINES": {f"{HERE}.Storage": 300},
        "FEEDS": {_uri(folder, number, n, feed): _options(feed) for n, feed in enumerate(step.feeds)},
        "FEED_STORAGES": dict.fromkeys(PLACES[2:], f"{HERE}.Held"),
        "FEED_TEMPDIR": str(folder),
        "EXTENSIONS": {"scrapy.extensions.feedexport.FeedExporter": None, f"{HERE}.Late": 0}
        if step.is_late
        else {},
        "TELNETCONSOLE_ENABLED": False,
        KNOBS: {MOST_GATHERED: history.gathered},
    }
    turn(settings)
    crawler = Crawler(Shop, settings)
    stage = Stage(task)
    _stages.append(stage)
    crawler.signals.connect(stage.scraped, signals.item_scraped)
    crawling: Any = crawler.crawl(pages=step.pages)
    await maybe_deferred_to_future(crawling)
    os.close(_stages.pop().journal)
    assert crawler.stats is not None
    return int(crawler.stats.get_value("dedup/lost_in_feeds", 0))


def _uri(folder: Path, step: int, number: int, feed: Feed) -> str:
    path = f"{folder}/{step}-{number}-%(batch_id)d"
    return path if feed.place in PLACES[:2] else f"{feed.place}://{path}"


def _options(feed: Feed) -> dict[str, Any]:
    packing = ["scrapy.extensions.postprocessing.GzipPlugin"] if feed.place == "gzip" else []
    return {
        "format": "jsonlines",
        "encoding": "utf-8",
        "batch_item_count": feed.batch,
        "item_classes": [CLASSES[kind] for kind in feed.takes],
        **({"postprocessing": packing} if packing else {}),
    }


class Shop(CallbackSpider, ByText):
    """Yields an item for each of its pages."""

    name = "shop"
    pages: Sequence[Shown] = ()

    def found(self) -> Iterator[Any]:
        for page in self.pages:
            yield page.item()


class Storage:
    """Where a crawl may be killed: when an item has come through all but the feeds."""

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        await asyncio.sleep(0)
        _stages[-1].may_die("item")
        return item


class Late(FeedExporter):
    """Gets items after everything else that wants them."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        exporter = cls(crawler)
        crawler.signals.connect(exporter.open_spider, signals.spider_opened)
        crawler.signals.connect(exporter.close_spider, signals.spider_closed)
        return exporter

    def open_spider(self, spider: Any) -> None:
        super().open_spider(spider)
        self.crawler.signals.connect(self.item_scraped, signals.item_scraped)


class Held:
    """A storage that moves a file to its place when it is closed, in one of three ways, unless it fails."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self._way, _, path = uri.partition("://")
        self._path = Path(path)

    def open(self, spider: Any) -> Any:
        return NamedTemporaryFile(dir=spider.crawler.settings["FEED_TEMPDIR"], delete=False)

    def store(self, file: Any) -> Any:
        if self._way == "raising":
            return self._store(file)
        if self._way == "coroutine":
            return self._store_later(file)
        deferred: Deferred[None] = threads.deferToThread(file.flush)
        return deferred.addCallback(lambda _: self._store(file))

    async def _store_later(self, file: Any) -> None:
        flushed = threads.deferToThread(file.flush)
        # Scrapy 2.13 leaves a coroutine to Twisted.
        await (flushed if version_info < (2, 14) else maybe_deferred_to_future(flushed))
        self._store(file)

    def _store(self, file: Any) -> None:
        file.close()
        _, feed, batch = map(int, self._path.name.split("-"))
        if batch in _stages[-1].step.feeds[feed].fails:
            raise OSError("the upload failed")
        if batch % 2:
            _stages[-1].may_die("batch")
        shutil.move(file.name, self._path)
        if not batch % 2:
            _stages[-1].may_die("batch")


# Faults to be planted


def _no_failure_is_seen() -> None:
    """Take every file for stored."""
    settle = feeds.FeedWatch._settle

    def planted(watch: Any, slot: Any, *, is_stored: bool) -> None:
        settle(watch, slot, is_stored=True)

    _plant(feeds.FeedWatch, "_settle", planted)


def _any_feed_will_do() -> None:
    """Take what one feed has stored for stored by all."""
    hold = feeds.FeedWatch._hold

    def planted(watch: Any, rows: Any, files: Any) -> None:
        # The same one in each run, whatever the order of a set.
        hold(watch, rows, frozenset(sorted(files, key=lambda slot: slot.uri)[:1]))

    _plant(feeds.FeedWatch, "_hold", planted)


def _plant(where: Any, name: str, planted: object) -> None:
    setattr(where, name, planted)


FAULTS: dict[str, Callable[[], None]] = {
    "no_failure_is_seen": _no_failure_is_seen,
    "any_feed_will_do": _any_feed_will_do,
    # What a killed crawl had in its feeds counts as delivered.
    "killed_feeds_count": lambda: _plant(Runs, "_take_back_unstored", lambda *_: None),
    # Copies of what was lost go with it.
    "copies_stay_dropped": lambda: _plant(Ledger, "_copies_of", lambda *_: None),
}
