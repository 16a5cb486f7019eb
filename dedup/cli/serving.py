"""``dedup report --serve``: the HTML report in a browser, made anew at each load; it writes marks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from threading import Lock
from urllib.parse import urlsplit

import click

from dedup.cli.options import named
from dedup.model.errors import ConfigError, DedupError, printable
from dedup.model.urls import MAX_URL

# This machine only: an index holds what a crawl has seen, and there is no password.
HOST = "127.0.0.1"
PORT = 8090
# What the report may do stands in the report itself; these keep other pages from using it.
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'; connect-src 'self'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# A mark is two URLs and little else; JSON may take six bytes for a character.
_MOST_BYTES = 16 * MAX_URL

WritePage = Callable[[str], str]
Mark = Callable[[Mapping[str, str]], None]


def serve(write: WritePage, mark: Mark, name: str) -> None:
    """Serve the report on the index of that *name*, and write its marks, until Ctrl-C.

    *write* gives a report that knows a token, *mark* records a mark, by column.
    """
    try:
        listening = _ReportServer(PORT)
    except OSError:  # somebody else has it
        listening = _ReportServer(0)
    with listening as server:
        server.write, server.mark = write, mark
        url = f"http://{HOST}:{server.server_port}/"
        click.echo(f"{named(name)} is shown on {url} (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)


class _ReportServer(ThreadingHTTPServer):
    """Answers each request in a thread of its own, and makes one report, or one mark, at a time."""

    write: WritePage
    mark: Mark
    # On Windows it would take a port that somebody else has.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int) -> None:
        self.lock, self.token = Lock(), token_urlsafe()
        super().__init__((HOST, port), _Handler)


class _Refusal(Exception):  # noqa: N818 - the server is all right
    """A status, and why: its two arguments."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the one page that there is, and POST for a mark in it."""

    server: _ReportServer
    server_version, sys_version = "dedup", ""
    timeout = 60

    def _report(self) -> bytes:
        self._require("/")
        try:
            with self.server.lock:
                return self.server.write(self.server.token).encode()
        except DedupError as error:  # the index may be damaged, gone or busy
            raise _Refusal(503, str(error)) from error

    def _mark(self) -> bytes:
        """Write a mark, if it comes from the report itself: no other page knows the token."""
        size, token = (self.headers.get(name, "") for name in ("Content-Length", "X-Dedup-Token"))
        if self.headers.get("Origin", "") != f"http://{self.headers.get('Host', '')}" or (
            not compare_digest(token.encode(), self.server.token.encode())
        ):
            raise _Refusal(403, "marks are taken from the report itself only; load it again")
        self._require("/marks")
        if not (size.isascii() and size.isdigit()) or int(size) > _MOST_BYTES:
            raise _Refusal(413, "this is no mark")
        try:
            cells = json.loads(self.rfile.read(int(size)))
            if not isinstance(cells, dict) or not all(isinstance(one, str) for one in cells.values()):
                raise ConfigError("a mark is a map of texts")
            with self.server.lock:
                self.server.mark(cells)
        except (ValueError, DedupError) as error:  # it is no mark, or the file cannot be written
            raise _Refusal(400, str(error)) from error
        return b""

    def _require(self, path: str) -> None:
        """Refuse another *path*, and another host: a stranger's own name may lead to 127.0.0.1."""
        host = ""
        with suppress(ValueError):
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if host not in (HOST, "localhost"):
            raise _Refusal(400, f"this server answers only for {HOST}")
        if urlsplit(self.path).path != path:
            raise _Refusal(404, "there is nothing here")

    def do_GET(self) -> None:
        self._answer(self._report)

    def do_POST(self) -> None:
        self._answer(self._mark)

    def _answer(self, answer: Callable[[], bytes]) -> None:
        status, kind = 200, "html"
        with suppress(ConnectionError):  # the browser may have left
            try:
                sent = answer()
            except _Refusal as refusal:
                status, why = refusal.args
                kind, sent = "plain", printable(why, 2000).encode()
            self.send_response(status)
            self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: what is asked for is no news."""
