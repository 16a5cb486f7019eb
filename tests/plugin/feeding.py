"""Crawls whose feeds fail at random, at an item, at a batch or at the end, and what their user has then.

Real crawls by Scrapy without a network, many in one process.
"""

import json
import logging
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, cast

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet import threads
from twisted.internet.defer import Deferred

from dedup import SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.model.verdict import Outcome, Row
from dedup.plugin import feeds
from tests.oracle.world import in_a_reactor, warm
from tests.plugin.spiders import ByText, CallbackSpider
from tests.support.constants import KNOBS, MOST_GATHERED, turn
from tests.support.pages import edited, text

HERE = "tests.plugin.feeding"
# What a feed may be: a file that is written in place, or what is stored when it is closed.
PLACES = ("file", "raising", "deferred")


@dataclass
class Plain:
    url: str
    text: str
    note: str = ""


class Other(Plain):
    pass


class Shown(NamedTuple):
    """A page: its number is its URL, *content* its text, *edits* words of which differ."""

    number: int
    content: int
    edits: int
    kind: type[Plain]
    is_unwritable: bool = False

    @property
    def url(self) -> str:
        return f"http://a/{self.number}"

    def item(self) -> Plain:
        content = edited(self.content, self.edits) if self.edits else text(self.content)
        # Lone surrogates cannot be written as UTF-8.
        return self.kind(self.url, content, "\ud800" * self.is_unwritable)


class Feed(NamedTuple):
    """A feed: its *place*, items a *batch* (0: all), what it *takes*, and the batches that fail, from 1."""

    place: str
    batch: int
    takes: Sequence[type[Plain]]
    fails: frozenset[int]


class Step(NamedTuple):
    """A crawl of *pages* into *feeds*."""

    pages: list[Shown]
    feeds: list[Feed]

    @property
    def may_return(self) -> bool:
        return any(feed.fails for feed in self.feeds)


class History(NamedTuple):
    steps: list[Step]
    unchanged: str
    at_a_time: int
    gathered: int


