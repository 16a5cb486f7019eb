"""Where histories are lived: real crawls by Scrapy, without a network, many in one fork."""

import asyncio
import json
import logging
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals, version_info
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import default_settings
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

from dedup import DedupConfig, MemoryIndex, Page, SQLiteIndex, fingerprint
from dedup.index.ledger import WITHHELD
from dedup.index.rows import Note
from dedup.prints.fingerprinter import current_recipe
from tests.oracle.history import FRAME, History, Leaf, Step, Thing, text_of
from tests.support.crawling import turn
from tests.support.pages import find_or_add

KILLED, HUNG = 9, 10
LONGEST = 10  # seconds that a group of crawls may take, on a busy machine
HERE = "tests.oracle.world"
INDEX = "pages.db"

SETTINGS: dict[str, Any] = {
    "ADDONS": {"dedup.plugin.Addon": 500},
    "DOWNLOAD_HANDLERS": dict.fromkeys(("data", "file", "ftp", "https", "s3"))
    | {"http": f"{HERE}.Handler"},
    "ITEM_PIPELINES": {f"{HERE}.Storage": 300},
    "EXTENSIONS": {
        f"{HERE}.Witness": 1,
        **{f"scrapy.extensions.{name}": None for name in ("logstats.LogStats", "memusage.MemoryUsage")},
    },
    "SPIDER_MIDDLEWARES": {},
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False,
    **{f"{name}_ENABLED": False for name in ("COOKIES", "RETRY", "TELNETCONSOLE", "DNSCACHE")},
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
}


@dataclass
class Told:
    """What one process of a history left: events in their order, and the URLs that the index lists."""

    events: list[list[Any]] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)


def markup(content: str) -> str:
    """Return the HTML of a page that says *content*."""
    return f"<html><body><p>{text_of(content)}</p><nav></nav></body></html>"


# How the HTML of a page is written, by its dress.
WRITTEN = {
    "": "<html><body><p>{said}</p>{nav}</body></html>",
    "after": "<html><body>{frame}{nav}</body></html>\n<p>{said}</p>",
    "twice": "<html><body>{frame}{nav}</body></html><html><body><p>{said}</p></body></html>",
    "cell": "<html><body>{frame}{nav}<table><tr><td>one</html><td><p>{said}</p></table>",
    "bare": "<html><head></head></html><body>{frame}{nav}<p>{said}</p></body>",
    "noscript": "<html><body>{frame}{nav}<noscript><p>{said}</p></noscript></body></html>",
    "shadow": "<html><body>{frame}{nav}<div><template shadowrootmode='open'><p>{said}</p></template></div>",
    "svg": "<html><body>{frame}{nav}<svg><text>{said}</text></svg></body></html>",
    "koi8-r": "<html><body>{nav}<p>{said}</p></body></html>",
}


def body_of(leaf: Leaf) -> str:
    """Return the HTML of *leaf*: all that its items say, as its dress has it."""
    spelled = in_cyrillic if leaf.dress == "koi8-r" else str
    said = "</p><p>".join(spelled(text_of(content)) for content in contents_of(leaf))
    anchors = "".join(f'<a href="{escape(link)}">more</a>' for link in leaf.links)
    return WRITTEN[leaf.dress].format(said=said, nav=f"<nav>{anchors}</nav>", frame=f"<p>{FRAME}</p>")


def contents_of(leaf: Leaf) -> list[str]:
    return list(dict.fromkeys([leaf.content, *(thing.content for thing in leaf.things)]))


def in_cyrillic(said: str) -> str:
    """Return *said* in letters that other encodings have other bytes for, in words of one length."""
    return " ".join(word.ljust(10, "o") for word in said.split(" ")).translate(_CYRILLIC)


_CYRILLIC = str.maketrans("abcdefghijkorw", "абцдефгхийкощж")


def bytes_of(leaf: Leaf) -> bytes:
    return body_of(leaf).encode("koi8-r" if leaf.dress == "koi8-r" else "utf-8", "replace")


def response_of(leaf: Leaf, request: Request, visit: int) -> Response:
    """Return the response to *request*, the *visit*-th one for its URL, in which *leaf* is served."""
    if leaf.leads:
        return Response(request.url, 302, {"Location": leaf.leads}, request=request)
    about: Any = {"headers": {"Content-Type": "text/html; charset=utf-8"}, "flags": [str(visit)]}
    return HtmlResponse(request.url, body=bytes_of(leaf), encoding="utf-8", request=request, **about)


