"""A draft of an index on a server: what a crawl goes on with while the server is away."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout

from dedup.index.address import Address, replica_folder, replica_name
from dedup.index.index import Index
from dedup.index.store import Store
from dedup.model.errors import IndexUnavailable


class Draft(Index):
    """An index of one process that begins as the file *replica*; what is added, is added only here.

    Without a *replica* it begins as the last one of *address* on this machine, or empty.  It is gone
    when it is closed.  Raises `IndexUnavailable`.
    """

    def __init__(self, address: Address, replica: Path | None = None) -> None:
        self._name = address.name
        folder = replica.parent if replica else replica_folder()
        _remove_dead_ones(folder)
        name = f"away-{token_hex(8)}"
        self._lock = FileLock(folder / f"{name}.lock")
        self._folder = folder / name
        try:
            self._lock.acquire()
            self._folder.mkdir(mode=0o700)
            store = self._copied(replica or _last_replica(folder, address))
        except (OSError, sqlite3.Error) as error:
            self._remove()
            raise IndexUnavailable(f"{folder}: no copy of the index can be made: {error}") from error
        super().__init__(store, read_only=True)  # the other runs are none of its business

    def _copied(self, replica: Path | None) -> Store:
        path = self._folder / "pages.db"
        if replica:
            with closing(sqlite3.connect(replica)) as source, closing(sqlite3.connect(path)) as copy:
                source.backup(copy)
        return Store(path)

    @property
    def name(self) -> str:
        """The address."""
        return self._name

    def close(self) -> None:
        """Close the draft, and remove it."""
        super().close()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.release()
        Path(self._lock.lock_file).unlink(missing_ok=True)


def _remove_dead_ones(folder: Path) -> None:
    """Remove the drafts of processes that were killed."""
    for path in folder.glob("away-*.lock"):
        lock = FileLock(path)
        with suppress(Timeout, OSError):
            lock.acquire(timeout=0)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            lock.release()
            path.unlink(missing_ok=True)


def _last_replica(folder: Path, address: Address) -> Path | None:
    found = folder.glob(replica_name("*", address))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)
