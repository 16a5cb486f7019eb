"""The file of exceptions: what somebody has said about pairs of pages, as the HTML report saves it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dedup.files.outputs import replacing
from dedup.values.errors import ConfigError, shown
from dedup.values.exceptions import Exceptions, Marks, Said

NAMES = Said._fields


def read_exceptions(value: Any) -> Exceptions:
    """Return what stands in the file at the path *value*; raises `ConfigError` with the line.

    It is CSV with a header, in UTF-8; other columns than `NAMES` are passed over.  An empty path is
    that of no file.
    """
    if isinstance(value, Exceptions):
        return value
    return _read(value)[1] if value else Exceptions()


def read_marks(value: Any) -> Marks:
    """Return the file at the path *value* as it stands, with all of its columns; raises `ConfigError`.

    It must be one that `read_exceptions` reads.
    """
    return _read(value)[0]


def write_marks(path: Path, marks: Marks) -> None:
    """Write *marks* to the file *path*, as a whole or not at all; raises `DedupError`."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((marks.columns, *marks.rows))


def _read(value: Any) -> tuple[Marks, Exceptions]:
    name = f"exceptions ({shown(str(value))})"
    line = ""
    try:
        with Path(value).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = tuple(reader.fieldnames or ())
            if missing := [column for column in NAMES if column not in columns]:
                raise ConfigError(f"must have the columns {', '.join(NAMES)}; there is no {missing[0]}")
            rows, said = [], []
            for row in reader:
                line = f", line {reader.line_num}:"
                rows.append(tuple(row[column] or "" for column in columns))
                said.append(Said(*((row[column] or "").strip() for column in NAMES)))
                Exceptions.of(said[-1:])
            line = ":" if rows else ""
            return Marks(columns, tuple(rows)), Exceptions.of(said)
    except ConfigError as error:
        raise ConfigError(f"{name}{line} {error}") from None
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    except (csv.Error, UnicodeError, ValueError) as error:
        raise ConfigError(f"{name} must be CSV in UTF-8: {error}") from error
