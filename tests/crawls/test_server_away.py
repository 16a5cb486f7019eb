"""Crawls whose server goes away, or is slow, or serves two of them: nothing is lost."""

import json
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dedup import PostgresIndex
from dedup.model.errors import IndexUnavailable
from dedup.model.verdict import Outcome
from tests.support import postgres
from tests.support.crawling import WAIT, Crawl, Running, document, serving, started, wait_until
from tests.support.pages import edited, text

UNIQUE = 25
CONTENTS = [text(number % UNIQUE) for number in range(2 * UNIQUE)]


def begun(folder: Path, server: postgres.Server | str, **settings: Any) -> Running:
    address = server if isinstance(server, str) else server.address()
    own = {"DEDUP_INDEX": address, "DEDUP_TEXT_FIELDS": ["text"], "DOWNLOAD_DELAY": 0.1}
    arguments = {"contents": json.dumps(CONTENTS), "meta": "{}"}
    return started(folder, "tests.plugin.spiders.OneTextAPage", own | settings, arguments)


def delivered(done: Crawl) -> Counter[str]:
    return Counter(item["text"] for item in done.items)


def assert_all_delivered(done: Crawl) -> None:
    assert done.stats["finish_reason"] == "finished"
    assert delivered(done) == Counter(CONTENTS[:UNIQUE])
    assert done.dedup()["server_away"] > 0
    assert "not_judged" not in done.dedup()


def wait_for_rows(running: Running, server: postgres.Server, rows: int) -> None:
    def is_there() -> bool:
        assert running.is_alive()
        try:
            with PostgresIndex(server.address(), read_only=True) as index:
                return index.store.statistics().rows >= rows
        except IndexUnavailable:
            return False

    wait_until(is_there)


@pytest.mark.slow
def test_a_server_that_does_not_come_back(tmp_path: Path, own_server: postgres.Server) -> None:
    running = begun(tmp_path, own_server)
    wait_for_rows(running, own_server, 5)
    own_server.stop()
    done = running.finish()
    own_server.start()
    assert (done.code, "Traceback" in done.log) == (0, False), done.log
    assert_all_delivered(done)
    with PostgresIndex(own_server.address()) as index:
        assert index.problems() == []
        assert len([*index.rows()]) >= 5
    unknown = re.search("not come back: ([0-9]+) pages", done.log)
    assert unknown is not None
    again = begun(tmp_path, own_server, DOWNLOAD_DELAY=0, DEDUP_UNCHANGED="drop").finish()
    assert delivered(again).total() == int(unknown[1])


def test_no_page_is_kept_unjudged_for_a_slow_index(tmp_path: Path) -> None:
    """Half as many seconds as all questions take are enough."""
    slow = {"EXTENSIONS": {"tests.plugin.storages.SlowIndex": 0}, "KNOBS": {WAIT: 0.02 * UNIQUE}}
    done = begun(tmp_path, postgres.empty(), DOWNLOAD_DELAY=0, **slow).finish()
    assert delivered(done) == Counter(CONTENTS[:UNIQUE]), done.log[-3000:]
    assert done.dedup().keys().isdisjoint({"wait_timeout", "not_judged", "index_errors"})


@pytest.mark.slow
def test_a_crawl_ends_and_keeps_everything_where_the_index_hangs_for_ever(tmp_path: Path) -> None:
    address = postgres.empty()
    running = begun(tmp_path, address, KNOBS={"dedup.plugin.crawl_index.LONGEST_ANSWER": 1.0})
    running.wait_for("Crawled (200)", 5)
    with PostgresIndex(address) as other, other.batch():
        done = running.finish()
    assert_all_delivered(done)


# scrapy-redis: two workers of one queue, one index
LINKS = "".join(f"<a href='/{number}'>{number}</a>" for number in range(1, 31))
PAGES = {
    "/": document("home", f"<p>{text(100)}</p>{LINKS}"),
    **{f"/{n}": document(f"page {n % 15}", f"<p>{edited(n % 15, n // 15)}</p>") for n in range(1, 31)},
}


@pytest.fixture
def redis_port(tmp_path: Path) -> Iterator[int]:
    pytest.importorskip("scrapy_redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Redis is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "--port", str(port), "--save", "", "--dir", str(tmp_path), "--daemonize", "no"],
        stdout=subprocess.DEVNULL,
    )
    client = import_module("redis").Redis(port=port)

    def answers() -> bool:
        try:
            return bool(client.ping())
        except import_module("redis").ConnectionError:
            return False

    wait_until(answers)
    yield port
    process.terminate()
    process.wait()


@pytest.mark.slow
def test_two_workers_of_one_queue_share_an_index_on_a_server(tmp_path: Path, redis_port: int) -> None:
    address, client = postgres.empty(), import_module("redis").Redis(port=redis_port)
    with serving(PAGES) as site:
        client.lpush("queue:urls", json.dumps({"url": site}))
        workers = []
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            settings = {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": redis_port}
            settings |= {"DEDUP_INDEX": address, "DEDUP_CRAWL": "together"}
            settings |= {"CONCURRENT_REQUESTS": 2, "DOWNLOAD_DELAY": 0.2}
            settings["SCHEDULER"] = "scrapy_redis.scheduler.Scheduler"
            settings["DUPEFILTER_CLASS"] = "scrapy_redis.dupefilter.RFPDupeFilter"
            spider = "tests.plugin.redis_spiders.QueueSpider"
            workers.append(started(folder, spider, settings, strict=False))
            workers[-1].wait_for("Crawled (200)")  # there is something for the next one
        done = [worker.finish() for worker in workers]
    items = [item["url"].removeprefix(site) for one in done for item in one.items]
    same = [0 if url == "" else 1 + int(url) % 15 for url in items]
    assert all(one.stats.get("item_scraped_count") for one in done)  # both had some of them
    with PostgresIndex(address) as index:
        assert index.problems() == []
        rows = list(index.rows())
        assert len({row.sighting.url for row in rows}) == len(PAGES)  # one may be met twice
        assert {row.outcome for row in rows} == {Outcome.CONFIRMED}
    assert sorted(same) == list(range(16)), (sorted(items), [one.log[-2000:] for one in done])
