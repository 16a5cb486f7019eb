"""Which log of SQLite belongs to which file: a log that is replayed into another file damages it.

SQLite knows a write-ahead log by its name alone.  Whoever copies a backup over a file, or removes it,
while a crawl has it open leaves the log of the old file beside the new one.  So whoever writes to a file
that nobody else has open gives it another number first, its generation, in the header, beside the
version of its schema.  The log has a copy of the header, since each page that a file grows by changes
that.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

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
