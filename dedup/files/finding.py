"""Finds the feeds behind paths, by the names of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dedup.files.formats import CsvRows, Feed, HtmlFiles, JsonLines, ParquetRows
from dedup.files.warc import WebArchive
from dedup.model.errors import DedupError
from dedup.model.urls import valid
from dedup.reading.fields import FieldRule

FORMATS: dict[str, type[Feed]] = {
    kind.form: kind for kind in (JsonLines, CsvRows, HtmlFiles, WebArchive, ParquetRows)
}


@dataclass(slots=True)
class Inputs:
    """The *feeds* behind *paths*, in that order, read by a *rule*.

    *troubles* has a line for each folder or file that could not be read to its end, *left_out* is the
    number of files in folders whose names show no format, and of links to folders.
    """

    paths: list[Path]
    rule: FieldRule
    feeds: list[Feed] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    left_out: int = 0


def format_of(path: Path | str) -> str:
    """Return the format that the name of *path* shows, "" for none.

    >>> format_of(Path("pages.jsonl.gz")), format_of(Path("notes.txt"))
    ('jsonl', '')
    """
    name = os.path.basename(path).lower()
    plain = name.removesuffix(".gz")
    for form, kind in FORMATS.items():
        if plain.endswith(kind.endings) and (plain == name or kind.may_be_compressed):
            return form
    return ""


def find_feeds(paths: Iterable[Path], rule: FieldRule, form: str = "") -> Inputs:
    """Return the feeds in files and folders, inner ones too, in the order of their names.

    All files are of that *form* if given, "jsonl" and so on.  Consecutive files of HTML are one feed.
    Raises `DedupError` for a file given by name whose format is not known.
    """
    found = Inputs(list(paths), rule)
    feeds = found.feeds
    for path in found.paths:
        is_folder = path.is_dir()
        site = valid((path if is_folder else path.parent).absolute().as_posix())
        for file, relative in _files_in(path, found) if is_folder else [(str(path), path.name)]:
            kind = form or format_of(file)
            if not kind and not is_folder:
                endings = ", ".join(ending for kind in FORMATS.values() for ending in kind.endings)
                raise DedupError(
                    f"{path} has a name that shows no format ({endings}, some of them with .gz); "
                    "unpack it, or name the format with --format"
                )
            found.left_out += not kind
            if kind and (kind != "html" or not feeds or feeds[-1].form != "html"):
                feeds.append(FORMATS[kind](Path(file), rule))
            if kind == "html" and isinstance(feeds[-1], HtmlFiles):
                feeds[-1].entries.append((file, relative, site))
    return found


# Not paths: to make them and take them apart costs as much as to read a small file.
def _files_in(folder: Path, found: Inputs) -> Iterator[tuple[str, str]]:
    """Yield the files in *folder* and inner ones, each with its path there."""

    def note(error: OSError) -> None:
        found.troubles.append(f"{error.filename} cannot be read: {error.strerror}")

    begin = os.path.join(folder, "")
    for place, folders, names in os.walk(folder, onerror=note):
        folders.sort()
        found.left_out += sum(os.path.islink(os.path.join(place, name)) for name in folders)
        for name in sorted(names):
            file = os.path.join(place, name)
            # Reading a pipe might never end; what is not there is reported when it is read.
            if os.path.isfile(file) or not os.path.exists(file):
                relative = file[len(begin) :]
                yield relative if folder == Path() else file, relative
