"""Files that are, or belong to, a SQLite database: is one the file of an index, and does it lie well?

And which log of SQLite belongs to which file: a log that is replayed into another file damages it.

SQLite knows a write-ahead log by its name alone.  Whoever copies a backup over a file, or removes it,
while a crawl has it open leaves the log of the old file beside the new one.  So whoever writes to a file
that nobody else has open gives it another number first, its generation, in the header, beside the
version of its schema.  The log has a copy of the header, since each page that a file grows by changes
that.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from dedup.model.errors import IndexUnavailable

SQLITE_MAGIC = b"SQLite format 3\x00"

# A database, its log (in either order of bytes) and its journal, by their first bytes.
_MAGICS = (SQLITE_MAGIC, b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
# What SQLite and the locks of our runs keep beside a database, by its name.
_BESIDE = re.compile(r"(.+)-(?:wal|shm|journal|run-[0-9a-f]{32})", re.DOTALL)
# Locks on these do not hold between machines, so two crawls would damage the file.
NETWORK_FILE_SYSTEMS = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "glusterfs"),
        *("gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"),
    )
)


class Damaged(Exception):  # noqa: N818 - it says what is the matter
    """Something in the file is not what was written there; `Database` says it with the path."""


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


VERSION_BITS = 8
# https://www.sqlite.org/fileformat2.html: the user version in the first page, and the parts of a log.
_VERSION_AT = slice(60, 64)
_LOG_HEADER, _FRAME_HEADER = 32, 24


def next_generation(version: int) -> int:
    """Return another user version, that of the next generation, with the schema of *version*."""
    return version % (1 << VERSION_BITS) | secrets.randbits(31 - VERSION_BITS) << VERSION_BITS


def generation(path: Path) -> int | None:
    """Return the generation of the file *path* itself, None if there is none.

    SQLite reads it, though it does not read the log here: if we did, to close the file would take all
    locks away that this process has on it.
    """
    place = f"{path.absolute().as_uri()}?immutable=1&mode=ro"
    try:
        if not path.stat().st_size:  # SQLite would remove the log of a file without a page
            return None
        with closing(sqlite3.connect(place, uri=True)) as raw:
            return int(raw.execute("PRAGMA user_version").fetchone()[0]) >> VERSION_BITS
    except (OSError, sqlite3.Error):
        return None


def stray_log(path: Path) -> os.stat_result | None:
    """Return the log beside *path* if it is that of another file, None if it is not.

    It is looked at twice: when a file gets its next generation it has no log, and soon a new one.
    """
    found, there = _log(path), generation(path)
    if found is None:
        return None
    logged, status = found
    is_gone = there is None and not path.exists()
    is_other = None not in {logged, there} and logged != there
    again = _log(path) if is_gone or is_other else None
    is_same = again is not None and again[0] == logged and os.path.samestat(again[1], status)
    return status if is_same else None


def _log(path: Path) -> tuple[int | None, os.stat_result] | None:
    """Return the last generation that the log of *path* names, if it does, and its status."""
    logged = None
    try:
        with log_of(path).open("rb") as file:
            status, header = os.fstat(file.fileno()), file.read(_LOG_HEADER)
            size, salt = int.from_bytes(header[8:12]), header[16:24]
            while len(frame := file.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salt:
                if int.from_bytes(frame[:4]) == 1:
                    logged = int.from_bytes(file.read(size)[_VERSION_AT]) >> VERSION_BITS
                else:
                    file.seek(size, os.SEEK_CUR)
    except OSError:
        return None
    return logged, status


def set_log_aside(path: Path, status: os.stat_result) -> None:
    """Rename the log beside *path*, if it still is the one of *status*; forget what processes share."""
    log = log_of(path)
    with suppress(OSError):
        if os.path.samestat(log.stat(), status):
            log.replace(path.with_name(f"{path.name}-wal-of-another-file"))
            path.with_name(f"{path.name}-shm").unlink()


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the log of *path*."""
    return path.with_name(f"{path.name}-wal")
