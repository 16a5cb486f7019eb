"""A crawl that is killed again and again, and gone on with, loses nothing."""

import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup import PostgresIndex, SQLiteIndex
from dedup.model.verdict import Outcome, Reason
from tests.plugin.crawls import Staged, page, rows_of_a_sound_index
from tests.support import postgres
from tests.support.crawling import KNOBS, MOST_GATHERED, Running, crawl, started, wait_until
from tests.support.pages import text

WORKERS, BATCH = 8, 10
NEW, OLD = 60, 100  # pages that each crawl has more than those before, and visits again
SPIDER = "tests.crawls.test_kills.NumberedPages"
LEASE = 5.0  # seconds that a worker of which nothing is heard holds its run


class NumberedPages(Spider):
    """Asks for the pages that *numbers* names, ten at a time, whatever was asked for before."""

    name = "numbered"
    numbers = ""
    host = "a"

    async def start(self) -> AsyncIterator[Any]:
        numbers = self.numbers.split()
        for first in range(0, len(numbers), BATCH):
            batch = ",".join(numbers[first : first + BATCH])
            yield Request(f"data:,{batch}", self.parse, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        for number in response.body.decode().split(","):
            content = content_of(int(number))
            yield {"url": f"http://{self.host}/{number}", "text": text(content), "content": content}


def content_of(number: int) -> int:
    """Return which text the page of that *number* has: its own, or that of an earlier page."""
    rng = Random(f"content {number}")
    return number if number == 0 or rng.random() < 0.6 else content_of(rng.randrange(number))


class Ledger:
    """A storage after ours: a line for each item, written before the item is through."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Path(crawler.settings["LEDGER"]))

    def process_item(self, item: Any, spider: Any = None) -> Any:
        os.write(self._file, f"{item['url']} {item['content']}\n".encode())
        return item


def kill_half_of_them(folder: Path, address: str, minutes: float, seed: int = 0) -> Counter[str]:
    """Let workers of one crawl meet the same contents, and kill half of them again and again.

    Raises `AssertionError` where a content is lost, or stored twice though no kill came before `confirm`.
    Returns how many rows there are of each outcome.
    """
    rng, turns = Random(seed), count(1)
    running: dict[int, Running] = {}
    until = time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        numbers = range(NEW * next(turns))
        for worker in range(WORKERS):
            if worker not in running or not running[worker].is_alive():
                running[worker] = _worker(folder, address, worker, numbers[-2 * NEW :], rng)
        time.sleep(rng.uniform(1, 6))
        for worker in rng.sample(range(WORKERS), WORKERS // 2):
            running[worker].send(signal.SIGKILL)
            running[worker].wait()
    for one in running.values():
        one.wait()
    time.sleep(2 * LEASE)
    # What was lost with a worker is given to the next one that asks.
    assert _worker(folder, address, WORKERS, numbers, rng).wait() == 0
    with PostgresIndex(address) as index:
        assert index.problems() == []
        assert {run.ending for run in index.runs.all()} <= {"finished", "died"}
        rows = list(index.rows())
    stored = Counter(int(line.split()[1]) for line in _ledger(folder))
    assert stored.keys() == {content_of(number) for number in numbers}
    lost = (row.sighting.url for row in rows if row.outcome is Outcome.RELEASED)
    pending_at_a_kill = Counter(content_of(int(url.rpartition("/")[2])) for url in lost)
    assert stored <= Counter(stored.keys()) + pending_at_a_kill
    return Counter(str(row.outcome) for row in rows)


def _worker(folder: Path, address: str, worker: int, numbers: range, rng: Random) -> Running:
    """Start a worker, the odd ones on a machine of their own."""
    (own := folder / str(worker)).mkdir(exist_ok=True)
    settings = _settings(folder) | {"JOBDIR": str(own / "job"), "DEDUP_INDEX": address}
    settings |= {"DEDUP_CRAWL": "one", KNOBS: {MOST_GATHERED: 1, "dedup.index.server.LEASE": LEASE}}
    del settings["DEDUP_UNCHANGED"]
    asked = " ".join(map(str, rng.sample(numbers, len(numbers))))
    arguments = {"numbers": asked, "host": f"w{worker}"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / f"cache-{worker if worker % 2 else 0}"))
        return started(own, SPIDER, settings, arguments)


def kill_and_resume(folder: Path, times: int, seed: int = 0) -> None:
    """Begin a crawl and kill it, so many times, with one JOBDIR; let the last one come to its end."""
    rng, turns, killed = Random(seed), count(), 0
    while killed < times:  # one that ended before is followed by another
        killed += _killed(folder, next(turns), rng)
    pages, before = NEW * (next(turns) + 1), _endings(folder).count("finished")
    done = crawl(folder, SPIDER, _settings(folder), _numbered(range(pages)))
    assert done.code == 0, done.log
    rows = rows_of_a_sound_index(folder / "pages.db")
    assert _endings(folder) == ["finished"] * (before + 1)
    with SQLiteIndex(folder / "pages.db") as index:
        assert list(index.orphans()) == []
    lines = [line.split() for line in _ledger(folder)]
    kept = {row.sighting.url for row in rows if row.verdict.kept and row.outcome is Outcome.CONFIRMED}
    assert kept <= {url for url, _ in lines}
    stored = Counter(int(content) for _, content in lines)
    assert stored.keys() == {content_of(number) for number in range(pages)}
    # A later run is given what says the same in other words.
    again = (it for it in rows if it.outcome is Outcome.RELEASED or it.verdict.reason is Reason.UPDATED)
    caught = Counter(content_of(int(row.sighting.url.rpartition("/")[2])) for row in again)
    assert stored <= Counter(stored.keys()) + caught


def _killed(folder: Path, turn: int, rng: Random) -> bool:
    """Begin a crawl, kill it somewhere, and look at the index; return False if it was faster."""
    first = NEW * turn
    numbers = [*range(first, first + NEW), *rng.sample(range(first), min(first, OLD))]
    rng.shuffle(numbers)
    before = len(_ledger(folder))
    running = started(folder, SPIDER, _settings(folder), _numbered(numbers))
    # Some while they start or open the index, most in the middle of their pages.
    wanted = rng.choice([0, rng.randrange(1, 20), rng.randrange(1, 20), rng.randrange(1, 20)])
    while running.is_alive() and len(_ledger(folder)) < before + wanted:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.03 if wanted else 3))
    was_alive = running.is_alive()
    running.send(signal.SIGKILL)
    running.wait()
    if (folder / "pages.db").exists():
        rows_of_a_sound_index(folder / "pages.db")
    return was_alive


def _settings(folder: Path) -> dict[str, Any]:
    files = {"JOBDIR": str(folder / "job"), "LEDGER": str(folder / "ledger.txt")}
    # A run that ended before it was killed is followed by another one.
    chosen = {"DEDUP_TEXT_FIELDS": "text", "DEDUP_UNCHANGED": "drop", "LOG_LEVEL": "WARNING"}
    # The toll tells a row that is missing from none: what is gathered has its own test.
    toll = {KNOBS: {MOST_GATHERED: 1}, "ITEM_PIPELINES": {"tests.crawls.test_kills.Ledger": 300}}
    return {**files, **chosen, **toll}


def _numbered(numbers: range | list[int]) -> dict[str, str]:
    return {"numbers": " ".join(map(str, numbers))}


def _endings(folder: Path) -> list[str]:
    with SQLiteIndex(folder / "pages.db") as index:
        return [run.ending for run in index.runs.all()]


def _ledger(folder: Path) -> list[str]:
    path = folder / "ledger.txt"
    return path.read_text().splitlines() if path.exists() else []


FORMATS = {"jsonlines": "jsonl", "csv": "csv", "json": "json", "xml": "xml"}


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_crawl_killed_anywhere_and_resumed_stores_every_text(tmp_path: Path, times: int) -> None:
    kill_and_resume(tmp_path, times, seed=times)


@pytest.mark.slow
@pytest.mark.nightly
def test_half_of_the_workers_of_a_server_killed_again_and_again(tmp_path: Path) -> None:
    """For as many minutes as the environment says; by hand ten."""
    found = kill_half_of_them(tmp_path, postgres.empty(), float(os.environ.get("MINUTES", "1")))
    assert found["released"]  # or no kill came in time
    assert found["confirmed"] > 100


def confirmed_in(index: Path) -> int:
    with closing(sqlite3.connect(index)) as file:
        found: int = file.execute("SELECT count(*) FROM pages WHERE outcome = 'confirmed'").fetchone()[0]
    return found


def test_what_a_killed_crawl_had_confirmed_is_in_its_feeds(tmp_path: Path) -> None:
    feeds: dict[str, dict[str, object]] = {
        str(tmp_path / f"items.{name}"): {"format": kind} for kind, name in FORMATS.items()
    }
    feeds[str(tmp_path / "%(batch_id)d.jl")] = {"format": "jsonlines", "batch_item_count": 5}
    crawl = Staged(tmp_path, tmp_path / "pages.db", {"FEEDS": feeds})
    crawl.start([page(n, n) for n in range(12)], [page(12, 12)])
    crawl.do(0)
    assert crawl.running is not None
    wait_until(lambda: confirmed_in(crawl.index) >= 12)
    crawl.running.send(signal.SIGKILL)
    crawl.finish()
    rows = rows_of_a_sound_index(crawl.index)
    confirmed = [row.sighting.url for row in rows if row.outcome is Outcome.CONFIRMED]
    assert len(confirmed) >= 12
    for path in feeds:
        names = Path(path).name.replace("%(batch_id)d", "*")
        feed = "".join(part.read_text() for part in tmp_path.glob(names))
        assert [url for url in confirmed if url not in feed] == []
