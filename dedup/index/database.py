"""One SQLite file of ours: opened with care, changed in transactions, with errors for people."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from os import PathLike
from pathlib import Path
from shutil import copyfile

from dedup.index.files import (
    VERSION_BITS,
    Damaged,
    check_file,
    generation,
    next_generation,
    set_log_aside,
    stray_log,
)
from dedup.model.errors import IndexUnavailable
from dedup.model.printable import printable

BUSY_TIMEOUT = 30.0

_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    # A file that is cut off while it is mapped ends the process.
    "PRAGMA mmap_size = 0",
    "PRAGMA cache_size = -16384",
    "PRAGMA temp_store = MEMORY",
    # 64 MB: pages that change often are written back once for many transactions.
    "PRAGMA wal_autocheckpoint = 16384",
)
_WAL_PAUSE = 0.02
# So many characters are shown of an SQLite error: it may quote a statement or a schema.
_LONGEST = 300
_BUSY = "another process held the index for too long"


class Database:
    """The file *path*, made with *create* if there is none; with *must_exist* that is an error.

    Without a *path* it is in memory, and lives as long as the object.

    *application_id* tells this kind of file from all others, *version* is its schema.  Raises
    `IndexUnavailable` for a file of another kind or schema, and leaves it alone.  With *read_only*
    nothing is changed whatever happens: not even a folder is made.

    *began* is called at the beginning of each transaction, and *ended* after it, with whether it was
    undone; whoever wants to be called sets them.
    """

    began: Callable[[], None] = staticmethod(lambda: None)
    ended: Callable[[bool], None] = staticmethod(lambda _: None)

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        application_id: int,
        version: int,
        create: Callable[[sqlite3.Connection], None],
        timeout: float = BUSY_TIMEOUT,
        must_exist: bool = False,
        read_only: bool = False,
    ) -> None:
        self.is_inside = False
        """Whether a transaction is going on."""
        self.is_file = path is not None
        self.path = Path(path or "memory")
        self.name = str(path or "the index in memory")
        self._is_renewed = not self.is_file
        self._errors = _PlainErrors(self.name)
        if self.is_file:
            self._find(must_exist=must_exist or read_only, read_only=read_only)
        with self.errors():
            self.connection = self._connect(timeout, read_only)
            try:
                is_new = self._is_new(application_id, version)
                if read_only and is_new:
                    raise IndexUnavailable(f"{self.path} is empty; a crawl with dedup fills it")
                if self.is_file and not read_only:
                    self._switch_to_wal(timeout)
                    self._remove_journal()
                for pragma in _PRAGMAS:
                    self.connection.execute(pragma)
                if is_new:
                    self._make(application_id, version, create)
                self._opened = self.path.stat() if self.is_file else None
            except BaseException:
                self.connection.close()
                raise

    def changes(self) -> int:
        """Return a number that changes when another connection has changed the file.

        To be called inside a transaction; changes of this connection itself do not count.
        """
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])

    def reading(self) -> AbstractContextManager[None]:
        """See one state of the file, whatever others write meanwhile."""
        return self._errors if self.is_inside else _Transaction(self, "BEGIN")

    def writing(self) -> AbstractContextManager[None]:
        """Change the file, all or nothing; other writers wait.  Inside a transaction, be part of it."""
        if not self._is_renewed:
            self._is_renewed = True
            self._renew()
        return self._errors if self.is_inside else _Transaction(self, "BEGIN IMMEDIATE")

    def errors(self) -> AbstractContextManager[None]:
        """Say errors of SQLite in plain English, with the path."""
        return self._errors

    def raise_when_busy(self, error: type[IndexUnavailable]) -> None:
        """Raise *error* from now on where another process holds the file for too long."""
        self._errors.busy = error

    def integrity(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        with self.errors():
            found = [str(line) for (line,) in self.connection.execute("PRAGMA integrity_check")]
            broken = self.connection.execute("PRAGMA foreign_key_check").fetchall()
        references = [
            f"{table} {row} names a row of {parent} that is not there"
            for table, row, parent, _ in broken
        ]
        return ([] if found == ["ok"] else found) + references

    @property
    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one at its path, and not written over."""
        if self._opened is None:
            return True
        try:
            is_same = os.path.samestat(self._opened, self.path.stat())
        except OSError:
            return False
        return is_same and stray_log(self.path) is None

    def close(self) -> None:
        """Close the file; one that was written over meanwhile stays as it is."""
        stray = stray_log(self.path) if self.is_file else None
        if stray is None:
            self.connection.close()
            return
        aside, now = self.path.with_name(f"{self.path.name}-written-over"), generation(self.path)
        with suppress(OSError):
            copyfile(self.path, aside)
        self.connection.close()  # the last one to close it writes the log into the file
        if generation(self.path) == now:
            set_log_aside(self.path, stray)
            aside.unlink(missing_ok=True)
        elif aside.exists():
            aside.replace(self.path)

    def _connect(self, timeout: float, read_only: bool) -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        address = f"{self.path.absolute().as_uri()}?mode={mode}" if self.is_file else ":memory:"
        return sqlite3.connect(
            address, timeout=timeout, isolation_level=None, uri=True, check_same_thread=False
        )

    def _find(self, *, must_exist: bool, read_only: bool) -> None:
        """Refuse what can be no file of ours, and make the folder of a new one."""
        check_file(self.path)
        if must_exist and not self.path.exists():
            raise IndexUnavailable(f"{self.path} does not exist; a crawl with dedup makes it")
        if stray := stray_log(self.path):
            if read_only:
                raise IndexUnavailable(f"{self.path} was written over in use; a crawl puts it right")
            set_log_aside(self.path, stray)
        if not read_only:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise IndexUnavailable(f"{self.path.parent} cannot be made: {error.strerror}") from error

    def _is_new(self, application_id: int, version: int) -> bool:
        """Return whether nothing is in the file; refuse one that is not ours before it could change."""
        tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = self._number("application_id")
        if found != application_id and (found or tables):
            raise IndexUnavailable(
                f"{self.path} is the database of another program; "
                "it was left as it is, use another DEDUP_INDEX"
            )
        schema = self._number("user_version") % (1 << VERSION_BITS)
        if found and schema != version:
            way_out = "upgrade scrapy-dedup" if schema > version else "it was left as it is"
            raise IndexUnavailable(
                f"{self.path} has schema version {schema}, this release reads {version}; "
                f"{way_out}, or use another DEDUP_INDEX"
            )
        for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            raise IndexUnavailable(
                f"{self.path} has a trigger of another program, {printable(name)}, which may change "
                "what is recorded; drop it, or use another DEDUP_INDEX"
            )
        return not found

    def _switch_to_wal(self, timeout: float) -> None:
        # The switch ignores the busy timeout, so when several processes open a new file at once
        # all but one have to try again.
        deadline = time.monotonic() + timeout
        while self.connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_WAL_PAUSE)

    def _remove_journal(self) -> None:
        """Remove the journal of a process that was killed in `_renew`.

        One to be rolled back was, when the file was first read.  As long as this connection has the log
        open, no other one can go without it, so nobody is using a journal.
        """
        self._number("user_version")
        with suppress(OSError):
            self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)

    def _renew(self) -> None:
        """Give the file its next generation, if nobody else has it open."""
        version, timeout = self._number("user_version"), self._number("busy_timeout")
        with self.errors():
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:  # without a log, the number is in the file before there is one that names it
                self.connection.execute("PRAGMA journal_mode = DELETE")
                self.connection.execute(f"PRAGMA user_version = {next_generation(version)}")
            except sqlite3.OperationalError:
                pass
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {timeout}")
                self._switch_to_wal(timeout / 1000)

    def _make(
        self, application_id: int, version: int, create: Callable[[sqlite3.Connection], None]
    ) -> None:
        with self.writing():
            if self._is_new(application_id, version):  # others may have made it meanwhile
                create(self.connection)
                version |= self._number("user_version")  # which has a generation, and no version yet
                self.connection.execute(f"PRAGMA user_version = {version}")
                self.connection.execute(f"PRAGMA application_id = {application_id}")

    def _number(self, pragma: str) -> int:
        return int(self.connection.execute(f"PRAGMA {pragma}").fetchone()[0])


