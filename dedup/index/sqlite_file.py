"""One SQLite file of ours: opened with care, changed in transactions, with errors for people."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from os import PathLike
from pathlib import Path

from dedup.model.errors import IndexUnavailable, printable

BUSY_TIMEOUT = 30.0

_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA mmap_size = 0",  # a file that is cut off while it is mapped ends the process
    "PRAGMA cache_size = -16384",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA secure_delete = ON",  # what is forgotten shall not stay behind in free pages
    "PRAGMA wal_autocheckpoint = 16384",  # 64 MB: what changes often is written back rarely
)
_BEGIN = "BEGIN", "BEGIN IMMEDIATE"  # to read, and to write: other writers wait
_WAL_PAUSE = 0.02
_LONGEST = 300  # characters are shown of an SQLite error: it may quote a statement or a schema
_BUSY = "another process held the index for too long"
_NOTHING = nullcontext()  # as there are many for every page, each costs nothing

SQLITE_MAGIC = b"SQLite format 3\x00"

# A database, its log (in either order of bytes) and its journal, by their first bytes.
_MAGICS = (SQLITE_MAGIC, b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
# What SQLite and the locks of our runs keep beside a database, by its name.
_BESIDE = re.compile(r"(.+)-(?:wal|shm|journal|run-[0-9a-f]{32})", re.DOTALL)
# Locks on these do not hold between machines, so two crawls would damage the file.
_REMOTE = "9p afs cifs fuse.sshfs ncpfs nfs nfs4 smb3 smbfs"
_OF_MANY = "beegfs ceph fuse.glusterfs glusterfs gpfs lustre"
NETWORK_FILE_SYSTEMS = frozenset(f"{_REMOTE} {_OF_MANY}".split())


class Damaged(Exception):  # noqa: N818 - it says what is the matter
    """Something in the file is not what was written there; `SQLiteFile` says it with the path."""


class SQLiteFile:
    """The file *path*, made if there is none with *create*; without a path it is in memory.

    Raises `IndexUnavailable` for a file of another *schema*, and leaves it alone: a number that no other
    kind of file has, a version, and the statements that make it.  With *read_only* nothing is changed
    whatever happens.  *ended* is called after each transaction, with whether it was undone.
    """

    busy: type[IndexUnavailable] = IndexUnavailable

    def __init__(
        self,
        path: str | PathLike[str] | None,
        schema: tuple[int, int, Sequence[str]],
        *,
        timeout: float = BUSY_TIMEOUT,
        create: bool = True,
        read_only: bool = False,
    ) -> None:
        self._schema, self.is_inside = schema, False
        self.ended: Callable[[bool], None] = lambda _: None
        self.is_file = path is not None
        self.path = Path(path or "memory")
        self.name = str(path or "the index in memory")
        if self.is_file:
            check_file(self.path)
            if (read_only or not create) and not self.path.exists():
                raise IndexUnavailable(f"{self.path} does not exist; a crawl with dedup makes it")
            if not read_only:
                _make_folder(self.path.parent)
        with self.errors():
            self.connection = self._connect(timeout, read_only)
            try:
                is_new = self._is_new()
                if read_only and is_new:
                    raise IndexUnavailable(f"{self.path} is empty; a crawl with dedup fills it")
                if self.is_file and not read_only:
                    self._switch_to_wal(timeout)
                for pragma in _PRAGMAS:
                    self.connection.execute(pragma)
                if is_new:
                    self._make()
                self._opened = self.path.stat() if self.is_file else None
            except BaseException:
                self.connection.close()
                raise

    def transaction(self, *, writing: bool, beside: bool = False) -> AbstractContextManager[None]:  # noqa: ARG002
        """See one state of the file, or change it, all or nothing; inside another one, be part of it.

        What is changed *beside* others changes no verdict of theirs.
        """
        return self.errors() if self.is_inside else self._transaction(_BEGIN[writing])

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._in_plain_words():
            self.connection.execute(begin)
            try:
                self.is_inside = True
                try:
                    yield
                finally:
                    self.is_inside = False
                self.connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a failed COMMIT may have rolled back already
                    self.connection.execute("ROLLBACK")
                self.ended(True)
                raise
        self.ended(False)

    def errors(self) -> AbstractContextManager[None]:
        """Say errors of SQLite in plain English, with the path; inside a transaction, that does so."""
        return _NOTHING if self.is_inside else self._in_plain_words()

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            why = _explained(error)
            kind = self.busy if why == _BUSY else IndexUnavailable
            raise kind(f"{self.name}: {why}") from error
        # SQLite quotes what it finds, and Python cannot tell an error in simhashes that are no UTF-8.
        except (Damaged, UnicodeDecodeError) as error:
            raise IndexUnavailable(f"{self.name}: {damaged(_on_one_line(error))}") from error

    @property
    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one at its path."""
        with suppress(OSError):
            return self._opened is None or os.path.samestat(self._opened, self.path.stat())
        return False

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _connect(self, timeout: float, read_only: bool) -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        # Beside a file that can only be read SQLite makes no log, and it needs none that is not there.
        if read_only and not (can_write(self.path) or Path(f"{self.path}-wal").exists()):
            mode += "&immutable=1"
        address = f"{self.path.absolute().as_uri()}?mode={mode}" if self.is_file else ":memory:"
        return sqlite3.connect(
            address, timeout=timeout, isolation_level=None, uri=True, check_same_thread=False
        )

    def _is_new(self) -> bool:
        """Return whether nothing is in the file; refuse one that is not ours before it could change."""
        tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        number, version, _ = self._schema
        found = self._number("application_id")
        if found != number and (found or tables):
            raise IndexUnavailable(
                f"{self.path} is the database of another program; "
                "it was left as it is, use another DEDUP_INDEX"
            )
        schema = self._number("user_version")
        if found and schema != version:
            way_out = "upgrade scrapy-dedup" if schema > version else "it was left as it is"
            raise IndexUnavailable(
                f"{self.path} has schema version {schema}, this release reads {version}; "
                f"{way_out}, or use another DEDUP_INDEX"
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

    def _make(self) -> None:
        number, version, statements = self._schema
        with self._transaction(_BEGIN[True]):
            if self._is_new():  # others may have made it meanwhile
                own = f"PRAGMA user_version = {version}", f"PRAGMA application_id = {number}"
                for statement in (*statements, *own):
                    self.connection.execute(statement)

    def _number(self, pragma: str) -> int:
        return int(self.connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def damaged(why: str) -> str:
    """Return that a file is damaged, *why*, and the way out."""
    way_out = (
        "restore a copy of it, or delete it with its -wal and -shm; a file of marks beside it stays"
    )
    return f"the file is damaged ({why}); {way_out}"


def _explained(error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE":
        return "the disk is full"
    text = _on_one_line(error)
    for part, explanation in (
        # First, as the text quotes what is in the file, which may contain any of the others.
        ("malformed|decode|not a database", damaged(text)),
        ("locked|busy", _BUSY),
        ("readonly", "the index cannot be written (read-only file or folder)"),
        (
            "unable to open",
            "the file cannot be opened or made here; if the folder is read-only, copy the index, with "
            "the files of its name beside it, into another one",
        ),
        ("full", "the disk is full"),
        ("I/O error", f"the disk cannot be written or read ({text})"),
    ):
        if re.search(part, text):
            return explanation
    return text


def _on_one_line(error: Exception) -> str:
    return printable(" ".join(str(error).split()), _LONGEST)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IndexUnavailable(f"{folder} cannot be made: {error.strerror}") from error


def check_file(path: Path) -> None:
    """Raise `IndexUnavailable` if *path* cannot be the file of an index."""
    if path.is_dir():
        raise IndexUnavailable(f"{path} is a directory; an index is a file")
    system = file_system(path)
    if system in NETWORK_FILE_SYSTEMS:
        raise IndexUnavailable(
            f"{path} is on a network file system ({system}), where locks do not hold; use a local disk"
        )
    try:
        if is_beside_database(path):
            raise IndexUnavailable(f"{path} belongs to the database beside it; name that one")
        with path.open("rb") as file:
            magic = file.read(len(SQLITE_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise IndexUnavailable(f"{path} cannot be read: {error.strerror}") from error
    if magic and magic != SQLITE_MAGIC:
        raise IndexUnavailable(
            f"{path} is not an index (no SQLite file); it was left as it is, use another DEDUP_INDEX"
        )


def can_write(path: Path) -> bool:
    """Return whether the database *path*, and what SQLite keeps beside it, can be written."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Return the type of the file system that *path* is on, "" where the system does not tell."""
    try:
        lines = os.fsdecode(mounts.read_bytes()).splitlines()
    except OSError:
        return ""
    place = os.path.realpath(path)
    best, system = "", ""
    for _, mount, kind, *_ in (line.split(" ") for line in lines if line.count(" ") > 2):
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), mount)  # \040: a space
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, system = point, kind
    return system


def is_database(path: Path) -> bool:
    """Return whether *path* is a file that begins as a database, its log or its journal does."""
    if not path.is_file():  # a pipe would wait for ever
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)).startswith(_MAGICS)


def is_beside_database(path: Path) -> bool:
    """Return whether *path* is, by its name, a file that belongs to a database beside it."""
    return any(is_database(base) for base in bases_of(path))


def bases_of(path: Path) -> Iterator[Path]:
    """Yield the databases that *path* may belong to by its name, there or not."""
    for place in (path, Path(os.path.realpath(path))):
        if found := _BESIDE.fullmatch(place.name):
            yield place.with_name(found[1])
