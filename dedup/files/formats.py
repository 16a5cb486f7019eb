"""Formats of files: their records, read in order, and written again as they were read.

A `Feed` yields its records (`Feed.records`), gives the page in a record (`Feed.raw_page`, a function
that can be sent to other processes), and opens an output that takes records as they were read
(`Feed.sink`).  Web archives are in `dedup.files.warc`, and `dedup.files.finding` finds feeds.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import zlib
from abc import ABC, abstractmethod
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, ClassVar

from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage, raw_page_of

# A record of more bytes than this is not judged: a file without line ends would fill the memory.
MAX_RECORD = 64 * 1024 * 1024

Write = Callable[[Any], object]
"""Writes the `Record.source` of a record; raises `FeedError` if it can no longer be read."""


class FeedError(DedupError):
    """A file that cannot be read, or not beyond this place."""


class BadRecord(DedupError):  # noqa: N818 - it says what is the matter
    """One record that cannot be read; the next one can."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a feed.

    *name* says in messages where it is.  *source* is what a `Feed.sink` writes, None where nothing whole
    can be written.  *payload* is what `Feed.raw_page` takes, None for what is no page or has a
    *problem*; *size* is its approximate number of bytes.
    """

    name: str
    source: Any
    payload: Any = None
    size: int = 0
    problem: str = ""


class Feed(ABC):
    """The records of the file *path*; *share* (0 to 1) is how much of it has been read."""

    form: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    """How the names of its files end, without ".gz"."""
    may_be_compressed: ClassVar[bool] = False
    """Whether files with ".gz" after that are read, too."""
    has_pages_only: ClassVar[bool] = True
    """Whether every record counts as a page, even when it is empty, or only those that hold a page."""

    def __init__(self, path: Path, rule: FieldRule) -> None:
        self.path, self.name, self.rule = path, str(path), rule
        self.share = 0.0

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield the records; raises `FeedError` where it cannot be read further."""

    @staticmethod
    def raw_page(payload: Any, rule: FieldRule) -> RawPage | None:
        """Return the page that a record holds, None for none; raises `BadRecord`."""
        return raw_page_of(payload, rule)

    @abstractmethod
    def sink(self, path: Path, *, compressed: bool) -> AbstractContextManager[Write]:
        """Open *path* for records of this feed and of others of the same `likeness`."""

    def likeness(self) -> object:
        """Return what must be equal in feeds that are written to one file; raises `FeedError`."""
        return None

    def check_columns(self, there: Sequence[str]) -> None:
        """Raise `FeedError` if a column that the rule names is not *there*, or none is."""
        missing = ", ".join(sorted(set(self.rule.text_fields) - set(there)))
        if missing or not there:
            raise FeedError(
                f"{self.name} has no column {missing or 'at all'}; it has {', '.join(there)}"
            )


# Lines


def is_compressed(path: Path) -> bool:
    """Return whether *path* is compressed with gzip, by its name."""
    return path.suffix.lower() == ".gz"


def packed(file: IO[bytes]) -> gzip.GzipFile:
    """Return *file* for what is to be compressed: equal input gives equal output, it has no time."""
    return gzip.GzipFile("", "wb", 6, file, mtime=0)


