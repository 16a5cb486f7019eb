"""What was kept is in the feeds of the user; what feeds lose is taken back, and delivered again.

The law: real crawls whose feeds fail at random, at an item, at a batch or at the end, many in one process.
"""

import csv
import io
import json
import logging
import random
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import example, given
from hypothesis import settings as examples_of
from hypothesis import strategies as st
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exporters import CsvItemExporter, JsonLinesItemExporter
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet import threads
from twisted.internet.defer import Deferred

from dedup import SQLiteIndex
from dedup.index.ledger import Ledger
from dedup.model.verdict import Outcome, Row
from dedup.plugin import feeds
from dedup.plugin.feeds import end_torn_line
from tests.oracle.trying import in_a_process
from tests.oracle.world import in_a_reactor, warm
from tests.plugin.crawls import ITEMS, item, listed, outcomes, urls
from tests.plugin.spiders import ByText, CallbackSpider
from tests.support.budget import examples
from tests.support.crawling import KNOBS, MOST_GATHERED, crawl, started, turn, wait_until
from tests.support.pages import edited, text

HERE = "tests.plugin.test_feeds"
# What a feed may be: a file that is written in place, or what is stored when it is closed.
WAYS = ("file", "raising", "deferred")


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
    place, batch = rng.choice(WAYS), rng.choice((0, 0, 1, 2, 3))
    return Feed(place, batch, takes, frozenset(() if is_well else fails))


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
            and all(page.url in urls for feed, urls in pairs if issubclass(page.kind, tuple(feed.takes)))
        }


def violations(history: History, left: Sequence[Left]) -> list[str]:
    """Return what is against the law: what is confirmed is where it should be, and nothing else is lost.

    Of files that are closed at once all may count as lost when one is, and be delivered again.
    """
    found: list[str] = []
    texts: set[int] = set()
    for number, (step, done) in enumerate(zip(history.steps, left, strict=True)):
        had = done.had(step)
        found += [
            f"crawl {number}: {row.sighting.url} {problem}"
            for row in done.rows.values()
            if row.sighting.run == number + 1 and (problem := _problem(row, done, step, had))
        ]
        lost = len(done.scraped - had)
        if done.lost < lost or (done.lost > lost and not step.may_return):
            found.append(f"crawl {number}: {done.lost} are said to be lost, not {done.scraped - had}")
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
    """Return the seeds of histories against the law, and what is; for a process without a reactor."""
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
            if found and fault:
                break  # it was found

    in_a_reactor(live, logging.NullHandler())
    return found


async def _crawled(history: History, number: int, folder: Path) -> Left:
    step = history.steps[number]
    settings: dict[str, Any] = {"ADDONS": {"dedup.plugin.Addon": 500}, "TELNETCONSOLE_ENABLED": False}
    settings |= {"DEDUP_INDEX": str(folder / "pages.db"), "DEDUP_UNCHANGED": history.unchanged}
    settings |= {"CONCURRENT_ITEMS": history.at_a_time, KNOBS: {MOST_GATHERED: history.gathered}}
    settings |= {"FEEDS": {}, "FEED_STORAGES": dict.fromkeys(WAYS[1:], f"{HERE}.Held")}
    settings["FEED_TEMPDIR"] = str(folder)
    for n, feed in enumerate(step.feeds):
        path = f"{folder}/{number}-{n}-%(batch_id)d"
        how: dict[str, Any] = {"format": "jsonlines", "encoding": "utf-8"}
        how |= {"batch_item_count": feed.batch, "item_classes": list(feed.takes)}
        settings["FEEDS"][path if feed.place == "file" else f"{feed.place}://{path}"] = how
    turn(settings)
    crawler = Crawler(Shop, settings)
    scraped: set[str] = set()

    def note(item: Plain) -> None:
        scraped.add(item.url)

    crawler.signals.connect(note, signals.item_scraped)
    crawling: Any = crawler.crawl(step=step)
    await maybe_deferred_to_future(crawling)
    assert crawler.stats is not None
    written = []
    for n in range(len(step.feeds)):
        files = [path.read_bytes() for path in folder.glob(f"{number}-{n}-*")]
        lines = [line for content in files for line in content.splitlines()]
        written.append({json.loads(line)["url"] for line in lines})
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


def _no_failure_is_seen(watch: Any) -> None:
    """Take every file for stored."""
    settle = watch._settle
    watch._settle = lambda self, slot, **_: settle(self, slot, is_stored=True)


def _any_feed_will_do(watch: Any) -> None:
    """Take what one feed has stored for stored by all."""
    hold, uri = watch._hold, attrgetter("uri")
    # The same one in each run, whatever the order of a set.
    watch._hold = lambda self, rows, files: hold(self, rows, frozenset(sorted(files, key=uri)[:1]))


