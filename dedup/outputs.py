"""Files and folders that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dedup.errors import DedupError

_ENDING = ".part"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside *path* to write to; it takes the place of *path* when all went well.

    Of a link it takes the place of the target.  What is no regular file (a pipe, a device) is
    written to as it is.  Raises `DedupError` if *path* cannot be written.
    """
    with _named(path):
        if path.exists() and not path.is_file():
            yield path
            return
        target = Path(os.path.realpath(path))
        with _part(target.parent, target.name) as part:
            yield part
            part.replace(target)


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Give a path for a folder, whose content is that of *folder* when all went well.

    *folder* is made then; one that `is_vacant` is the same one afterwards: it may be a mount, or
    somebody's working directory.  Raises `DedupError` if it cannot be written.
    """
    with _named(folder):
        target = Path(os.path.realpath(folder))
        is_there = target.is_dir()
        with _part(target if is_there else target.parent, target.name) as part:
            yield part
            if not is_there:
                part.replace(target)
            elif not is_vacant(target):
                raise DedupError(f"{folder} must be an empty folder, or none yet")
            else:
                for entry in part.iterdir():
                    entry.replace(target / entry.name)


def is_vacant(folder: Path) -> bool:
    """Return whether there is nothing in *folder*, but for what a killed `filling` left."""
    return all(entry.name.startswith(".") and entry.suffix == _ENDING for entry in folder.iterdir())


@contextmanager
def _part(folder: Path, name: str) -> Iterator[Path]:
    # In a folder of its own: no other file, of whatever name, is written over or taken away.  The
    # part has no name that tells a format, so that nobody takes it for input if it is left behind.
    with TemporaryDirectory(_ENDING, f".{name}.", folder, ignore_cleanup_errors=True) as own:
        yield Path(own, "part")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DedupError(f"{path} cannot be written: {error.strerror or error}") from error
