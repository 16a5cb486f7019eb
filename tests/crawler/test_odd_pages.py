"""Pages as bad as the web has them: each is kept and counted, and the crawl goes on."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from crawler.example import running
from tests.crawling import scrapy
from tests.pages import text

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。" * 3

# Path: content type and body.
PAGES: dict[str, tuple[str, bytes]] = {
    "/empty": ("text/html", b""),
    "/blank": ("text/html", b" \n "),
    "/binary": ("text/html", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40),
    "/nul": ("text/html", f"<p>{text(1)}\x00{text(2)}</p>".encode()),
    "/no-charset": ("text/html", f"<p>{ZH}</p>".encode("gb18030")),
    "/wrong-charset": ("text/html; charset=utf-8", f"<p>{ZH[::-1]}</p>".encode("gb18030")),
    "/deep": ("text/html", b"<div>" * 100_000 + text(3).encode()),
    "/large": (
        "text/html",
        b"<p>" + b"<p>".join([text(n).encode() for n in range(200)] * 100) + b"</p>",
    ),
    "/broken": ("text/html", b"<html><body><p " + b"<" * 5000 + text(4).encode()),
    "/image": ("image/png", b"\x89PNG"),
}


class _Odd(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path not in PAGES:
            self.send_error(404)
            return
        content_type, body = PAGES[self.path]
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.mark.slow
def test_odd_pages_are_kept_and_counted(tmp_path: Path) -> None:
    listed, feed = tmp_path / "urls.txt", tmp_path / "feed.jsonl"
    with running(_Odd) as url:
        site = url.rstrip("/")
        listed.write_text("".join(f"{site}{path}\n" for path in PAGES))
        done = scrapy(
            *("crawl", "urls", "-a", f"file={listed}", "-O", str(feed)),
            *("-s", f"DEDUP_INDEX={tmp_path / 'pages.db'}", "-s", "AUTOTHROTTLE_ENABLED=0"),
        )
    assert len(PAGES["/large"][1]) > 20_000_000 * 0.9
    found = {item["url"].removeprefix(site): item["text"] for item in map(json.loads, feed.open())}
    assert set(found) == set(PAGES) - {"/image"}
    assert found["/no-charset"] == ZH
    assert found["/wrong-charset"] == ZH[::-1]
    assert found["/deep"] == ""  # libxml2 gives up at some depth, and keeps what it had
    assert "9 kept (2 not judged)" in done.stderr
    assert "'pages/skipped_not_html': 1" in done.stderr
    assert "Traceback" not in done.stderr
