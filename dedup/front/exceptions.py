"""The file of exceptions: what somebody has said about pairs of pages, as the HTML report saves it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dedup.files.outputs import replacing
from dedup.values.errors import ConfigError, shown
from dedup.values.exceptions import Exceptions, Marks, Said

NAMES = Said._fields

T = TypeVar("T")


def read_exceptions(value: Any) -> Exceptions:
    """Return what stands in the file at the path *value*; raises `ConfigError` with the line.

    It is CSV with a header, in UTF-8; other columns than `NAMES` are passed over.  An empty path is
    that of no file.
    """
    if isinstance(value, Exceptions):
        return value
    if not value:
        return Exceptions()
    return _read_file(value, _exceptions)


def read_marks(value: Any) -> Marks:
    """Return the file at the path *value* as it stands, with all of its columns; raises `ConfigError`.

    It must be one that `read_exceptions` reads.
    """
    read_exceptions(value)
    return _read_file(value, _marks)


def write_marks(path: Path, marks: Marks) -> None:
    """Write *marks* to the file *path*, as a whole or not at all; raises `DedupError`."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((marks.columns, *marks.rows))


def _read_file(value: Any, read: Callable[[str, csv.DictReader[str]], T]) -> T:
    name = shown(str(value))
    try:
        with Path(value).open(encoding="utf-8-sig", newline="") as file:
            return read(name, csv.DictReader(file, strict=True))
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"exceptions ({name}) cannot be read: {error.strerror}") from error
    except (csv.Error, UnicodeError, ValueError) as error:
        raise ConfigError(f"exceptions ({name}) must be CSV in UTF-8: {error}") from error


def _marks(_: str, rows: csv.DictReader[str]) -> Marks:
    columns = tuple(rows.fieldnames or ())
    return Marks(columns, tuple(tuple(row[name] or "" for name in columns) for row in rows))


def _exceptions(name: str, rows: csv.DictReader[str]) -> Exceptions:
    if missing := [column for column in NAMES if column not in (rows.fieldnames or ())]:
        columns = f"must have the columns {', '.join(NAMES)}"
        raise ConfigError(f"exceptions ({name}) {columns}; there is no {missing[0]}")
    said: list[Said] = []
    for row in rows:
        said.append(Said(*((row[column] or "").strip() for column in NAMES)))
        try:
            Exceptions.of(said[-1:])
        except ConfigError as error:
            raise ConfigError(f"exceptions ({name}), line {rows.line_num}: {error}") from None
    try:
        return Exceptions.of(said)
    except ConfigError as error:
        raise ConfigError(f"exceptions ({name}): {error}") from None
