"""Whether the process of a run still lives: it renews a lease, by the clock of the server."""

from __future__ import annotations

import logging
from threading import Event, Thread

import psycopg

from dedup.index.stores.postgres.server import Server, Watch

logger = logging.getLogger(__name__)

# Seconds that a lease lasts, and how often it is renewed in that time.
LEASE = 60.0
_RENEWALS = 4


class Leases:
    """The leases of runs on *server*, which a thread renews over connections of its own."""

    def __init__(self, server: Server, seconds: float = LEASE) -> None:
        self._server = server
        self._seconds = seconds
        self._held: set[int] = set()
        # Taken in a transaction that may still be undone.
        self._taken: set[int] = set()
        self._closed = Event()
        self._thread: Thread | None = None
        self._watch = Watch(seconds / _RENEWALS)

    def take(self, run: int) -> None:
        """Hold *run*, from the end of the transaction on."""
        self._server.execute(
            "INSERT INTO @.leases VALUES (?, clock_timestamp() + ? * interval '1 second') "
            "ON CONFLICT (run) DO UPDATE SET until = excluded.until",
            (run, self._seconds),
        )
        self._held.add(run)
        self._taken.add(run)
        if self._thread is None:
            self._thread = Thread(target=self._renew, name="dedup leases", daemon=True)
            self._thread.start()

    def release(self, run: int) -> None:
        """Hold *run* no longer."""
        if run in self._held:
            self._held.discard(run)
            self._server.execute("DELETE FROM @.leases WHERE run = ?", (run,))

    def settle(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        if undone:
            self._held -= self._taken
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        found = self._server.execute(
            "SELECT FROM @.leases WHERE run = ? AND until > clock_timestamp()", (run,)
        )
        return found.fetchone() is not None

    def close(self) -> None:
        """Hold no run any longer."""
        self._closed.set()
        self._watch.close()
        for run in list(self._held):
            self.release(run)

    def _renew(self) -> None:
        while not self._closed.wait(self._seconds / _RENEWALS):
            if self._held:
                try:
                    self._renew_now(list(self._held))
                except psycopg.Error as error:  # the next time may come before the lease is over
                    logger.debug("Leases could not be renewed: %s", error)

    def _renew_now(self, runs: list[int]) -> None:
        with self._server.connect_again() as connection, self._watch.over(connection):
            connection.execute(
                self._server.placed(
                    "UPDATE @.leases SET until = clock_timestamp() + %s * interval '1 second' "
                    "WHERE run = ANY(%s)"
                ),
                (self._seconds, runs),
            )
