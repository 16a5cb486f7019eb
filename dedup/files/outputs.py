"""Files and folders that are whole or not there, and take the place of nothing that is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dedup.index.sqlite_file import bases_of, is_beside_database, is_database
from dedup.model.errors import DedupError


def check_target(target: Path, sources: Iterable[Path], index: Path | str = "") -> None:
    """Raise `DedupError` if writing to *target* would destroy a database, or what is read.

    That are *sources*, files or folders with all that is in them, and *index*, which may be none yet
    or on a server.  Links are followed; nothing is read but the first bytes of what may be a database.
    """
    with _named(target):
        if isinstance(index, Path) and any(_is_same(one, index) for one in (target, *bases_of(target))):
            raise DedupError(f"{target} belongs to the index {index}; write to another file")
        above = Path(os.path.realpath(target)).parents if target.exists() else ()
        for source in sources:
            if any(_is_same(one, source) for one in (target, *above)):
                raise DedupError(f"{target} must be none of the input ({source}); write elsewhere")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside *path* to write to; it takes the place of *path* when all went well.

    Of a link it takes the place of the target.  What is no regular file (a pipe, a device) is
    written to as it is.  Raises `DedupError` if *path* cannot be written or is a database.
    """
    with _named(path):
        if path.exists() and not path.is_file():
            yield path
            return
        target = Path(os.path.realpath(path))
        # In a folder of its own: no other file, of whatever name, is written over or taken away.  The
        # part has no name that tells a format, so that nobody takes it for input if it is left behind.
        own = TemporaryDirectory(".part", f".{target.name}.", target.parent, ignore_cleanup_errors=True)
        with own as folder:
            part = Path(folder, "part")
            yield part
            with _named(target):  # a database may have been made there meanwhile
                part.replace(target)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Raise `DedupError` if *path* is a database or belongs to one, or cannot be written."""
    try:
        if is_database(path) or is_beside_database(path):
            raise DedupError(f"{path} is an index or belongs to a database; write to another file")
        yield
    except OSError as error:
        raise DedupError(f"{path} cannot be written: {error.strerror or error}") from error


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)
