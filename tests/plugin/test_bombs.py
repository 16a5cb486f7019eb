"""Pages that are too much, in real crawls: kept, counted, named in the log once for each reason."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from crawler.example import running
from dedup import SQLiteIndex
from dedup.model.limits import MAX_ATTRIBUTES, MAX_TITLE, MAX_URL
from tests.crawling import Crawl, crawl
from tests.pages import text

brotli = pytest.importorskip("brotli")

SIZE = 6_000_000
WORDS = b"<p>" + b"the same old words again " * (SIZE // 25)
ATTRIBUTES = f"<p {' '.join(f'x{n}' for n in range(20 * MAX_ATTRIBUTES))}>{text(3)}".encode()
COMPRESS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "br": brotli.compress}

PAGES: dict[str, bytes] = {
    "/first": WORDS + b"1",
    "/other": WORDS + b"2",
    "/copy": WORDS + b"1",
    "/attributes": ATTRIBUTES,
    "/deep": b"<div>" * 3000 + text(4).encode(),
    "/deeper": b"<div>" * 3000 + text(5).encode(),
    "/ligatures": b"<meta charset=utf-8><p>" + "\ufdfa".encode() * 500_000,
    "/page": f"<title>{'long ' * 9999}</title><p>{text(1)}".encode(),
    "/page-copy": f"<h1>{text(1)}".encode(),
}


@contextmanager
def site(encoding: str) -> Iterator[str]:
    """Serve `PAGES`, compressed."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = COMPRESS[encoding](PAGES.get(self.path, b""))
            self.send_response(200 if self.path in PAGES else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Encoding", encoding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with running(Handler) as url:
        yield url.rstrip("/")


def crawled(folder: Path, encoding: str, **settings: Any) -> Crawl:
    with site(encoding) as url:
        listed = folder / "urls.txt"
        listed.write_text("".join(f"{url}{path}\n" for path in PAGES))
        settings |= {"DEDUP_SOURCE": "response", "CONCURRENT_REQUESTS": 1}
        done = crawl(folder, "crawler.spiders.urls.UrlsSpider", settings, {"file": str(listed)})
    assert done.code == 0
    assert "Traceback" not in done.log
    return done


def kept(done: Crawl) -> list[str]:
    return sorted("/" + item["url"].rpartition("/")[2] for item in done.items)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", pytest.param("br", marks=pytest.mark.nightly)])
def test_bombs_are_kept_and_counted_and_the_crawl_goes_on(tmp_path: Path, encoding: str) -> None:
    assert len(COMPRESS[encoding](PAGES["/first"])) < SIZE / 300
    done = crawled(tmp_path, encoding)
    assert kept(done) == ["/attributes", "/deep", "/deeper", "/first", "/ligatures", "/other", "/page"]
    assert done.dedup() == {
        "seen": 9,
        "new": 7,
        "exact_duplicate": 1,
        "near_duplicate": 1,
        "kept": 7,
        "dropped": 2,
        "over_limit/bytes": 3,
        "over_limit/attributes": 1,
        "over_limit/depth": 2,
        "over_limit/text": 1,
    }
    assert "/first> has more than 4,000,000 bytes: such pages" in done.log
    assert "/attributes> has a tag of more than 2,000 attributes: such pages" in done.log
    assert done.log.count(": such pages are not read, and kept unless") == 4
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert max(len(row.sighting.title) for row in index.rows()) == MAX_TITLE


def test_items_are_bounded_alike(tmp_path: Path) -> None:
    found = [
        {"url": "http://a/4/" + "x" * 20_000, "text": text(1)},
        {"url": "http://a/4/" + "x" * 20_000 + "y", "text": text(2)},
        {"url": "http://a/\ud800", "text": text(3)},
        {"url": "http://a/\udfff", "text": text(3)},
    ]

    done = crawl(
        tmp_path,
        "tests.plugin.spiders.ItemSpider",
        {"DEDUP_TEXT_FIELDS": ["text"]},
        {"items": json.dumps(found)},
    )
    counts = done.dedup()
    assert (counts["new"], counts["exact_duplicate"]) == (3, 1)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        urls = [row.sighting.url for row in index.rows()]
    assert len(set(urls)) == len(found)
    assert max(map(len, urls)) == MAX_URL
