"""Whether the process of a run still lives: it holds a lock of the operating system beside the file."""

from __future__ import annotations

import re
import sqlite3
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from dedup.values.errors import IndexUnavailable

_LOCK_NAME = re.compile("[0-9a-f]{32}")


class Leases:
    """The locks of the runs of the index at *path*, whose names stand in its table of runs.

    Without a *path* the index is in memory: nobody else reaches it, so there is nothing to lock.
    """

    def __init__(self, path: Path | None, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._held: dict[int, FileLock] = {}
        # Taken in a transaction that may still be undone.
        self._taken: list[int] = []

    def take(self, run: int) -> None:
        """Hold *run*, in a transaction, so that nobody sees its lock without it."""
        if self._path is None:
            return
        name = uuid.uuid4().hex
        if lock := self._locked(self._path, name):
            self._held[run] = lock
            self._taken.append(run)
            self._connection.execute("UPDATE runs SET lock = ? WHERE id = ?", (name, run))

    def release(self, run: int) -> None:
        """Hold *run* no longer."""
        if lock := self._held.pop(run, None):
            _give_back(lock)

    def settle(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        for run in self._taken if undone else ():
            self.release(run)
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        if self._path is None or run in self._held:
            return True
        found = self._connection.execute("SELECT lock FROM runs WHERE id = ?", (run,)).fetchone()
        # What is no name was never a lock, so nobody holds it.
        if found is None or not (isinstance(found[0], str) and _LOCK_NAME.fullmatch(found[0])):
            return False
        if lock := self._locked(self._path, found[0]):
            _give_back(lock)
        return lock is None

    def close(self) -> None:
        """Hold no run any longer."""
        for run in list(self._held):
            self.release(run)

    def _locked(self, index: Path, name: str) -> FileLock | None:
        """Return the lock of that *name*, taken, None if a living process holds it."""
        lock = FileLock(path := index.with_name(f"{index.name}-run-{name}"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except OSError as error:
            raise IndexUnavailable(f"{path} cannot be locked: {error.strerror}") from error
        return lock


def _give_back(lock: FileLock) -> None:
    lock.release(force=True)
    with suppress(OSError):  # it is empty, and may stay
        Path(lock.lock_file).unlink()