def drawn(seed: int) -> History:
    """Return the history of that *seed*; no feed of its last crawl fails."""
    rng = random.Random(f"feeds {seed}")
    contents = range(rng.randint(2, 6))
    pages = [_page(rng, number, rng.choice(contents)) for number in range(rng.randint(2, 10))]
    steps: list[Step] = []
    for last in (False,) * rng.randint(1, 2) + (True,):
        is_well = last or rng.random() < 0.1
        feeds = [_feed(rng, is_well=is_well) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
        shown = [page._replace(is_unwritable=not is_well and page.is_unwritable) for page in pages]
        steps.append(Step(shown, feeds))
        # At the next crawl a few pages are new, in another order, or written.
        pages = [page._replace(is_unwritable=rng.random() < 0.05) for page in pages]
        pages += [_page(rng, len(pages) + n, rng.randrange(8)) for n in range(rng.randint(0, 2))]
        pages = rng.sample(pages, len(pages))
    return History(steps, rng.choice(("keep", "drop")), rng.choice((1, 1, 4)), (1, 1, 16)[seed % 3])


def _page(rng: random.Random, number: int, content: int) -> Shown:
    kind = rng.choice((Plain, Plain, Plain, Other))
    return Shown(number, content, rng.choice((0, 0, 1)), kind, rng.random() < 0.1)


def _feed(rng: random.Random, *, is_well: bool) -> Feed:
    takes = rng.choice(((Plain, Other), (Plain, Other), (Plain,), (Other,)))
    fails = rng.sample(range(1, 5), rng.randint(0, 3))
    place, batch = rng.choice(PLACES), rng.choice((0, 0, 1, 2, 3))
    return Feed(place, batch, takes, frozenset(() if is_well else fails))


# Judging


class Left(NamedTuple):
    """What a crawl left: the pages that each feed has, those that were scraped, all rows, what it said."""

    feeds: list[set[str]]
    scraped: set[str]
    rows: dict[int, Row]
    lost: int

    def had(self, step: Step) -> set[str]:
        """Return the pages that are in all feeds that take them; of those without a feed, the scraped."""
        pairs = list(zip(step.feeds, self.feeds, strict=True))
        return {
            page.url
            for page in step.pages
            if page.url in self.scraped
            and all(page.url in urls for feed, urls in pairs if page.kind in feed.takes)
        }


def violations(history: History, left: Sequence[Left]) -> list[str]:
    """Return what is against the law: what is confirmed is where it should be, and nothing else is lost.

    Of files that are closed at once all may count as lost when one is, and be delivered again.
    """
    found: list[str] = []
    texts: set[int] = set()
    for number, (step, crawl) in enumerate(zip(history.steps, left, strict=True)):
        had = crawl.had(step)
        found += [
            f"crawl {number}: {row.sighting.url} {problem}"
            for row in crawl.rows.values()
            if row.sighting.run == number + 1 and (problem := _problem(row, crawl, step, had))
        ]
        lost = len(crawl.scraped - had)
        if crawl.lost < lost or (crawl.lost > lost and not step.may_return):
            found.append(f"crawl {number}: {crawl.lost} are said to be lost, not {crawl.scraped - had}")
        if history.unchanged == "keep":
            texts.clear()  # each crawl delivers all
        texts |= {page.content for page in step.pages if page.url in had}
    nowhere = [page.url for page in history.steps[-1].pages if page.content not in texts]
    return found + [f"{url} was never delivered" for url in nowhere]


def _problem(row: Row, crawl: Left, step: Step, had: set[str]) -> str:
    is_confirmed, is_had = row.outcome is Outcome.CONFIRMED, row.sighting.url in had
    if row.outcome is Outcome.PENDING:
        return "is pending for ever"
    if not row.verdict.kept:
        canonical = crawl.rows[row.verdict.canonical or 0]
        is_orphan = is_confirmed and canonical.outcome is not Outcome.CONFIRMED
        return "was dropped for a page that was lost" if is_orphan else ""
    if is_confirmed and not is_had:
        return "counts as kept, but is not in all of its feeds"
    if is_had and not (is_confirmed or step.may_return):
        return "is in all of its feeds, but was taken back"
    return ""


# Living


def tried(seeds: Sequence[int], folder: Path, fault: str = "") -> list[tuple[int, list[str]]]:
    """Return the seeds whose histories are against the law, and what of them is.

    For a process of its own, without a reactor.
    """
    warm()
    if fault:
        FAULTS[fault](feeds.FeedWatch)
    found: list[tuple[int, list[str]]] = []

    async def live() -> None:
        for seed in seeds:
            history = drawn(seed)
            (own := folder / str(seed)).mkdir()
            left = [await _crawled(history, number, own) for number in range(len(history.steps))]
            if problems := violations(history, left):
                found.append((seed, problems))

    in_a_reactor(live, logging.NullHandler())
    return found


async def _crawled(history: History, number: int, folder: Path) -> Left:
    step = history.steps[number]
    settings: dict[str, Any] = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(folder / "pages.db"),
        "DEDUP_UNCHANGED": history.unchanged,
        "CONCURRENT_ITEMS": history.at_a_time,
        "FEEDS": {},
        "FEED_STORAGES": dict.fromkeys(PLACES[1:], f"{HERE}.Held"),
        "FEED_TEMPDIR": str(folder),
        "TELNETCONSOLE_ENABLED": False,
        KNOBS: {MOST_GATHERED: history.gathered},
    }
    for n, feed in enumerate(step.feeds):
        path = f"{folder}/{number}-{n}-%(batch_id)d"
        settings["FEEDS"][path if feed.place == "file" else f"{feed.place}://{path}"] = {
            "format": "jsonlines",
            "encoding": "utf-8",
            "batch_item_count": feed.batch,
            "item_classes": list(feed.takes),
        }
    turn(settings)
    crawler = Crawler(Shop, settings)
    scraped: set[str] = set()

    def note(item: Plain) -> None:
        scraped.add(item.url)

    crawler.signals.connect(note, signals.item_scraped)
    crawling: Any = crawler.crawl(step=step)
    await maybe_deferred_to_future(crawling)
    assert crawler.stats is not None
    written = [
        {
            json.loads(line)["url"]
            for path in folder.glob(f"{number}-{feed}-*")
            for line in path.read_bytes().splitlines()
        }
        for feed in range(len(step.feeds))
    ]
    with SQLiteIndex(folder / "pages.db") as index:
        rows = {row.id: row for row in index.rows()}
    return Left(written, scraped, rows, int(crawler.stats.get_value("dedup/lost_in_feeds", 0)))


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


def _no_failure_is_seen(watch: Any) -> None:
    """Take every file for stored."""
    settle = watch._settle
    watch._settle = lambda self, slot, **_: settle(self, slot, is_stored=True)


def _any_feed_will_do(watch: Any) -> None:
    """Take what one feed has stored for stored by all."""
    hold = watch._hold
    # The same one in each run, whatever the order of a set.
    watch._hold = lambda self, rows, files: hold(
        self, rows, frozenset(sorted(files, key=lambda slot: slot.uri)[:1])
    )


def _copies_stay_dropped(_: Any) -> None:
    """Let copies of what was lost go with it."""
    cast(Any, Ledger)._copies_of = lambda *_: ()


FAULTS: dict[str, Callable[[Any], None]] = {
    fault.__name__: fault for fault in (_no_failure_is_seen, _any_feed_will_do, _copies_stay_dropped)
}
