"""Files and folders that are whole or not there, and take the place of nothing that is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dedup.index.files import bases_of, is_beside_database, is_database
from dedup.model.errors import DedupError

_ENDING = ".part"


def check_target(
    target: Path, sources: Iterable[Path], index: Path | None = None, *, is_folder: bool = False
) -> None:
    """Raise `DedupError` if writing to *target* would destroy a database, or what is read.

    That are *sources*, files or folders with all that is in them, and *index*, which may be none
    yet.  *is_folder* tells that *target* will be a folder.  Links are followed; nothing is read but
    the first bytes of what may be a database.
    """
    with _named(target):
        _spare_databases(target)
        if index and (
            _is_same(target, index) or any(_is_same(base, index) for base in bases_of(target))
        ):
            raise DedupError(f"{target} belongs to the index {index}; write to another file")
        for source in sources:
            if _is_same(target, source) or _is_inside(target, source, is_folder):
                raise DedupError(f"{target} must be none of the input ({source}); write elsewhere")


@contextmanager
def replacing(path: Path, *, is_folder: bool = False) -> Iterator[Path]:
    """Give a path beside *path* to write to; it takes the place of *path* when all went well.

    Of a link it takes the place of the target.  What is no regular file (a pipe, a device) is
    written to as it is.  With *is_folder* a folder is to be made: one that is there already must be
    empty but for what a killed command left, and stays the same one, as it may be a mount, or
    somebody's working directory.  Raises `DedupError` if *path* cannot be written or is a database.
    """
    with _named(path):
        _spare_databases(path)
        if not is_folder and path.exists() and not path.is_file():
            yield path
            return
        target = Path(os.path.realpath(path))
        is_filled = is_folder and target.exists()
        if is_filled:
            _require_vacant(target)
        # In a folder of its own: no other file, of whatever name, is written over or taken away.  The
        # part has no name that tells a format, so that nobody takes it for input if it is left behind.
        above = target if is_filled else target.parent
        with TemporaryDirectory(_ENDING, f".{target.name}.", above, ignore_cleanup_errors=True) as own:
            part = Path(own, "part")
            yield part
            _spare_databases(target)  # one may have been made meanwhile
            if not is_filled:
                part.replace(target)
                return
            _require_vacant(target)
            for entry in part.iterdir():
                entry.replace(target / entry.name)


def _require_vacant(folder: Path) -> None:
    def is_ours(entry: Path) -> bool:
        return entry.name.startswith(".") and entry.suffix == _ENDING

    if not (folder.is_dir() and all(map(is_ours, folder.iterdir()))):
        raise DedupError(f"{folder} must be an empty folder, or none yet")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DedupError(f"{path} cannot be written: {error.strerror or error}") from error


def _spare_databases(path: Path) -> None:
    if is_database(path) or is_beside_database(path):
        raise DedupError(f"{path} is an index or belongs to a database; write to another file")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def _is_inside(target: Path, folder: Path, is_folder: bool) -> bool:
    """Return whether *target* is a file in *folder*, or a folder there, be it that it will be made."""
    if not folder.is_dir():
        return False
    if is_folder or target.is_dir():
        return any(_is_same(above, folder) for above in Path(os.path.realpath(target)).parents)
    return target.is_file() and any(
        _is_same(target, Path(place, name)) for place, _, names in os.walk(folder) for name in names
    )