def _copies_stay_dropped(_: Any) -> None:
    """Let copies of what was lost go with it."""
    cast(Any, Ledger)._copies_of = lambda *_: ()


FAULTS: dict[str, Callable[[Any], None]] = {
    fault.__name__: fault for fault in (_no_failure_is_seen, _any_feed_will_do, _copies_stay_dropped)
}


def broken(seeds: range, fault: str = "") -> list[tuple[int, list[str]]]:
    with TemporaryDirectory() as folder:
        return in_a_process(tried, list(seeds), Path(folder), fault)


MORE = pytest.param(range(6, 100), marks=[pytest.mark.slow, pytest.mark.nightly])


@pytest.mark.parametrize("seeds", [range(6), MORE], ids=str)
def test_what_is_confirmed_is_in_all_feeds_and_nothing_else_is_taken_back(seeds: range) -> None:
    assert broken(seeds) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_finds_a_planted_fault(fault: str) -> None:
    assert broken(range(24), fault)


DROP: dict[str, Any] = {"DEDUP_UNCHANGED": "drop", "CONCURRENT_ITEMS": 1}
FAILING = {"failing": "tests.plugin.storages.FailingFeed"}
FOUR = [item(number, text(content)) for number, content in enumerate([1, 1, 2, 3])]


def failing(folder: Path, **options: Any) -> dict[str, Any]:
    feed = {f"failing://user:secret@{folder}/%(batch_id)d.jsonl": {"format": "jsonlines", **options}}
    return {"FEED_STORAGES": FAILING, "FEEDS": feed, **DROP}


def test_what_a_failed_upload_had_is_told_and_delivered_by_the_next_crawl(tmp_path: Path) -> None:
    lost = crawl(tmp_path, ITEMS, failing(tmp_path), listed(*FOUR))
    assert "3 KEPT BUT LOST WITH A FEED" in lost.log
    assert f"failing://{tmp_path}/1.jsonl: it could not be stored, see above" in lost.log
    assert "secret" not in lost.log.split("Deduplication of run")[1].split("index:")[0]
    assert lost.dedup()["lost_in_feeds"] == 3
    released = Outcome.RELEASED
    assert [*outcomes(tmp_path).values()] == [released, Outcome.ORPHANED, released, released]
    assert urls(crawl(tmp_path, ITEMS, DROP, listed(*FOUR))) == [FOUR[n]["url"] for n in (0, 2, 3)]
    assert urls(crawl(tmp_path, ITEMS, DROP, listed(*FOUR))) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk")
def test_what_a_full_disk_did_not_take_is_delivered_by_the_next_crawl(tmp_path: Path) -> None:
    full = {**DROP, "FEEDS": {"/dev/full": {"format": "jsonlines"}}}
    lost = crawl(tmp_path, ITEMS, full, listed(*FOUR))
    # A copy is no copy of what is lost: it is kept, and lost, too.
    assert lost.dedup()["lost_in_feeds"] == 4
    assert urls(crawl(tmp_path, ITEMS, DROP, listed(*FOUR))) == [FOUR[n]["url"] for n in (0, 2, 3)]


def test_a_feed_that_cannot_be_opened_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    feeds = {str(tmp_path / "file" / "items.jsonl"): {"format": "jsonlines"}}
    assert crawl(tmp_path, ITEMS, {**DROP, "FEEDS": feeds}, listed(*FOUR)).dedup()["lost_in_feeds"] == 4
    assert len(crawl(tmp_path, ITEMS, DROP, listed(*FOUR)).items) == 3


def test_a_project_without_feeds_counts_on_its_pipelines(tmp_path: Path) -> None:
    assert "lost_in_feeds" not in crawl(tmp_path, ITEMS, {**DROP, "FEEDS": {}}, listed(*FOUR)).dedup()
    assert crawl(tmp_path, ITEMS, DROP, listed(*FOUR)).items == []


