"""A small website to try the crawler with, served from this folder and only on this machine.

`COPIES` lists every page that a crawl should drop; all others are unique.  No page links to the endless
ones in `crawler.example.traps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

from crawler.example.server import running
from crawler.example.traps import trap_page

PAGES = Path(__file__).parent / "pages"
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

    def do_GET(self) -> None:
        if self.path == "/sitemap.xml":
            self._send(self._sitemap(), "application/xml")
        elif page := trap_page(self.path):
            self._send(page, "text/html; charset=utf-8")
        else:
            super().do_GET()

    def _sitemap(self) -> str:
        site = f"http://{self.headers['Host']}"
        entries = "".join(
            f"<url><loc>{site}/{page.relative_to(PAGES).as_posix()}</loc></url>"
            for page in sorted(PAGES.rglob("*.html"))
        )
        namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return f'<urlset xmlns="{namespace}">{entries}</urlset>'

    def _send(self, text: str, content_type: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: the crawler has its own log."""


@contextmanager
def served(port: int = 0) -> Iterator[str]:
    """Serve the site on 127.0.0.1 during the context; gives its URL.  Port 0 means any free port."""
    with running(partial(_Handler, directory=str(PAGES)), port) as url:
        yield url
