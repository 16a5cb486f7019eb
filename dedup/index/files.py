"""The file of an index and its neighbours: is it ours, and who is using it?"""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from dedup.index.databases import SQLITE_MAGIC, is_beside_database
from dedup.values.errors import IndexUnavailable

_LOCK_NAME = re.compile("[0-9a-f]{32}")
# Locks on these do not hold between machines, so two crawls would damage the file.
NETWORK_FILE_SYSTEMS = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    ]
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