PLACES = {"failing://{}/a.jsonl": "jsonlines", "{}/a.pickle": "own", "{}/a.jsonl": "jsonlines"}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_what_a_killed_crawl_had_in_files_to_be_stored_is_new_again(tmp_path: Path, place: str) -> None:
    job = {"JOBDIR": str(tmp_path / "job")}
    settings: dict[str, Any] = {"FEED_STORAGES": FAILING}
    settings |= {"FEEDS": {place.format(tmp_path): {"format": PLACES[place]}}}
    settings |= {"FEED_EXPORTERS": {"own": "tests.plugin.storages.CollectingExporter"}}
    settings |= {"ITEM_PIPELINES": {"tests.plugin.storages.Gated": 300}, KNOBS: {MOST_GATHERED: 1}}
    waits = item(4, text(4), reached=f"{tmp_path}/reached", until=f"{tmp_path}/go")
    running = started(tmp_path, ITEMS, {**DROP, **job, **settings}, listed(*FOUR, waits))
    wait_until((tmp_path / "reached").exists)
    running.send(signal.SIGKILL)
    running.finish()
    resumed, is_lost = crawl(tmp_path, ITEMS, {**DROP, **job}, listed(FOUR[0])), place != "{}/a.jsonl"
    assert ("3 pages that it had kept are lost with them" in resumed.log) is is_lost
    assert ("3 kept by this run, but lost with its feeds when it died before" in resumed.log) is is_lost
    assert ("JOBDIR does not ask for them again" in resumed.log) is is_lost
    assert urls(resumed) == (["http://a/0"] if is_lost else [])
    again = crawl(tmp_path, ITEMS, DROP, listed(*FOUR))
    assert urls(again) == (["http://a/2", "http://a/3"] if is_lost else [])


@pytest.mark.parametrize(
    ("kind", "torn"),
    [("jsonlines", '{"url": "http://a/8", "text": "so'), ("csv", 'url,text\r\nhttp://a/8,"so ""\r\n')],
)
def test_the_first_item_is_no_part_of_what_a_kill_has_left(tmp_path: Path, kind: str, torn: str) -> None:
    feed = tmp_path / "own"
    feed.write_bytes(torn.encode())
    settings = {"FEEDS": {str(feed): {"format": kind}}}
    done = crawl(tmp_path, ITEMS, {**DROP, **settings}, listed(*FOUR))
    assert done.log.count("ends within an item, as after a kill") == 1
    with feed.open(newline="") as file:
        records = map(json.loads, [*file][1:]) if kind == "jsonlines" else csv.DictReader(file)
        found = [record["url"] for record in records]
    assert found == ["http://a/8", "url"] * (kind == "csv") + ["http://a/0", "http://a/2", "http://a/3"]


# Whatever is left of a file of records, what is appended to it can be read
FIELDS = ["url", "text"]
EXPORTERS = {"jsonlines": JsonLinesItemExporter, "csv": CsvItemExporter}
texts = st.text(st.sampled_from('a ,"\r\n{}\\é汉😀'), max_size=12)
records = st.lists(st.fixed_dictionaries({"url": texts, "text": texts}), min_size=1, max_size=4)


def written(kind: str, items: list[dict[str, str]]) -> bytes:
    file = io.BytesIO()
    exporter = EXPORTERS[kind](file, fields_to_export=FIELDS, encoding="utf-8")
    exporter.start_exporting()
    for one in items:
        exporter.export_item(one)
    exporter.finish_exporting()
    return file.getvalue()


def read(kind: str, data: bytes) -> list[object]:
    said = data.decode("utf-8", "replace")
    if kind == "jsonlines":
        return [line for line in said.split("\n") if line]
    return [row for row in csv.reader(io.StringIO(said, newline="")) if row and row != FIELDS]


def ended(data: bytes, kind: str) -> tuple[bytes, bool]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "items"
        path.write_bytes(data)
        told = end_torn_line(path, has_quotes=kind == "csv")
        return path.read_bytes(), told


@pytest.mark.parametrize("kind", EXPORTERS)
@examples_of(max_examples=examples(150), deadline=None)
@given(before=records, after=records, place=st.integers(0))
@example(before=[{"url": "a", "text": 'b"\n'}], after=[{"url": "汉", "text": '"'}], place=17)
def test_what_was_whole_and_what_is_appended_can_be_read(
    kind: str, before: list[dict[str, str]], after: list[dict[str, str]], place: int
) -> None:
    whole, more = written(kind, before), written(kind, after)
    head = len(written(kind, []))
    cut = head + place % (len(whole) - head + 1)
    left, told = ended(whole[:cut], kind)
    assert told == (left != whole[:cut])
    assert ended(left, kind) == (left, False)
    found, expected, last = read(kind, left + more), read(kind, whole), read(kind, more)
    count = sum(len(written(kind, before[:number])) <= cut for number in range(1, len(before) + 1))
    assert found[:count] == expected[:count]
    assert found[-len(last) :] == last
    assert len(found) - count - len(last) <= 1


@pytest.mark.parametrize("data", [b"", b"a,b\r\n", b'{"a": 1}\n', b"\n"])
@pytest.mark.parametrize("kind", EXPORTERS)
def test_a_file_that_ends_with_a_line_is_left_as_it_is(kind: str, data: bytes) -> None:
    assert ended(data, kind) == (data, False)
