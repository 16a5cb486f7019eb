"""An index on a PostgreSQL server: its log, and in a file of this machine all that was made of it.

Whatever changes the file is first appended to the log, and every process does the same with each entry,
in the same order.  Processes of one machine share the file, which may be removed: it is made anew.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

from filelock import FileLock, Timeout
from msgpack import packb, unpackb

from dedup.index.address import Address
from dedup.index.rows import AMONG, LARGE_INDEXES, values_of
from dedup.index.server import AT_ONCE, OTHER_LOG, Entry, OtherLog, Server
from dedup.index.sqlite_file import Damaged
from dedup.index.store import Leases, Store
from dedup.model.errors import IndexUnavailable, RunEnded, ServerAway
from dedup.model.hashes import digest
from dedup.model.verdict import Outcome, Row

logger = logging.getLogger(__name__)

_QUIET, _PATIENCE = 10.0, 600.0  # seconds to wait for who makes the file, before saying so and after
# For a file that nobody else knows yet.
_QUICK = ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", f"PRAGMA mmap_size = {1 << 40}")
READ = "log"  # the note that says how far the file has read the log
LEASE = 60.0  # seconds that a lease lasts
_RENEWALS = 4  # in that time
_UNTIL = "clock_timestamp() + %s * interval '1 second'"


class Replica(Store):
    """The store at *address*, as `PostgresIndex`.

    Many clients search without a lock (`is_shared`).  Who adds learns if something was added since that
    matters; what concerns more than one row is done by one client at a time.
    """

    def __init__(self, address: Address, *, create: bool = True, read_only: bool = False) -> None:
        self._server = Server(address)
        self._on_server = ServerLeases(self, self._server, Server(address))
        self._does: list[Any] | None = None  # what a transaction does; None outside of one
        self._is_beside = False  # whether that is done only when it is read
        try:
            forbidden = "" if read_only else self._server.forbids()
            if forbidden and create:
                raise IndexUnavailable(f"{self._server.name}: {forbidden}")
            self.is_read_only = read_only or bool(forbidden)
            self._why_not = forbidden or "the index was opened to read only"
            self._open(create=create and not self.is_read_only)
        except BaseException:
            self._server.close()
            raise

    def _open(self, *, create: bool = False) -> None:
        """Open the file of this machine, or make it anew where the server has another log by now."""
        path = _folder() / _file_of(self._server.begin(create=create), self._server.name)
        lock = FileLock(f"{path}.lock")
        try:
            try:
                lock.acquire(timeout=_QUIET)
            except Timeout:
                logger.warning("%s: this waits for another process to make %s", self._server.name, path)
                lock.acquire(timeout=_PATIENCE)
            if path.exists():
                with suppress(OtherLog):
                    self._open_file(path)
                    return
            self._make_file(path)
            self._open_file(path)
        except Timeout:
            why = f"another process held {lock.lock_file} for too long; end one that is stopped"
            raise ServerAway(f"{self._server.name}: {why}") from None
        finally:
            lock.release()

    def _make_file(self, path: Path) -> None:
        """Make the file, beside its place: without a journal, and with its large indexes at the end."""
        new = path.with_suffix(".new")
        _remove(new)
        super().__init__(new)
        try:
            for statement in (*_QUICK, *map("DROP INDEX {}".format, LARGE_INDEXES)):
                self.fetch(statement)
            with ThreadPoolExecutor(1) as reader:  # the next entries come while these are done
                batches = self._server.since(*self.position())
                coming = reader.submit(next, batches, None)
                while entries := coming.result():
                    coming = reader.submit(next, batches, None)
                    self._do(entries)
            for statement in LARGE_INDEXES.values():
                self.fetch(statement)
        finally:
            super(Store, self).close()
        # A log that an old file has left beside it would be taken for one of the new file.
        _remove(path)
        new.replace(path)

    def _open_file(self, path: Path) -> None:
        super().__init__(path)
        self.name, self.leases = self._server.name, self._on_server
        # What was claimed may be in the log already, as with a lost answer of the server.
        self.busy = ServerAway
        try:
            self._read()
        except BaseException:
            super(Store, self).close()
            raise

    def _open_again(self) -> None:
        """Follow the log that the server has by now: it may have lost its end, or was restored."""
        super(Store, self).close()
        self._open()
        self.undone += 1

    # Reading the log

    def position(self) -> tuple[int, int]:
        found = self.fetch("SELECT value FROM meta WHERE name = ?", (READ,))  # as `note`, but faster
        position, stamp = found[0][0].split() if found else (0, 0)
        return int(position), int(stamp)

    def _note(self, position: int, stamp: int, *_: Any) -> None:
        super()._change("put Note", (READ, f"{position} {stamp}"))

    def _read(self) -> None:
        for entries in self._server.since(*self.position()):
            self._do(entries)

    def _do(self, entries: Sequence[Entry]) -> None:
        """Do what *entries* say, in their order; those that were done are left out."""
        with super().transaction(writing=True):
            at, _ = self.position()
            new = [entry for entry in entries if entry[0] > at]
            for position, _, row, does in new:
                self._numbers = count(row)
                try:
                    for change in unpackb(does, use_list=False):
                        super()._change(*change)
                except (LookupError, TypeError, ValueError) as error:
                    raise Damaged(f"entry {position} of the log cannot be read") from error
            if new:
                self._note(*new[-1])

    def transaction(self, *, writing: bool, beside: bool = False) -> AbstractContextManager[None]:
        if not writing or self.is_inside:
            return super().transaction(writing=False)
        if self.is_read_only:
            raise IndexUnavailable(f"{self.name}: {self._why_not}")
        return self._writing_beside() if beside else self._writing()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Change the file and the log, while nobody else changes the log."""
        with ExitStack() as remote:
            try:
                self._read()
            except OtherLog:
                self._open_again()
            last = remote.enter_context(self._server.locked())
            self._read()
            self._numbers = count(last + 1)
            self._does = []
            try:
                with super().transaction(writing=True):
                    yield
                    if self._does:
                        rows = sum(name == "add" for name, *_ in self._does)
                        self._note(*self._server.append(packb(self._does), rows=rows))
                    remote.close()
            finally:
                self._does = None

    @contextmanager
    def _writing_beside(self) -> Iterator[None]:
        """Change the log, and then the file: nobody waits for the log while others wait for the file."""
        self._does, self._is_beside = [], True
        try:
            with super().transaction(writing=False):
                yield
            does = self._does
        finally:
            self._does, self._is_beside = None, False
        while does and not self._claimed([packb(does)], self.position()):
            pass

    def _change(self, name: str, values: Any) -> Any:
        assert self._does is not None, "nothing is changed outside of a transaction"
        self._does.append((name, values))
        return None if self._is_beside else super()._change(name, values)

    @property
    def is_shared(self) -> bool:
        return not (self.is_inside or self.is_read_only)

    def add(self, row: Row, page: bytes = b"") -> Row:
        self._check_run(row)
        return super().add(row, page)

    def claim(self, rows: Sequence[Row], seen: Hashable, pages: Sequence[bytes]) -> list[int]:
        self._check_run(min(rows, key=lambda row: row.outcome is not Outcome.PENDING))
        assert isinstance(seen, tuple)
        does = [packb([("add", (*row.sighting.group, *values_of(row)))]) for row in rows]
        return self._claimed(does, seen, [row.sighting for row in rows], pages)

    def _claimed(self, does: Sequence[bytes], *how: Any) -> list[int]:
        """See `Server.claim`; return the first rows of the new entries after they were done."""
        try:
            entries, new = self._server.claim(does, *how)
        except OtherLog:
            self._open_again()
            return []
        self._do(entries)
        if len(entries) > AT_ONCE:  # and there may be more
            self._read()
        return [row for _, _, row, _ in entries[len(entries) - new :]]

    def _check_run(self, row: Row) -> None:
        """Raise `RunEnded` if others have ended the run of *row*, and settled what was pending."""
        text = "SELECT ended IS NOT NULL AND NOT is_imported FROM runs WHERE id = ?"
        found = self.fetch(text, (row.sighting.run,))
        if not found and self._does is None:
            raise IndexUnavailable(f"{self.name}: {OTHER_LOG}")
        if found and found[0][0] and row.outcome is Outcome.PENDING:
            raise RunEnded(f"{self.name}: the run was ended by others, who took this process for dead")

    def _of_pages(self, text: str, *values: Any) -> Any:
        among = "IN (SELECT value::bigint FROM json_array_elements_text(%s))"
        text = text.replace(AMONG, among).replace("?", "%s").replace("BLOB", "bytea")
        return self._server.execute(text.replace("stored_pages", "@.texts"), values)

    def _bytes(self) -> int:
        ((size,),) = self._server.execute(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '@.log'::regclass)"
        ).fetchall()
        return int(size)

    def wait_at_most(self, seconds: float) -> None:
        self._server.wait_at_most(seconds)
        super().wait_at_most(seconds)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._server.close()


