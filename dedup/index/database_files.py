"""Files that are, or belong to, a SQLite database: is one the file of an index, and does it lie well?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dedup.values.errors import IndexUnavailable

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
