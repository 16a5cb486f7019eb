"""A site of a few pages that a test may change between two crawls, served on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


def document(content: str, *, links: tuple[str, ...] = (), canonical: str = "") -> str:
    """Return a page of *content* with links."""
    head = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<html><head>{head}</head><body><p>{content}</p><nav>{anchors}</nav></body></html>"


@contextmanager
def site(pages: dict[str, str]) -> Iterator[str]:
    """Serve *pages*, paths to documents; one that begins with ``/`` is a redirect to that path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = pages.get(self.path)
            body = (found or "nothing here").encode()
            is_redirect = found is not None and found.startswith("/")
            self.send_response(302 if is_redirect else 200 if found is not None else 404)
            if is_redirect:
                self.send_header("Location", str(found))
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
