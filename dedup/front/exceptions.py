"""The file of exceptions: what somebody has said about pairs of pages, as the HTML report saves it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dedup.values.errors import ConfigError, shown
from dedup.values.exceptions import Exceptions, Said

NAMES = ("page", "other", "says")


def read_exceptions(value: Any) -> Exceptions:
    """Return what stands in the file at the path *value*; raises `ConfigError` with the line.

    It is CSV with a header, in UTF-8; other columns than `NAMES` are passed over.  An empty path is
    that of no file.
    """
    if isinstance(value, Exceptions):
        return value
    if not value:
        return Exceptions()
    name = shown(str(value))
    try:
        with Path(value).open(encoding="utf-8-sig", newline="") as file:
            return _read(name, csv.DictReader(file, strict=True))
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"exceptions ({name}) cannot be read: {error.strerror}") from error
    except (csv.Error, UnicodeError, ValueError) as error:
        raise ConfigError(f"exceptions ({name}) must be CSV in UTF-8: {error}") from error


def _read(name: str, rows: csv.DictReader[str]) -> Exceptions:
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
