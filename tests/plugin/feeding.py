"""Crawls whose feeds fail at random, at an item, at a batch or at the end, and what their user has then.

Real crawls by Scrapy without a network, many in one process.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet import threads
from twisted.internet.defer import Deferred

from dedup import SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.model.verdict import Outcome
from dedup.plugin import feeds
from tests.knobs import KNOBS, MOST_GATHERED, turn
from tests.oracle.world import warm
from tests.pages import edited, text
from tests.plugin.spiders import ByText, CallbackSpider

HERE = "tests.plugin.feeding"
# What a feed may be: a file that is written in place, or what is stored when it is closed.
PLACES = ("file", "raising", "deferred")
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
    """A crawl of *pages* into *feeds*."""

    pages: tuple[Shown, ...]
    feeds: tuple[Feed, ...]

    @property
    def may_return(self) -> bool:
        """Whether what all feeds have may be delivered again."""
        return any(feed.fails for feed in self.feeds)


@dataclass(frozen=True)
class History:
    steps: tuple[Step, ...]
    unchanged: str = "keep"
    at_a_time: int = 1
    gathered: int = 1


def drawn(seed: int) -> History:
    """Return the history of that *seed*; no feed of its last crawl fails."""
    rng = random.Random(f"feeds {seed}")
    contents = range(rng.randint(2, 6))
    pages = [_page(rng, number, rng.choice(contents)) for number in range(rng.randint(2, 10))]
    steps: list[Step] = []
    for last in (False,) * rng.randint(1, 2) + (True,):
        is_well = last or rng.random() < 0.1
        feeds = tuple(_feed(rng, is_well=is_well) for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))
        served = tuple(replace(page, is_unwritable=False) for page in pages) if is_well else tuple(pages)
        steps.append(Step(served, feeds))
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
        if crawl.lost < lost or (crawl.lost > lost and not step.may_return):
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


def tried(seeds: Sequence[int], folder: Path, fault: str = "") -> list[tuple[int, list[str]]]:
    """Return the seeds whose histories are against the law, and what of them is.

    For a process of its own, without a reactor.
    """
    from scrapy.utils.reactor import install_reactor

    warm()
    if fault:
        FAULTS[fault]()
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    reactor: Any = import_module("twisted.internet.reactor")
    logging.getLogger().addHandler(logging.NullHandler())
    found: list[tuple[int, list[str]]] = []
    failures: list[BaseException] = []

    async def live() -> None:
        try:
            for seed in seeds:
                history = drawn(seed)
                (own := folder / str(seed)).mkdir()
                left = [await _crawled(history, number, own) for number in range(len(history.steps))]
                if problems := violations(history, left):
                    found.append((seed, problems))
        except BaseException as error:
            failures.append(error)
        reactor.stop()

    reactor.callWhenRunning(lambda: deferred_from_coro(live()))
    reactor.run()
    if failures:
        raise failures[0]
    return found


async def _crawled(history: History, number: int, folder: Path) -> Left:
    step = history.steps[number]
    settings = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(folder / "pages.db"),
        "DEDUP_UNCHANGED": history.unchanged,
        "CONCURRENT_ITEMS": history.at_a_time,
        "FEEDS": {_uri(folder, number, n, feed): _options(feed) for n, feed in enumerate(step.feeds)},
        "FEED_STORAGES": dict.fromkeys(PLACES[1:], f"{HERE}.Held"),
        "FEED_TEMPDIR": str(folder),
        "TELNETCONSOLE_ENABLED": False,
        KNOBS: {MOST_GATHERED: history.gathered},
    }
    turn(settings)
    crawler = Crawler(Shop, settings)
    scraped: set[str] = set()

    def note(item: Sold) -> None:
        scraped.add(item.url)

    crawler.signals.connect(note, signals.item_scraped)
    crawling: Any = crawler.crawl(step=step)
    await maybe_deferred_to_future(crawling)
    assert crawler.stats is not None
    written = [frozenset(_urls_in(folder, number, feed)) for feed in range(len(step.feeds))]
    lost = int(crawler.stats.get_value("dedup/lost_in_feeds", 0))
    return Left(written, frozenset(scraped), _rows(folder), lost)


def _urls_in(folder: Path, step: int, feed: int) -> Iterator[str]:
    for path in folder.glob(f"{step}-{feed}-*"):
        for line in path.read_bytes().splitlines():
            yield json.loads(line)["url"]


def _rows(folder: Path) -> dict[int, Mapping[str, Any]]:
    with SQLiteIndex(folder / "pages.db") as index:
        return {
            row.id: {
                "run": row.sighting.run,
                "url": row.sighting.url,
                "kept": row.verdict.kept,
                "canonical": row.verdict.canonical,
                "outcome": row.outcome,
            }
            for row in index.rows()
        }


def _uri(folder: Path, step: int, number: int, feed: Feed) -> str:
    path = f"{folder}/{step}-{number}-%(batch_id)d"
    return path if feed.place == "file" else f"{feed.place}://{path}"


def _options(feed: Feed) -> dict[str, Any]:
    return {
        "format": "jsonlines",
        "encoding": "utf-8",
        "batch_item_count": feed.batch,
        "item_classes": [CLASSES[kind] for kind in feed.takes],
    }


class Shop(CallbackSpider, ByText):
    """Yields an item for each page of its *step*."""

    name = "shop"
    step: Step

    def found(self) -> Iterator[Any]:
        for page in self.step.pages:
            yield page.item()


class Held:
    """A storage that moves a file to its place when it is closed, at once or later, unless it fails."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self._way, _, path = uri.partition("://")
        self._path = Path(path)

    def open(self, spider: Any) -> Any:
        self._feeds = spider.step.feeds
        return NamedTemporaryFile(dir=spider.crawler.settings["FEED_TEMPDIR"], delete=False)

    def store(self, file: Any) -> Any:
        if self._way == "raising":
            return self._store(file)
        deferred: Deferred[None] = threads.deferToThread(file.flush)
        return deferred.addCallback(lambda _: self._store(file))

    def _store(self, file: Any) -> None:
        file.close()
        _, feed, batch = map(int, self._path.name.split("-"))
        if batch in self._feeds[feed].fails:
            raise OSError("the upload failed")
        shutil.move(file.name, self._path)


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
    # Copies of what was lost go with it.
    "copies_stay_dropped": lambda: _plant(Ledger, "_copies_of", lambda *_: ()),
}
