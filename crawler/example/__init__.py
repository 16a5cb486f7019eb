"""A small website to try the crawler with, served from this folder and only on this machine.

`COPIES` lists every page that a crawl should drop; all others are unique.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

PAGES = Path(__file__).parent / "pages"
FRAME = PAGES.with_name("frame.html")
MIRROR = "/mirror"

# Each group of paths shows one page; a crawl keeps the path of a group that it meets first.
COPIES = (
    ("/", "/index.html"),
    ("/visit.html", "/visit.html?sid=8f21c0", "/visit.html?sid=a77d35"),
    ("/history.html", "/mirror/history.html"),
    ("/news/storm.html", "/news/storm-print.html"),
    ("/news/lens.html", "/news/lens-2.html"),
    ("/shop/oil-lamp.html", "/mirror/shop/oil-lamp.html"),
    ("/zh/history.html", "/zh/history-print.html"),
    ("/zh/seals.html", "/zh/seals-gb.html"),
)


class _Handler(SimpleHTTPRequestHandler):
    """Serves the pages, and the same pages again under `MIRROR`.  A query changes nothing."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(MIRROR))

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if self.path == "/sitemap.xml":
            kind, body = "application/xml", _sitemap(f"http://{self.headers['Host']}")
        elif path.suffix == ".html" and path.is_file():
            kind, body = "text/html", page_of(path)
        else:
            return super().send_head()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if path.is_file():
            self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
        self.end_headers()
        return BytesIO(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: the crawler has its own log."""


def page_of(path: Path) -> bytes:
    """Return the page in the file at *path*, which has all of it or what is in the frame of the site."""
    data = path.read_bytes()
    if data.startswith(b"<!DOCTYPE"):
        return data
    charset = "gb2312" if path.stem.endswith("-gb") else "utf-8"
    title, _, text = data.decode(charset).partition("\n")
    language = "zh-CN" if path.parent.name == "zh" else "en"
    frame = FRAME.read_text("utf-8")
    return frame.format(language=language, charset=charset, title=title, text=text).encode(charset)


def _sitemap(site: str) -> bytes:
    pages = (page.relative_to(PAGES).as_posix() for page in sorted(PAGES.rglob("*.html")))
    entries = "".join(f"<url><loc>{site}/{page}</loc></url>" for page in pages)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()


@contextmanager
def running(
    handler: Callable[..., BaseHTTPRequestHandler], port: int = 0, host: str = "127.0.0.1"
) -> Iterator[str]:
    """Let *handler* answer requests on this machine during the context; gives the URL.

    Port 0 means any free port.  Raises `OSError` if the port is in use.
    """
    server = ThreadingHTTPServer((host, port), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(port: int = 0) -> Iterator[str]:
    """Serve the site during the context; gives its URL.  See `running`."""
    with running(partial(_Handler, directory=str(PAGES)), port) as url:
        yield url
