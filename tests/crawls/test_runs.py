"""What a crawl may lean on: runs that are resumed, begun anew, only looked at, dry, locked out."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dedup import SQLiteIndex
from dedup.model.verdict import Outcome
from tests.crawls.test_recrawl import crawled, document
from tests.plugin.crawls import dedup, item, items, urls
from tests.support.crawling import EXPLORED, KNOBS, crawl, scrapy, serving, started
from tests.support.pages import edited, text

PAGES = "tests.plugin.spiders.OneItemAPage"
SLOW: dict[str, Any] = {"CONCURRENT_REQUESTS": 1, "DEDUP_SOURCE": "response"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("parse --pipelines", ("-s", "DEDUP_ACTION=skip")),
        ("fetch", ("-s", "DEDUP_SOURCE=response")),
        ("shell", ()),
    ],
)
def test_who_delivers_nothing_records_nothing(tmp_path: Path, command: str, settings: Any) -> None:
    own = ("-s", f"DEDUP_INDEX={tmp_path / 'pages.db'}", "-s", "LOG_ENABLED=1", *settings)
    with serving({"/": document(text(1))}) as site:
        how = {"fetch": (), "shell": ("-c", "response.status")}.get(
            command, ("--spider", "site", "-a", f"url={site}", "--nolinks")
        )
        done = scrapy(*command.split(), *how, *own, site)
        assert "ERROR" not in done.stderr, done.stderr
        assert not (tmp_path / "pages.db").exists()
        assert len(crawled(tmp_path, site).items) == 1


def test_a_copy_is_kept_when_storage_fails_for_the_page_that_it_repeats(tmp_path: Path) -> None:
    storage: Any = {"ITEM_PIPELINES": {"tests.plugin.storages.Slow": 300}}
    first, second = item(1, text(1)), item(2, edited(1))
    assert urls(items(tmp_path, first, second, **storage)) == ["http://a/1"]
    assert urls(items(tmp_path, {**first, "fate": "fail"}, second, **storage)) == ["http://a/2"]
    said = dedup(tmp_path, "explain", "http://a/2")
    assert "it takes the place of a page that it repeats, not met by its crawl until then" in said
    assert urls(items(tmp_path, second, **storage)) == ["http://a/2"]


def test_links_that_were_withheld_are_listed_until_they_are_met(tmp_path: Path) -> None:
    articles = [f"/a{n}" for n in range(5)]
    pages = {path: document(text(n)) for n, path in enumerate(articles)}
    pages |= {"/": document(text(50, 300), *articles), "/only": document(text(9))}
    # Far down, so that all other callbacks have ended when it is met.
    pages |= {"/a4": document(text(4), "/copy"), "/copy": document(text(0), "/only", "/a1")}
    settings: dict[str, Any] = {"DEDUP_ACTION": "skip", KNOBS: {EXPLORED: 0}}
    with serving(pages) as url:
        assert len(crawled(tmp_path, url, **settings).items) == 6
        assert f"{url}only" in dedup(tmp_path, "restore", "--list", "withheld")
        assert f"{url}a1" not in dedup(tmp_path, "restore", "--list", "withheld")
        crawled(tmp_path, f"{url}only", **settings)
    assert f"{url}only" not in dedup(tmp_path, "restore", "--list", "withheld")


def test_what_is_wanted_back_is_kept_from_then_on(tmp_path: Path) -> None:
    found = [item(n, content, price=7) for n, content in enumerate((text(1), edited(1), text(2)))]
    assert len(items(tmp_path, *found).items) == 2
    assert "http://a/1  near_duplicate of http://a/0" in dedup(tmp_path, "restore", "--run", "1")
    assert len(items(tmp_path, *found).items) == len(items(tmp_path, *found).items) == 3


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.slow
def test_an_index_that_is_locked_from_the_start_is_one_clear_error(tmp_path: Path) -> None:
    contents = {"contents": json.dumps([text(0)])}
    crawl(tmp_path, PAGES, {}, contents)
    with locked(tmp_path / "pages.db"):
        refused = crawl(tmp_path, PAGES, {}, contents)
    assert "another process held the index for too long" in refused.log.strip().splitlines()[-1]
    assert "Error caught on signal handler" not in refused.log  # the spider was not even opened


@pytest.mark.slow
def test_a_locked_index_does_not_stop_the_crawl(tmp_path: Path) -> None:
    contents = {"contents": json.dumps([text(n) for n in range(40)])}
    running = started(tmp_path, PAGES, {**SLOW, "DOWNLOAD_DELAY": 0.1}, contents)
    running.wait_for("Deduplicating into")
    with locked(tmp_path / "pages.db"):
        begin, done = time.monotonic(), running.finish()
        assert time.monotonic() - begin < 20
    assert len(done.items) == 40
    counts = done.dedup()
    assert counts["index_errors"] <= 4
    assert counts["not_asked"] > 20
    assert done.log.count("another process held the index for too long") <= 3
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert all(row.outcome is not Outcome.PENDING for row in index.rows())
