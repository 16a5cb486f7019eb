"""The example site, crawled as its user crawls it; a job that was stopped or killed goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crawler.example import COPIES, PAGES
from crawler.jobs import MARK
from tests.crawler.crawls import crawled
from tests.support.crawling import ROOT, document, scrapy, serving
from tests.support.pages import text

SUMMARY = "23 items seen = 15 kept + 4 near copies + 4 exact copies; 8 dropped (34.8%)"


def paths(items: list[dict[str, object]]) -> list[str]:
    found = (urlsplit(str(item["url"])) for item in items)
    return [f"{url.path}?{url.query}" if url.query else url.path for url in found]


def test_a_crawl_drops_every_copy_and_nothing_else(tmp_path: Path, site: str) -> None:
    _, log, items = crawled(tmp_path, "site", f"url={site}")
    kept = paths(items)
    unique = {f"/{page.relative_to(PAGES).as_posix()}" for page in PAGES.rglob("*.html")}
    unique -= {"/index.html", *(path for group in COPIES for path in group)}
    for group in COPIES:
        assert len([path for path in kept if path in group]) == 1, group
    assert (set(kept) - {path for group in COPIES for path in group}, len(kept)) == (unique, 15)
    assert SUMMARY in log
    assert "'pages/skipped_not_html': 1" in log


@pytest.mark.slow
def test_items_carry_what_the_page_says(tmp_path: Path, site: str) -> None:
    *_, items = crawled(tmp_path, "site", f"url={site}", "html=1", "max_depth=1")
    by_path = dict(zip(paths(items), items, strict=True))
    home, zh = by_path["/"], by_path["/zh/index.html"]
    assert (home["title"], home["status"], home["depth"]) == ("Kestrel Point Lighthouse Museum", 200, 0)
    assert (home["content_type"], home["language"], home["referrer"]) == ("text/html", "en", None)
    assert str(home["html"]).startswith("<!DOCTYPE html>")
    assert (zh["language"], zh["depth"], zh["referrer"]) == ("zh-CN", 1, site)
    assert "海豹" in str(zh["text"])
    assert str(home["fetched_at"]).endswith("+00:00")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("max_pages=3", None),
        ("max_depth=0", {"/"}),
        ("allow=/shop/i", {"/", "/shop/index.html"}),
        ("deny=/(zh|shop|news|mirror)/|sid", {"/", "/history.html", "/visit.html"}),
    ],
)
def test_arguments_bound_it(tmp_path: Path, site: str, argument: str, expected: set[str] | None) -> None:
    _, log, items = crawled(tmp_path, "site", f"url={site}", argument)
    if expected is None:
        assert "3 items seen = " in log
    else:
        assert set(paths(items)) == expected


@pytest.mark.slow
def test_the_sitemap_spider_takes_what_robots_txt_names(tmp_path: Path, site: str) -> None:
    *_, items = crawled(tmp_path, "sitemap", f"url={site}")
    assert len(items) == len(list(PAGES.rglob("*.html"))) - 4
    *_, same = crawled(tmp_path, "sitemap", f"url={site}sitemap.xml", DEDUP_INDEX=f"{tmp_path}/other.db")
    assert len(same) == len(items)


def test_the_urls_spider_takes_a_list(tmp_path: Path, site: str) -> None:
    listed = tmp_path / "urls.txt"
    lines = "# a comment", "", f"{site}history.html", "nonsense", f"{site}mirror/history.html"
    listed.write_text("\n".join([*lines, f"{site}visit.html\n"]))
    _, log, items = crawled(tmp_path, "urls", f"file={listed}")
    assert len(items) == 2
    assert "line 4 of" in log


@pytest.mark.slow
def test_the_urls_spider_reads_standard_input(tmp_path: Path, site: str) -> None:
    feed = tmp_path / "feed.jsonl"
    command = [sys.executable, "-m", "scrapy", "crawl", "urls", "-a", "file=-", "-O", str(feed)]
    command += ["-s", f"DEDUP_INDEX={tmp_path / 'pages.db'}"]
    lines = f"{site}history.html\n\xff\n{site}\xff.html\n{site}visit.html\n".encode("latin-1")
    done = subprocess.run(command, input=lines, check=True, timeout=60, capture_output=True)
    assert len(feed.read_text().splitlines()) == 2
    assert b"line 2 of - is not a URL" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["site"], "url is missing: -a url=https://example.com"),
        (["site", "-a", "url=ftp://x/"], "url ('ftp://x/') must be an http or https URL"),
        (["site", "-a", "url=http://x/", "-a", "allow=("], "allow ('(') must be a regular expression"),
        (["site", "-a", "url=http://x/", "-a", "depth=3"], "site has no argument 'depth'"),
        (["urls", "-a", "file=/no/such"], "file ('/no/such') must be an existing file"),
        (["nothing"], "there is no spider 'nothing'; the spiders are site, sitemap, urls"),
    ],
)
def test_bad_arguments_get_one_clear_line(arguments: list[str], message: str) -> None:
    done = scrapy("crawl", *arguments)
    assert done.returncode == 2
    assert message in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_the_example_command_says_when_its_port_is_taken(site: str) -> None:
    done = scrapy("example", "--port", str(urlsplit(site).port))
    assert done.returncode == 2
    said = f"port {urlsplit(site).port} is in use: is another `scrapy example --serve` running? End it"
    assert said in done.stderr.splitlines()[-1]


DEADLINE = 150.0
MOST_TWICE = 64  # what docs/developer/reliability.md promises; `test_judge.py` has the law


def start(folder: Path, arguments: list[str], log: str) -> subprocess.Popen[bytes]:
    settings = {"DEDUP_INDEX": str(folder / "pages.db"), "JOBDIR": str(folder / "job")}
    settings["AUTOTHROTTLE_ENABLED"] = "0"
    options = ["-o", str(folder / "feed.jsonl")]
    options += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "crawl", *arguments, *options]
    with (folder / log).open("wb") as output:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=output)


def delivered(folder: Path) -> Counter[str]:
    feed = folder / "feed.jsonl"
    lines = feed.read_text("utf-8").splitlines() if feed.exists() else []
    whole = [line for line in lines if line.endswith("}")]  # a kill may cut the last one
    return Counter(json.loads(line)["url"] for line in whole)


STOPPED = pytest.param(signal.SIGTERM, id="stopped", marks=pytest.mark.nightly)


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGKILL, id="killed"), STOPPED])
def test_a_job_goes_on_and_loses_nothing(tmp_path: Path, number: signal.Signals) -> None:
    pages, tree = 300, {}
    for page in range(pages):
        below = range(12 * page + 1, min(12 * page + 13, pages))
        links = "".join(f"<a href='/{one}.html'>on</a>" for one in below)
        tree[f"/{page}.html"] = document(f"{page}", f"<p>{text(page)}</p>{links}")
    with serving(tree) as url:
        arguments = ["site", "-a", f"url={url}0.html"]
        process, deadline = start(tmp_path, arguments, "first.log"), time.monotonic() + DEADLINE
        while len(delivered(tmp_path)) < pages // 3 and time.monotonic() < deadline:
            assert process.poll() is None, (tmp_path / "first.log").read_text()
            time.sleep(0.2)
        process.send_signal(number)
        process.wait(DEADLINE)
        assert pages // 3 <= len(delivered(tmp_path)) < pages
        assert (tmp_path / "job" / MARK).exists() == (number == signal.SIGKILL)
        assert start(tmp_path, arguments, "second.log").wait(DEADLINE) == 0
    assert ("was killed" in (tmp_path / "second.log").read_text()) == (number == signal.SIGKILL)
    found = delivered(tmp_path)
    assert set(found) == {f"{url}{page}.html" for page in range(pages)}
    # A kill may come between the feed and the index.
    assert sum(found.values()) - pages <= (MOST_TWICE if number == signal.SIGKILL else 0)
    assert not (tmp_path / "job" / MARK).exists()
