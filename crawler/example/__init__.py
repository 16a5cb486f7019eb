"""A small website to try the crawler with, served from this folder and only on this machine.

`COPIES` lists every page that a crawl should drop; all others are unique.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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
        if self.path != "/sitemap.xml":
            super().do_GET()
            return
        site = f"http://{self.headers['Host']}"
        entries = "".join(
            f"<url><loc>{site}/{page.relative_to(PAGES).as_posix()}</loc></url>"
            for page in sorted(PAGES.rglob("*.html"))
        )
        namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
        body = f'<urlset xmlns="{namespace}">{entries}</urlset>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: the crawler has its own log."""


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
