"""Whether the process of a run still lives: it holds a lock of the operating system beside the file."""

from __future__ import annotations

import os
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


class RunLock:
    """An operating system lock beside the index that a run holds while its process lives."""

    def __init__(self, index: Path, name: str = "") -> None:
        self.name = name or uuid.uuid4().hex
        self._path = index.with_name(f"{index.name}-run-{self.name}")
        self._lock = FileLock(self._path)

    def acquire(self) -> bool:
        """Take the lock; return False if a living process holds it."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise IndexUnavailable(f"{self._path} cannot be locked: {error.strerror}") from error
        return True

    def release(self) -> None:
        """Give the lock back and remove its file."""
        if self._lock.is_locked:
            self._lock.release(force=True)
            with suppress(OSError):  # what stays is removed when the index is opened next
                self._path.unlink()


def is_lock_name(name: object) -> bool:
    """Return whether *name* is one that `RunLock` gives itself."""
    return isinstance(name, str) and _LOCK_NAME.fullmatch(name) is not None


def lock_names(index: Path) -> set[str]:
    """Return the names of the locks whose files are beside *index*, held or not."""
    beside = f"{index.name}-run-"
    names = (name[len(beside) :] for name in os.listdir(index.parent) if name.startswith(beside))
    return {name for name in names if is_lock_name(name)}
