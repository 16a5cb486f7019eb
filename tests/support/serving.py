"""A website made of strings and bytes, on 127.0.0.1."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from crawler.example import running


def document(title: str, content: str) -> str:
    return f"<html><head><title>{title}</title></head><body>{content}<a href='/'>home</a></body></html>"


# What is answered at a path: HTML, bytes of another kind, a status without a body, or that nothing is there.
Answer = str | bytes | int | None
# The status of no answer at all: the connection is closed.
NOTHING = 0


@contextmanager
def serving(pages: Mapping[str, str | bytes]) -> Iterator[str]:
    """Serve *pages*, a map from path to HTML or to bytes of another kind, while the context lasts.

    HTML that begins with ``/`` is a path to redirect to.  The map may change meanwhile.  Gives the
    URL of the site.
    """
    with answering(pages.get) as url:
        yield url


@contextmanager
def answering(answer: Callable[[str], Answer]) -> Iterator[str]:
    """Serve what *answer* gives for a path; see `serving`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = answer(self.path)
            if page == NOTHING:
                return
            status = page if isinstance(page, int) else 404 if page is None else 200
            body = page.encode() if isinstance(page, str) else page if isinstance(page, bytes) else b""
            if page is None:
                body = b"nothing here"
            if isinstance(page, str) and page.startswith("/"):
                self.send_response(302)
                self.send_header("Location", page)
            else:
                self.send_response(status)
            kind = "application/octet-stream" if isinstance(page, bytes) else "text/html; charset=utf-8"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with running(Handler) as url:
        yield url