class _Transaction:
    """A transaction of a database; like `_PlainErrors`, it is no generator."""

    __slots__ = ("_begin", "_database")

    def __init__(self, database: Database, begin: str) -> None:
        self._database = database
        self._begin = begin

    def __enter__(self) -> None:
        database = self._database
        with database.errors():
            database.connection.execute(self._begin)
            try:
                database.began()
            except BaseException:
                self._undo()
                raise
        database.is_inside = True

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        database = self._database
        database.is_inside = False
        with database.errors():
            try:
                if error is not None:
                    raise error
                database.connection.execute("COMMIT")
            except BaseException:
                self._undo()
                raise
        database.ended(False)

    def _undo(self) -> None:
        with suppress(sqlite3.Error):  # a failed COMMIT may have rolled back already
            self._database.connection.execute("ROLLBACK")
        self._database.ended(True)


class _PlainErrors:
    """The context of `Database.errors`; not a generator, as it is entered many times for every page."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.busy: type[IndexUnavailable] = IndexUnavailable

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            why = _explained(error)
            raise (self.busy if why == _BUSY else IndexUnavailable)(f"{self._name}: {why}") from error
        # SQLite quotes what it finds, and Python cannot tell an error in simhashes that are no UTF-8.
        if isinstance(error, Damaged | UnicodeDecodeError):
            raise IndexUnavailable(
                f"{self._name}: the file is damaged ({_on_one_line(error)}); see `dedup check`"
            ) from error


def _explained(error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE":
        return "the disk is full"
    text = _on_one_line(error)
    for part, explanation in (
        # First, as the text quotes what is in the file, which may contain any of the others.
        ("malformed", f"the file is damaged ({text})"),
        ("not a database", f"the file is damaged ({text})"),
        ("locked", _BUSY),
        ("busy", _BUSY),
        ("readonly", "the index cannot be written (read-only file or folder)"),
        ("unable to open", "the file cannot be opened or made here (is the folder read-only?)"),
        ("full", "the disk is full"),
        ("I/O error", f"the disk cannot be written or read ({text})"),
    ):
        if part in text:
            return explanation
    return text


def _on_one_line(error: Exception) -> str:
    return printable(" ".join(str(error).split()), _LONGEST)
