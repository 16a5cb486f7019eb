"""Whether the process of a run still lives: it holds a lock of the operating system beside the file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dedup.index.files import RunLock, is_lock_name, lock_names


class Leases:
    """The locks of the runs of the index at *path*, whose names stand in its table of runs.

    Without a *path* the index is in memory: nobody else reaches it, so there is nothing to lock.
    """

    def __init__(self, path: Path | None, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._held: dict[int, RunLock] = {}
        # Taken in a transaction that may still be undone.
        self._taken: list[int] = []

    def take(self, run: int) -> None:
        """Hold *run*, in a transaction, so that nobody sees its lock without it, as a stray."""
        if self._path is None:
            return
        lock = RunLock(self._path)
        lock.acquire()
        self._held[run] = lock
        self._taken.append(run)
        self._connection.execute("UPDATE runs SET lock = ? WHERE id = ?", (lock.name, run))

    def release(self, run: int) -> None:
        """Hold *run* no longer."""
        if lock := self._held.pop(run, None):
            lock.release()

    def settle(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        for run in self._taken if undone else ():
            self.release(run)
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        if self._path is None:
            return True
        found = self._connection.execute("SELECT lock FROM runs WHERE id = ?", (run,)).fetchone()
        # What is no name was never a lock, so nobody holds it.
        if run in self._held or found is None or not is_lock_name(found[0]):
            return run in self._held
        lock = RunLock(self._path, found[0])
        is_free = lock.acquire()
        lock.release()
        return not is_free

    def strays(self) -> list[RunLock]:
        """Return the locks of no run: of processes that died just before it began, or after its end."""
        if self._path is None:
            return []
        runs = self._connection.execute("SELECT lock FROM runs WHERE ended IS NULL").fetchall()
        names = lock_names(self._path) - {name for (name,) in runs}
        return [RunLock(self._path, name) for name in names]

    def remove_strays(self) -> None:
        """Remove the strays that nobody holds, in a transaction."""
        for lock in self.strays():
            if lock.acquire():
                lock.release()

    def close(self) -> None:
        """Hold no run any longer."""
        for run in list(self._held):
            self.release(run)