def read_lines(feed: Feed) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a feed's file, each with its end, and their numbers, from 1.

    Raises `FeedError` where it cannot be read further: at a line of more than `MAX_RECORD` bytes, or
    where gzip is damaged or cut off; the lines before that, as far as they are whole, come first.
    """
    try:
        with feed.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size or 1
            lines: Any = gzip.GzipFile(fileobj=file, mode="rb") if is_compressed(feed.path) else file
            for number in count(1):
                line = lines.readline(MAX_RECORD + 1)
                feed.share = file.tell() / size
                if not line:
                    return
                if len(line) > MAX_RECORD:
                    raise FeedError(
                        f"{feed.name}, line {number:,} has more than {MAX_RECORD:,} bytes: "
                        "it is not read from there on"
                    )
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise FeedError(f"{feed.name} cannot be read to its end: {error}") from error


@contextmanager
def line_sink(path: Path, *, compressed: bool, head: bytes = b"") -> Iterator[Write]:
    """Open *path* for lines, which begin with *head*; one without an end gets one before the next."""
    ends = True
    with path.open("wb") as file, packed(file) if compressed else file as out:

        def write(text: bytes) -> None:
            nonlocal ends
            out.write(text if ends else b"\n" + text)
            ends = text.endswith(b"\n") or not text

        write(head)
        yield write


class JsonLines(Feed):
    """A file with a JSON object on each line; empty lines are skipped."""

    form = "jsonl"
    endings = (".jsonl", ".jl", ".ndjson")
    may_be_compressed = True

    def records(self) -> Iterator[Record]:
        for number, line in read_lines(self):
            if line.strip():
                yield Record(f"{self.name}, line {number:,}", line, line, len(line))

    @staticmethod
    def raw_page(payload: bytes, rule: FieldRule) -> RawPage | None:
        try:
            record = json.loads(payload.removeprefix(BOM_UTF8).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"is not valid JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadRecord(f"is not a JSON object but a {type(record).__name__}")
        return raw_page_of(record, rule)

    def sink(self, path: Path, *, compressed: bool) -> AbstractContextManager[Write]:
        return line_sink(path, compressed=compressed)


_DELIMITERS = (",", ";", "\t", "|")
# A longer line is not taken for a header: its names would fill the memory.
_MAX_HEADER = 128 * 1024


class CsvRows(Feed):
    """A file of comma-separated values (or of one of `_DELIMITERS`, by its first line), in UTF-8.

    A row that is not valid CSV, or so long that a quotation mark must be missing, has a problem; the
    next line begins a new one.
    """

    form = "csv"
    endings = (".csv", ".tsv")
    may_be_compressed = True

    def likeness(self) -> object:
        return self._header()[2]

    def records(self) -> Iterator[Record]:
        columns, delimiter, _ = self._header()
        self.check_columns(columns)
        csv.field_size_limit(max(MAX_RECORD, csv.field_size_limit()))  # of the whole process
        lines, row_lines = read_lines(self), list[tuple[int, bytes]]()
        next(lines, None)

        def texts() -> Iterator[str]:
            size = 0
            for number, line in lines:
                row_lines.append((number, line))
                size += len(line)
                if size > MAX_RECORD:
                    raise csv.Error("a quotation mark or a line end is missing")
                yield line.decode("utf-8", "surrogateescape")

        while True:
            row_lines.clear()
            problem, payload = "", None
            try:
                payload = columns, next(csv.reader(texts(), delimiter=delimiter, strict=True))
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"is not valid CSV: {error}"
            if problem or (payload and payload[1]):
                text = b"".join(line for _, line in row_lines)
                name = f"{self.name}, line {row_lines[0][0]:,}"
                yield Record(name, text, payload, len(text), problem)

    def _header(self) -> tuple[list[str], str, bytes]:
        """Return the columns by the delimiter that makes most of them, that one, and their line."""
        _, line = next(read_lines(self), (0, b""))
        text = line.decode("utf-8-sig", "surrogateescape").rstrip("\r\n")
        if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise FeedError(f"{self.name} is in UTF-16; convert it to UTF-8")
        if "\r" in text:
            raise FeedError(f"{self.name} has lines that end in carriage returns; convert it")
        if len(line) > _MAX_HEADER:
            raise FeedError(f"{self.name} has no valid header: its first line is too long")
        found = [(next(csv.reader([text], delimiter=one), []), one) for one in _DELIMITERS]
        return *max(found, key=lambda header: len(header[0])), line

    @staticmethod
    def raw_page(payload: tuple[list[str], list[str]], rule: FieldRule) -> RawPage | None:
        columns, row = payload
        if len(row) != len(columns):
            raise BadRecord(f"has {len(row)} cells for {len(columns)} columns")
        try:
            "".join(row).encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadRecord("is not in UTF-8") from error
        return raw_page_of(dict(zip(columns, row, strict=True)), rule)

    def sink(self, path: Path, *, compressed: bool) -> AbstractContextManager[Write]:
        return line_sink(path, compressed=compressed, head=self._header()[2])


class HtmlFiles(Feed):
    """Pages in files; *entries* are the path of each, its path in an output folder, and its site.

    The URL of a page is that of its file, its site is the folder that was asked for.
    """

    form = "html"
    endings = (".html", ".htm", ".xhtml")

    def __init__(self, path: Path, rule: FieldRule) -> None:
        super().__init__(path, rule)
        self.entries: list[tuple[str, str, str]] = []

    def records(self) -> Iterator[Record]:
        for number, (path, relative, site) in enumerate(self.entries, 1):
            self.share = number / len(self.entries)
            # What is not there is reported when it is read.
            size = os.stat(path).st_size if os.path.exists(path) else 0
            yield Record(path, (path, relative), (path, site), size)

    @staticmethod
    def raw_page(payload: tuple[str, str], rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        path, site = payload
        try:
            with open(path, "rb") as file:
                html = file.read(MAX_RECORD + 1)
        except OSError as error:
            raise BadRecord(f"cannot be read: {error.strerror}") from error
        if len(html) > MAX_RECORD:
            raise BadRecord(f"has more than {MAX_RECORD:,} bytes")
        return RawPage(html=html, url=Path(path).absolute().as_uri(), seen_on=site)

    def likeness(self) -> object:
        """Raise `FeedError` for two files that would be the same one in the output."""
        seen: dict[str, str] = {}
        for path, relative, _ in self.entries:
            if (other := seen.setdefault(relative, path)) != path:
                raise FeedError(f"{other} and {path} would both be {relative} in the output")
        return None

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        def write(source: tuple[str, str]) -> None:
            file, copy = source[0], path / source[1]
            if not os.access(file, os.R_OK):
                raise FeedError(f"{file} cannot be read")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)

        path.mkdir(parents=True)
        yield write


# Those of Arrow are kinds of these.
_READ_ERRORS = (OSError, ValueError, NotImplementedError)
_ROWS = 64
# Rows are written in large groups: of so many rows, or of fewer with so many bytes.
_GROUP_ROWS, _GROUP_BYTES = 10_000, 32 * 1024 * 1024


class ParquetRows(Feed):
    """A Parquet file; a row is a record, its columns are fields."""

    form = "parquet"
    endings = (".parquet", ".pq")

    def likeness(self) -> object:
        with self._opened() as file:
            return file.schema_arrow

    def records(self) -> Iterator[Record]:
        with self._opened() as file:
            names = file.schema_arrow.names
            self.check_columns(names)
            if twice := ", ".join(sorted({name for name in names if names.count(name) > 1})):
                raise FeedError(f"{self.name} has more than one column {twice}")
            number = 0
            try:
                groups = ([group] for group in range(file.num_row_groups))  # else all stay in memory
                for rows in chain.from_iterable(file.iter_batches(_ROWS, one) for one in groups):
                    for index in range(rows.num_rows):
                        number += 1
                        self.share = number / file.metadata.num_rows
                        yield self._record(rows, index, number)
            except _READ_ERRORS as error:
                raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _record(self, rows: Any, index: int, number: int) -> Record:
        name = f"{self.name}, row {number:,}"
        try:
            (values,) = rows.slice(index, 1).to_pylist()
        except (ValueError, OverflowError) as error:  # text that is not UTF-8, a date that is none
            return Record(name, (rows, index), problem=f"cannot be read: {error}")
        return Record(name, (rows, index), values, rows.nbytes // rows.num_rows)

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        import pyarrow

        held: list[Any] = []
        last, size, schema = None, 0, self.likeness()

        def flush() -> None:
            nonlocal size
            if held:
                writer.write_table(pyarrow.Table.from_batches(held, schema))
                held.clear()
            size = 0

        def write(source: tuple[Any, int]) -> None:
            nonlocal last, size
            rows, index = source
            if rows is not last:  # a row holds all that was read with it
                last, size = rows, size + rows.nbytes
            held.append(rows.slice(index, 1))
            if len(held) >= _GROUP_ROWS or size > _GROUP_BYTES:
                flush()

        with _parquet().ParquetWriter(path, schema) as writer:
            yield write
            flush()

    def _opened(self) -> Any:
        try:
            return _parquet().ParquetFile(self.path)
        except _READ_ERRORS as error:
            raise FeedError(f"{self.name} cannot be read: {error}") from error


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DedupError(
            'Parquet is read with pyarrow; install it with: pip install "scrapy-dedup[parquet]"'
        ) from error
    return pyarrow.parquet