def fields_of(leaf: Leaf, thing: Thing, shown: str) -> dict[str, Any]:
    """Return the fields of an item, without its URL; *shown* is the text of its response."""
    if thing.kind == "html":
        is_whole = leaf.content and len(leaf.things) == 1
        found: dict[str, Any] = {"html": shown if is_whole else markup(thing.content)}
    elif thing.kind == "text":
        words = text_of(thing.content).split()
        found = {"title": " ".join(words[:5]), "text": " ".join(words[5:])}
    else:
        found = {"name": text_of(thing.content), "price": len(thing.content)}
    if thing.beside:
        found["notes"] = text_of(thing.beside)
    return {**found, "sku": thing.key} if thing.key else found


def truth_of(leaf: Leaf, things: Sequence[Thing]) -> list[str]:
    """Return what *things* of *leaf* say, word by word, wherever that stands; signs are words too."""
    contents = [leaf.content] if len(leaf.things) == 1 and things[0].kind == "html" else []
    contents += [said for thing in things for said in (thing.content, thing.beside) if said]
    return [word for said in dict.fromkeys(contents) for word in text_of(said).split()]


def truth_of_page(leaf: Leaf) -> list[str]:
    return [word for said in contents_of(leaf) for word in text_of(said).split()]


# Living


# A history, its folder, and the numbers of steps that are taken at the same time.
Task = tuple[History, Path, list[int]]


def lived(
    histories: Sequence[History], folder: Path, plant: Callable[[], None] | None = None
) -> list[list[Told]]:
    """Live *histories*, each with an index of its own; return what each step of each left.

    For a process without a reactor.  *plant* is called in each fork, to plant a fault.
    """
    tasks: list[Task] = []
    for number, history in enumerate(histories):
        (folder / str(number)).mkdir()
        tasks += [(history, folder / str(number), steps) for steps in history.together()]
    done = 0
    while done < len(tasks):
        left = tasks[done:]
        code = _in_a_fork(partial(_live, left), plant)
        assert code in (0, KILLED, HUNG), f"a crawl ended with {code}"
        done += sum(_journal(at, steps[0]).exists() for _, at, steps in left)
    return [
        [_told(folder / str(number), step) for step in range(len(history.steps))]
        for number, history in enumerate(histories)
    ]


@cache
def warm() -> None:
    """Read what crawls read once in a process, so that no fork has to."""
    for name, default in vars(default_settings).items():
        if name.endswith(("_BASE", "_CLASS")) or name in ("SCHEDULER", "LOG_FORMATTER"):
            for path in default if isinstance(default, dict) else [default]:
                if isinstance(path, str) and "." in path:
                    load_object(path)
    for name in ("dedup.plugin.addon", "scrapy.pqueues", "scrapy.squeues", "scrapy.utils.engine"):
        import_module(name)
    page = fingerprint(Page.from_html(markup("u1")), DedupConfig())
    with MemoryIndex() as index:
        run = index.runs.begin()
        index.require_recipe(current_recipe())
        find_or_add(index, page, "http://a.com/", run=run, config=DedupConfig(scope="domain"))


def listed(index: SQLiteIndex) -> set[str]:
    """Return the URLs of what was dropped or withheld and is listed for its owner."""
    found = {row.sighting.url for row in index.orphans()}
    notes = index.store.select(Note, prefix=WITHHELD)
    return found | {note.name.removeprefix(WITHHELD).partition(".")[2] for note in notes}


def _in_a_fork(function: Callable[[], None], plant: Callable[[], None] | None) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        if plant:
            plant()
        function()
        code = 0
    except BaseException:
        logging.getLogger(__name__).exception("a history could not be lived")
    finally:
        os._exit(code)


def _journal(folder: Path, number: int) -> Path:
    return folder / f"{number}.jsonl"


def _told(folder: Path, number: int) -> Told:
    lines = _journal(folder, number).read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    at = [event[1] for event in events if event[0] == "listed"]
    return Told(events, set(at[0]) if at else set())


def _live(tasks: Sequence[Task]) -> None:
    """Run the crawls of *tasks*, to the end or until one kills this process."""
    signal.signal(signal.SIGALRM, _give_up)

    async def live() -> None:
        for history, folder, numbers in tasks:
            for number in numbers:
                _journal(folder, number).touch()
            signal.alarm(LONGEST)
            await asyncio.gather(*(_begun(history, folder, number, numbers[0]) for number in numbers))
            _take_stock(folder, numbers)

    in_a_reactor(live, _Alarm(logging.ERROR))


