"""``dedup report --serve``: the HTML report in a browser, made anew each time that it is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from urllib.parse import urlsplit

import click

from dedup.cli.output import named
from dedup.values.errors import DedupError
from dedup.values.printable import printable

# This machine only: an index holds what a crawl has seen, and there is no password.
HOST = "127.0.0.1"
PORT = 8090
# A page of a stranger whose own name leads to 127.0.0.1 reads nothing: it asks for another host.
_HOSTS = (HOST, "localhost")
# What the report may do stands in the report itself; these keep other pages from using it.
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'; connect-src 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LONGEST = 2000

Write = Callable[[Path], None]


def serve(write: Write, name: str) -> None:
    """Serve what *write* writes, the report on the index of that *name*, until Ctrl-C."""
    with _listening(write) as server:
        url = f"http://{HOST}:{server.server_port}/"
        click.echo(f"{named(name)} is shown on {url} (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)


class _Server(ThreadingHTTPServer):
    """Answers each request in a thread of its own, and makes one report at a time."""

    write: Write
    # On Windows it would take a port that somebody else has.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int) -> None:
        self._one_at_a_time = Lock()
        super().__init__((HOST, port), _Handler)

    def report(self) -> bytes:
        with self._one_at_a_time, TemporaryDirectory(prefix="dedup-report-") as folder:
            self.write(path := Path(folder) / "report.html")
            return path.read_bytes()


def _listening(write: Write) -> _Server:
    """Return a server at the usual port, or at any that is free."""
    try:
        server = _Server(PORT)
    except OSError:
        server = _Server(0)
    server.write = write
    return server


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the one page that there is."""

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
