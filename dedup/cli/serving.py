"""``dedup report --serve``: the HTML report in a browser, made anew at each load; it writes marks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlsplit

import click

from dedup.cli.output import named
from dedup.model.errors import ConfigError, DedupError
from dedup.model.limits import MAX_URL
from dedup.model.printable import printable

# This machine only: an index holds what a crawl has seen, and there is no password.
HOST = "127.0.0.1"
PORT = 8090
# A page of a stranger whose own name leads to 127.0.0.1 reads nothing: it asks for another host.
_HOSTS = (HOST, "localhost")
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
_LONGEST = 2000
# A mark is two URLs and little else; JSON may take six bytes for a character.
_MOST_BYTES = 16 * MAX_URL
_TOKEN = "X-Dedup-Token"  # noqa: S105 - a name, no secret


class Served(NamedTuple):
    """What is served: *write* writes a report that knows a token, *mark* records a mark, by column."""

    write: Callable[[Path, str], None]
    mark: Callable[[Mapping[str, str]], None]


def serve(served: Served, name: str) -> None:
    """Serve the report on the index of that *name*, and write its marks, until Ctrl-C."""
    with _listening(served) as server:
        url = f"http://{HOST}:{server.server_port}/"
        click.echo(f"{named(name)} is shown on {url} (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)


class _Server(ThreadingHTTPServer):
    """Answers each request in a thread of its own, and makes one report at a time."""

    served: Served
    # On Windows it would take a port that somebody else has.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int) -> None:
        self._one_at_a_time = Lock()
        self._writing = Lock()
        self.token = token_urlsafe()
        super().__init__((HOST, port), _Handler)

    def report(self) -> bytes:
        with self._one_at_a_time, TemporaryDirectory(prefix="dedup-report-") as folder:
            self.served.write(path := Path(folder) / "report.html", self.token)
            return path.read_bytes()

    def mark(self, body: bytes) -> None:
        """Record the mark in *body*; raises `ValueError` where it is none."""
        cells = json.loads(body)
        if not isinstance(cells, dict) or not all(isinstance(cell, str) for cell in cells.values()):
            raise ConfigError("a mark is a map of texts")
        with self._writing:
            self.served.mark(cells)


def _listening(served: Served) -> _Server:
    """Return a server at the usual port, or at any that is free."""
    try:
        server = _Server(PORT)
    except OSError:
        server = _Server(0)
    server.served = served
    return server


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the one page that there is, and POST for a mark in it."""

    server: _Server
    server_version, sys_version = "dedup", ""
    timeout = 60

    def do_GET(self) -> None:
        with suppress(ConnectionError):  # the browser may have left
            self._get()

    def _get(self) -> None:
        if not _is_of_this_machine(self.headers.get("Host", "")):
            self._answer(400, "this server answers only for 127.0.0.1")
        elif urlsplit(self.path).path != "/":
            self._answer(404, "there is only one page: /")
        else:
            try:
                self._answer(200, self.server.report())
            except DedupError as error:  # the index may be damaged, gone or busy
                self._answer(503, printable(str(error), _LONGEST))

    def do_POST(self) -> None:
        with suppress(ConnectionError):
            self._post()

    def _post(self) -> None:
        """Write a mark, if it comes from the report itself: no other page knows the token."""
        size = self.headers.get("Content-Length", "")
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin", "")
        token = self.headers.get(_TOKEN, "").encode()
        if not _is_of_this_machine(host) or origin != f"http://{host}":
            self._answer(403, "marks are taken from the report itself only")
        elif not compare_digest(token, self.server.token.encode()):
            self._answer(403, "this report is of an earlier server; load it again")
        elif urlsplit(self.path).path != "/marks":
            self._answer(404, "marks go to /marks")
        elif not (size.isascii() and size.isdigit()) or int(size) > _MOST_BYTES:
            self._answer(413, "this is no mark")
        else:
            try:
                self.server.mark(self.rfile.read(int(size)))
            except (ValueError, DedupError) as error:  # it is no mark, or the file cannot be written
                self._answer(400, printable(str(error), _LONGEST))
            else:
                self._answer(200, "")

    def _answer(self, status: int, body: bytes | str) -> None:
        kind = "html" if isinstance(body, bytes) else "plain"
        sent = body if isinstance(body, bytes) else body.encode()
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


def _is_of_this_machine(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in _HOSTS
    except ValueError:
        return False