def in_a_reactor(live: Callable[[], Awaitable[None]], handler: logging.Handler) -> None:
    """Run *live* to its end, in a process in which there was no reactor before."""
    from scrapy.utils.reactor import install_reactor

    install_reactor(SETTINGS["TWISTED_REACTOR"])
    reactor: Any = import_module("twisted.internet.reactor")
    logging.getLogger().addHandler(handler)
    failures: list[BaseException] = []

    async def run() -> None:
        try:
            await live()
        except BaseException as error:
            failures.append(error)
        reactor.stop()

    reactor.callWhenRunning(lambda: deferred_from_coro(run()))
    reactor.run()
    if failures:
        raise failures[0]


def _give_up(*_: object) -> None:
    for stage in list(_stages.values()):
        stage.tell("error", f"it hangs for {LONGEST} seconds")
    os._exit(HUNG)


async def _begun(history: History, folder: Path, number: int, before: int) -> None:
    """Crawl, as soon as the step *before* has stored as many items as this one waits for, or is over."""
    late = history.steps[number].late
    while late:
        written = _journal(folder, before).read_text("utf-8")
        if written.count('["stored"') >= late or '["closed"' in written:
            break
        await asyncio.sleep(0)
    await _crawled(history, folder, number)


async def _crawled(history: History, folder: Path, number: int) -> None:
    step = history.steps[number]
    settings = {**SETTINGS, **history.settings, "DEDUP_INDEX": str(folder / INDEX)}
    settings |= dict.fromkeys(("CONCURRENT_REQUESTS", "CONCURRENT_ITEMS"), history.at_a_time)
    settings["DEDUP_MAX_LOST_WORDS"] = step.max_lost_words
    if step.is_dry:
        settings["DEDUP_ACTION"] = "report"
    if step.name:
        settings["DEDUP_CRAWL"] = step.name
    if step.ending == "stopped":
        settings["CLOSESPIDER_PAGECOUNT"] = step.after
    if step.job:
        settings["JOBDIR"] = str(folder / step.job)
        if step.is_fresh:
            shutil.rmtree(folder / step.job, ignore_errors=True)
    turn(settings)
    crawler = Crawler(SPIDERS[step.spider], settings)
    with _written(_journal(folder, number)) as tell:
        _stages[crawler] = Stage(history, step, tell)
        crawling: Any = crawler.crawl()
        await crawling.asFuture(asyncio.get_running_loop())
        del _stages[crawler]


def _take_stock(folder: Path, numbers: Sequence[int]) -> None:
    """Write down what the index lists when crawls are over."""
    with SQLiteIndex(folder / INDEX, read_only=True) as index:
        found = sorted(listed(index))
    for number in numbers:
        with _written(_journal(folder, number)) as tell:
            tell("listed", found)


Tell = Callable[..., object]


@contextmanager
def _written(journal: Path) -> Iterator[Tell]:
    """Give a function that writes events down at once."""
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        yield lambda *event: os.write(file, json.dumps(event).encode() + b"\n")
    finally:
        os.close(file)


class Stage:
    """What the parts of Scrapy below act in: one step of a history, and how they tell of it."""

    def __init__(self, history: History, step: Step, tell: Tell) -> None:
        self.history = history
        self.step = step
        self.tell = tell
        self.downloads = 0
        self.stored = 0
        self.items = 0
        self.visits: Counter[str] = Counter()

    def may_die(self, where: str, count: int) -> None:
        step = self.step
        if step.ending == "killed" and (step.where, step.after) == (where, count):
            os._exit(KILLED)

    def in_order(self, urls: Sequence[str]) -> list[str]:
        order = self.step.order
        return random.Random(order).sample(urls, len(urls)) if order else list(urls)


_stages: WeakKeyDictionary[Crawler, Stage] = WeakKeyDictionary()


class Actor:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(_stages[crawler])


class Tagged(dict[str, Any]):
    """An item that knows which one it is, whatever its fields say."""

    tag: list[Any]


class _Alarm(logging.Handler):
    """Writes down errors that are in the log; of crawls at the same time, as those of all."""

    def emit(self, record: logging.LogRecord) -> None:
        if "storage is down" not in str(record.exc_info):
            error = record.exc_info[1] if record.exc_info else None
            for stage in list(_stages.values()):
                stage.tell("error", record.getMessage()[:500], str(error)[:300])


