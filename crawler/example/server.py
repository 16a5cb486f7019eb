"""A web server on this machine, for the time of a context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


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
