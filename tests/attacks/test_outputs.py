"""What was served and scraped is in what the user has, whatever servers, limits, signals and clocks do."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.crawling import crawled
from tests.attacks.servers import ftp_server
from tests.crawling import Crawl, crawl, started
from tests.pages import text
from tests.serving import document, serving

pytestmark = pytest.mark.slow

SITE = "crawler.spiders.site.SiteSpider"
TEXTS = [str(number) for number in range(12)]
ALL = sorted(["", *TEXTS])
DROP = {"DEDUP_UNCHANGED": "drop"}
SLOW = {"ITEM_PIPELINES": {"tests.attacks.storages.Slow": 300}}
UNCHANGED = pytest.mark.parametrize("unchanged", ["keep", "drop"])


def pages() -> dict[str, str]:
    """Return a site: a start page, and each text on two pages."""
    shown = {
        f"/{prefix}{number}": document(prefix, f"<p>{text(int(number))}</p>")
        for number in TEXTS
        for prefix in ("", "copy")
    }
    links = "".join(f"<a href='{path}'>{path}</a>" for path in shown)
    return {"/": document("home", f"<p>{text(1000)}</p>{links}"), **shown}


def run(folder: Path, url: str, **settings: Any) -> Crawl:
    return crawl(folder, SITE, settings, {"url": url, "html": "1"})


def texts(items: Iterable[dict[str, Any]]) -> list[str]:
    """Return which texts *items* are, the start page as ""."""
    return sorted(item["url"].split("/", 3)[3].removeprefix("copy") for item in items)


def lines(*files: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


# Uploads


@pytest.mark.parametrize("refused", ["", "2.jsonl", "1.jsonl 3.jsonl"])
def test_what_s3_refuses_of_the_batches_is_delivered_by_the_next_crawl(
    tmp_path: Path, refused: str
) -> None:
    (tmp_path / "refused").write_text(refused)
    settings = {
        "FEEDS": {"s3://bucket/%(batch_id)d.jsonl": {"format": "jsonlines"}},
        "FEED_EXPORT_BATCH_ITEM_COUNT": 5,
        "FEED_STORAGES": {"s3": "tests.attacks.servers.S3"},
        "AWS_ENDPOINT_URL": str(tmp_path),
        **DROP,
    }
    with serving(pages()) as url:
        lost = run(tmp_path, url, **settings)
        stored = lines(*(tmp_path / "bucket").iterdir())
        again = run(tmp_path, url, **DROP)
    # A batch that was lost early may be delivered by this crawl all the same, by copies.
    assert bool(lost.dedup().get("lost_in_feeds")) is bool(refused)
    assert texts([*stored, *again.items]) == ALL
    assert ("PermissionError: AccessDenied" in lost.log) is bool(refused)


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_a_server_of_ftp_has_not_taken_is_delivered_by_the_next_crawl(
    tmp_path: Path, *, overwrite: bool
) -> None:
    with serving(pages()) as url, ftp_server() as (ftp, files):
        settings = {"FEEDS": {f"{ftp}/items.jsonl": {"format": "jsonlines", "overwrite": overwrite}}}
        files.room = 500
        lost = run(tmp_path, url, **settings, **DROP)
        assert lost.dedup()["lost_in_feeds"] == len(ALL)
        assert "452 the disk is full" in lost.log
        files.room = None
        run(tmp_path, url, **settings, **DROP)
        found = files["items.jsonl"][0 if overwrite else 500 :].splitlines()
    assert texts(map(json.loads, found)) == ALL


@UNCHANGED
def test_pages_from_a_cache_are_pages_like_others(tmp_path: Path, unchanged: str) -> None:
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    settings = {"DEDUP_UNCHANGED": unchanged, **cached}
    with serving(pages()) as url:
        (tmp_path / "file").touch()
        nowhere = {"FEEDS": {str(tmp_path / "file" / "items.jsonl"): {"format": "jsonlines"}}}
        run(tmp_path, url, **settings, **nowhere)
        found = [run(tmp_path, url, **settings) for _ in range(2)]
    assert [done.stats["httpcache/hit"] for done in found] == [26, 26]
    assert [texts(done.items) for done in found] == [ALL, ALL if unchanged == "keep" else []]


# Ends before the end

LIMITS: list[dict[str, Any]] = [
    {"CLOSESPIDER_ITEMCOUNT": 4},
    {"CLOSESPIDER_PAGECOUNT": 7},
    {"CLOSESPIDER_TIMEOUT": 1, "DOWNLOAD_DELAY": 0.2},
]
WAYS = [("keep", False), ("drop", False), ("keep", True)]


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: next(iter(limit)))
@pytest.mark.parametrize(("unchanged", "has_job"), WAYS, ids=["keep", "drop", "JOBDIR"])
def test_crawls_that_a_limit_ends_have_delivered_what_is_not_delivered_again(
    tmp_path: Path, *, unchanged: str, has_job: bool, limit: dict[str, Any]
) -> None:
    settings = {"DEDUP_UNCHANGED": unchanged, **SLOW}
    if has_job:
        settings["JOBDIR"] = str(tmp_path / "job")
    with serving(pages()) as url:
        ended = [run(tmp_path, url, **settings, **limit) for _ in range(2)]
        last = run(tmp_path, url, **settings)
    assert ended[0].stats["finish_reason"].startswith("closespider")
    delivered = [item for done in (*ended, last) for item in done.items]
    if unchanged == "drop" or has_job:
        assert texts(delivered) == ALL
    else:
        assert texts(last.items) == ALL


@pytest.mark.parametrize("times", [1, 2])
@UNCHANGED
def test_a_job_that_is_interrupted_has_delivered_what_is_not_delivered_again(
    tmp_path: Path, unchanged: str, times: int
) -> None:
    settings = {"DEDUP_UNCHANGED": unchanged, "CONCURRENT_REQUESTS": 2, **SLOW}
    job = {"JOBDIR": str(tmp_path / "job")}
    with serving(pages()) as url:
        arguments = {"url": url, "html": "1"}
        running = started(tmp_path, SITE, {**settings, **job, "DOWNLOAD_DELAY": 0.1}, arguments)
        running.wait_for("Dropped ", times=2)
        for count in range(times):
            running.send(signal.SIGINT)
            running.wait_for("Received SIGINT", times=count + 1)
        parts = [running.finish(), run(tmp_path, url, **settings, **job)]
        last = run(tmp_path, url, **settings)
    found = texts(item for part in parts for item in part.items)
    assert 0 < len(parts[0].items) < len(ALL)
    if times == 1:
        assert found == ALL
    # After two signals nobody knows what `JOBDIR` asks for again; items that were under way are lost.
    assert texts(last.items) == (ALL if unchanged == "keep" else sorted(set(ALL) - set(found)))


# Time


@UNCHANGED
def test_runs_of_one_process_need_no_clock(tmp_path: Path, unchanged: str) -> None:
    settings = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": str(tmp_path / "pages.db"),
        "DEDUP_UNCHANGED": unchanged,
    }
    with serving(pages()) as url:
        crawls = [
            {
                "spider": "tests.faults.spiders.Dated",
                "arguments": {"url": url, "html": "1", "ago": str(days)},
                "settings": settings,
            }
            for days in (0, 1, 10_000, 3)
        ]
        found = [texts(done["items"]) for done in crawled(tmp_path, crawls)]
    assert found == [ALL, *[ALL if unchanged == "keep" else []] * 3]