def _folder() -> Path:
    """Return the folder for files that can be made anew, one of this process alone if there is none."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scrapy-dedup"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="scrapy-dedup-"))


def _file_of(log: str, name: str) -> str:
    return f"{log}-{digest(name.encode()).hex()[:8]}.db"


def last_replica(address: Address) -> Path | None:
    """Return the file of this machine that followed the log at *address* last, None if there is none."""
    found = _folder().glob(_file_of("*", address.name))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


class ServerLeases(Leases):
    """The leases of runs on *server*, which a thread renews over its *own* connection."""

    def __init__(self, replica: Store, server: Server, own: Server) -> None:
        super().__init__(replica)
        self._server, self._own, self._seconds = server, own, LEASE
        self._closed = Event()
        self._thread = Thread(target=self._renew, name="dedup leases", daemon=True)

    def take(self, run: int) -> None:
        self._server.execute(
            f"INSERT INTO @.leases VALUES (%s, {_UNTIL}) "
            "ON CONFLICT (run) DO UPDATE SET until = excluded.until",
            (run, self._seconds),
        )
        self._hold(run, None)
        if self._thread.ident is None:
            self._thread.start()

    def release(self, run: int) -> None:
        if run in self._held:
            super().release(run)
            self._server.execute("DELETE FROM @.leases WHERE run = %s", (run,))

    def is_held(self, run: int) -> bool:
        text = "SELECT FROM @.leases WHERE run = %s AND until > clock_timestamp()"
        return self._server.execute(text, (run,)).fetchone() is not None

    def close(self) -> None:
        self._closed.set()
        super().close()

    def _renew(self) -> None:
        every = self._seconds / _RENEWALS
        text = f"UPDATE @.leases SET until = {_UNTIL} WHERE run = ANY(%s)"
        self._own.wait_at_most(every)
        while not self._closed.wait(every):
            try:
                self._own.execute(text, (self._seconds, list(self._held)))
            except IndexUnavailable as error:  # the next time may come before the lease is over
                logger.debug("Leases could not be renewed: %s", error)
            self._own.close()
