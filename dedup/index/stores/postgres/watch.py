"""A server that has fallen silent: nothing but a limit of our own ends the wait for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import psycopg
from psycopg import Connection

_EVERY = 0.5


class Watch:
    """Cuts a connection on which a statement takes more than *seconds*; has a thread of its own."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._watched: tuple[float, Connection[Any]] | None = None
        self._closed = Event()
        Thread(target=self._work, name="dedup watch", daemon=True).start()

    @contextmanager
    def over(self, connection: Connection[Any]) -> Iterator[None]:
        """Watch *connection* while a statement is run on it."""
        self._watched = (monotonic() + self._seconds, connection)
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def close(self) -> None:
        """End the thread."""
        self._closed.set()

    def _work(self) -> None:
        while not self._closed.wait(_EVERY):
            with self._lock:
                if self._watched and monotonic() > self._watched[0]:
                    cut(self._watched[1])
                    self._watched = None


def cut(connection: Connection[Any]) -> None:
    """Let who waits for an answer on *connection* hear that there is none."""
    # A copy of the number of the socket: the socket itself belongs to libpq.
    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as copy,
    ):
        copy.shutdown(socket.SHUT_RDWR)