class Witness(Actor):
    crawler: Any

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        witness = super().from_crawler(crawler)
        witness.crawler = crawler
        for sent, receiver in (
            (signals.item_scraped, witness.scraped),
            (signals.item_dropped, witness.dropped),
            (signals.item_error, witness.failed),
            (signals.spider_closed, witness.closed),
        ):
            crawler.signals.connect(receiver, sent)
        return witness

    def scraped(self, item: Tagged) -> None:
        self.stage.tell("stored", item.tag)

    def dropped(self, item: Tagged, exception: Exception) -> None:
        fate = "failed" if isinstance(exception, Unwanted) else "dropped"
        self.stage.tell(fate, item.tag, str(exception))

    def failed(self, item: Tagged, failure: Any) -> None:
        self.stage.tell("failed", item.tag, str(failure.value))

    def closed(self, reason: str) -> None:
        for name in ("dedup/wait_timeout", "dedup/index_errors"):
            if count := self.crawler.stats.get_value(name):
                self.stage.tell("error", f"{name}: {count}")
        self.stage.tell("closed", reason)


class Unwanted(DropItem):
    """What a storage raises that does not want an item."""


class Storage(Actor):
    """Takes its time, and fails where the step says so."""

    async def process_item(self, item: Tagged, spider: Any = None) -> Any:
        stage = self.stage
        for _ in range(stage.history.patience):
            await asyncio.sleep(0)
        stage.stored += 1
        stage.may_die("storage", stage.stored)
        match stage.step.fails.get(item.tag[0]):
            case "fail":
                raise RuntimeError("storage is down")
            case "drop":
                raise Unwanted("not wanted", log_level="DEBUG")
        return item


class _Handler(Actor):
    lazy = False

    async def download(self, request: Request) -> Response:
        stage = self.stage
        stage.downloads += 1
        stage.may_die("download", stage.downloads)
        await asyncio.sleep(0)
        leaf, visit = stage.step.site.get(request.url), stage.visits[request.url]
        stage.visits[request.url] += 1
        # What is only asked for to see what moves is no page of the crawl.
        is_page = leaf is not None and not leaf.leads and request.callback is not NO_CALLBACK
        is_led = "redirect_urls" in request.meta
        stage.tell("served", request.url, is_page, visit, is_led)
        if leaf is None:
            return HtmlResponse(request.url, 404, body=b"gone", encoding="utf-8", request=request)
        return response_of(leaf.at(visit), request, visit)

    async def close(self) -> None:
        pass


class _Handler214(_Handler):
    async def download_request(self, request: Request) -> Response:
        return await self.download(request)


class _Handler213(_Handler):
    def download_request(self, request: Request, spider: Spider) -> Any:
        return deferred_from_coro(self.download(request))

    def close(self) -> None:  # type: ignore[override]
        pass


Handler: type[_Handler] = _Handler214 if version_info >= (2, 14) else _Handler213


class Wanderer(Spider):
    """Makes the items of every page that it finds, and follows all links."""

    @property
    def stage(self) -> Stage:
        return _stages[self.crawler]

    async def start(self) -> AsyncIterator[Any]:
        step = self.stage.step
        for number, thing in enumerate(step.greetings):
            yield self._item(Leaf("", step.greetings), thing, ("", number, 0), "")
        for url in self.stage.in_order(step.starts):
            yield self._request(url, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        url, visit = response.url, int(response.flags[0])
        first = self.stage.step.site[url]
        leaf = first.at(visit)
        self.stage.tell("parsed", url, visit)
        for number, thing in enumerate(leaf.things):
            yield self._item(leaf, thing, (url, number, visit), response.text)
        for link in self.stage.in_order(leaf.links):
            yield self._request(link)
        if visit < len(first.again) and "redirect_urls" not in response.meta:
            yield self._request(url, dont_filter=True)

    def _item(self, leaf: Leaf, thing: Thing, place: tuple[str, int, int], shown: str) -> Tagged:
        stage, (url, number, visit) = self.stage, place
        item = Tagged(fields_of(leaf, thing, shown))
        if stage.history.has_urls and url:
            item["url"] = url
        item.tag = [url, number, stage.items, visit]
        stage.items += 1
        stage.tell("yielded", item.tag)
        return item

    def _request(self, url: str, *, dont_filter: bool = False) -> Request:
        site = self.stage.step.site
        leaf = site.get(url)
        if leaf and leaf.leads:
            # Scrapy asks for no page twice that several addresses lead to, unless it is told to.
            leaf, dont_filter = site.get(leaf.leads), True
        meta = {"dedup": False} if leaf and leaf.is_exempt else {}
        return Request(url, self.parse, meta=meta, dont_filter=dont_filter)


SPIDERS: Any = {name: type(name.title(), (Wanderer,), {"name": name}) for name in ("one", "two")}
