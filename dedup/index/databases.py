"""SQLite databases and what belongs to them, known by first bytes and by names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

SQLITE_MAGIC = b"SQLite format 3\x00"

# A database, its log (in either order of bytes) and its journal, by their first bytes.
_MAGICS = (SQLITE_MAGIC, b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
# What SQLite and the locks of our runs keep beside a database, by its name.
_BESIDE = re.compile(r"(.+)-(?:wal|shm|journal|run-[0-9a-f]{32})", re.DOTALL)


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
