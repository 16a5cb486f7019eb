"""The file of marks of an index: what somebody has said about pairs and places in the HTML report."""

from __future__ import annotations

import csv
from dataclasses import replace
from os import PathLike
from pathlib import Path

from dedup.files.outputs import replacing
from dedup.model.address import is_address
from dedup.model.errors import ConfigError, shown
from dedup.model.marks import Exceptions, Marks, said_by
from dedup.reading.noise import MarkedPlaces
from dedup.settings import DedupSettings

NAMES = ("page", "other", "says")


def marks_of(place: str | PathLike[str]) -> Path:
    """Return the path of the marks of the index at *place*: beside it; of one on a server, here.

    >>> marks_of("crawls/pages.db").as_posix(), marks_of("postgresql://db.example/pages").name
    ('crawls/pages.marks.csv', 'marks.csv')
    """
    return Path("marks.csv") if is_address(place) else Path(place).with_suffix(".marks.csv")


def with_marks(settings: DedupSettings, place: str | PathLike[str]) -> DedupSettings:
    """Return *settings* with the marks of the index at *place*; raises `ConfigError` for a bad file."""
    exceptions = read_marks(marks_of(place))[1]
    return replace(settings, config=replace(settings.config, exceptions=exceptions))


def read_marks(path: Path) -> tuple[Marks, Exceptions]:
    """Return the file at *path* with all of its columns, and what it says; none if there is no file.

    It is CSV with a header, in UTF-8, with the columns `NAMES`.  Raises `ConfigError` with the line.
    """
    if not path.exists():
        return Marks(), Exceptions()
    name, line, rows, said = f"marks ({shown(str(path))})", "", [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = tuple(reader.fieldnames or ())
            if missing := [column for column in NAMES if column not in columns]:
                raise ConfigError(f"must have the columns {', '.join(NAMES)}; there is no {missing[0]}")
            for row in reader:
                line = f", line {reader.line_num}:"
                rows.append(tuple(row[column] or "" for column in columns))
                said.append(said_by(row))
                MarkedPlaces(Exceptions.of(said[-1:]))
        line = ":"
        return Marks(columns, tuple(rows)), Exceptions.of(said)
    except ConfigError as error:
        raise ConfigError(f"{name}{line} {error}") from None
    except (OSError, csv.Error, ValueError) as error:
        raise ConfigError(f"{name} cannot be read as CSV in UTF-8: {error}") from error


def write_marks(path: Path, marks: Marks) -> None:
    """Write *marks* to the file *path*, as a whole or not at all; raises `DedupError`."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((marks.columns, *marks.rows))
