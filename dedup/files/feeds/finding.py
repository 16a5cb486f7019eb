"""Finds the feeds behind paths, by the names of files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dedup.files.feeds.base import Feed
from dedup.files.feeds.csv_rows import CsvRows
from dedup.files.feeds.html_files import HtmlFiles
from dedup.files.feeds.json_lines import JsonLines
from dedup.files.feeds.parquet import ParquetRows
from dedup.files.feeds.warc import WebArchive
from dedup.reading.fields import FieldRule
from dedup.values.errors import DedupError
from dedup.values.urls import valid

# The endings of each format's names, without ".gz".
FORMATS: dict[str, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".jl", ".ndjson"),
    "csv": (".csv", ".tsv"),
    "html": (".html", ".htm", ".xhtml"),
    "warc": (".warc", ".wet"),
    "parquet": (".parquet", ".pq"),
}
_COMPRESSED = frozenset(("jsonl", "csv", "warc"))
_FEEDS: dict[str, type[Feed]] = {
    "jsonl": JsonLines,
    "csv": CsvRows,
    "warc": WebArchive,
    "parquet": ParquetRows,
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """The *feeds* behind *paths*, in that order.

    *troubles* has a line for each folder that could not be read, *left_out* is the number of files in
    folders whose names show no format.
    """

    paths: list[Path] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    left_out: int = 0


def format_of(path: Path) -> str:
    """Return the format that the name of *path* shows, "" for none.

    >>> format_of(Path("pages.jsonl.gz")), format_of(Path("notes.txt"))
    ('jsonl', '')
    """
    name = path.name.lower()
    plain = name.removesuffix(".gz")
    for form, endings in FORMATS.items():
        if plain.endswith(endings) and (plain == name or form in _COMPRESSED):
            return form
    return ""


def find_feeds(paths: Iterable[Path], rule: FieldRule, form: str = "") -> Inputs:
    """Return the feeds in files and folders, inner ones too, in the order of their names.

    All files are of the format *form*, a key of `FORMATS`, if given.  Consecutive files of HTML are one
    feed.  Raises `DedupError` for a file given by name whose format is not known.
    """
    paths = list(paths)
    folders = [path for path in paths if path.is_dir()]
    troubles: list[str] = []
    files: list[_Found] = []
    left_out = 0
    for path in paths:
        if not path.is_dir():
            files.append(_Found(path, path.name, form or _known(path), _site(path.parent)))
            continue
        prefix = path.resolve().name if len(folders) > 1 else ""
        for file in files_in(path, troubles):
            if kind := form or format_of(file):
                relative = os.path.join(prefix, file.relative_to(path))
                files.append(_Found(file, relative, kind, _site(path)))
            else:
                left_out += 1
    return Inputs(paths, _feeds(files, rule), troubles, left_out)


class _Found(NamedTuple):
    """A file, its path in an output folder, its format, and the folder that is the site of its pages."""

    path: Path
    relative: str
    form: str
    site: str


def _site(folder: Path) -> str:
    return valid(folder.absolute().as_posix())


def _feeds(files: list[_Found], rule: FieldRule) -> list[Feed]:
    feeds: list[Feed] = []
    for path, relative, form, site in files:
        if form != "html":
            feeds.append(_FEEDS[form](path, rule))
        elif feeds and isinstance(feeds[-1], HtmlFiles):
            feeds[-1].entries.append((path, relative, site))
        else:
            feeds.append(HtmlFiles(path, rule, [(path, relative, site)]))
    return feeds


def _known(path: Path) -> str:
    if form := format_of(path):
        return form
    endings = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise DedupError(
        f"{path} has a name that shows no format ({endings}, some of them with .gz); "
        "name the format with --format"
    )


def files_in(folder: Path, troubles: list[str]) -> Iterable[Path]:
    """Yield the files in *folder* and inner ones; folders that cannot be read become *troubles*."""

    def note(error: OSError) -> None:
        troubles.append(f"{error.filename} cannot be read: {error.strerror}")

    for place, folders, names in os.walk(folder, onerror=note):
        folders.sort()
        links = (link for name in folders if (link := Path(place, name)).is_symlink())
        troubles += [
            f"{link} is a link to a folder elsewhere, which must be named itself"
            for link in links
            if not link.resolve().is_relative_to(folder.resolve())
        ]
        files = (Path(place, name) for name in sorted(names))
        # Reading a pipe might never end; what is not there is reported when it is read.
        yield from (file for file in files if file.is_file() or not file.exists())
