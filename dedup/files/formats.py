"""Formats of files: their records, read in order, and written again as they were read.

Web archives are in `dedup.files.warc`; `dedup.files.adding` finds the feeds behind paths.
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
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

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
    """A record of a *feed*; *name* says in messages where it is.

    *source* is what `Feed.sink` writes.  *payload* is what `Feed.raw_page` takes, or why it cannot, or
    None where there is nothing to judge; *size* is about how many bytes that has.
    """

    feed: Feed
    name: str
    source: Any
    payload: Any = None
    size: int = 0


@dataclass
class Feed(ABC):
    """The records of the file *name*, as `FieldRule` says; *share* (0 to 1) is how much has been read.

    *relative* is its path in an output folder, *site* the folder that was asked for.  The names of its
    files have one of the *endings*, and ".gz" after it if they *may_be_compressed*.  If it
    *has_pages_only* every record counts as a page, even an empty one, else only what holds one.
    """

    form: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    may_be_compressed: ClassVar[bool] = False
    has_pages_only: ClassVar[bool] = True

    name: str
    rule: FieldRule
    relative: str
    site: str
    share: float = 0.0

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield the records; raises `FeedError` where it cannot be read further."""

    @staticmethod
    def raw_page(payload: Any, rule: FieldRule) -> RawPage | None:
        """Return the page that a record holds, None for none; other processes call it.

        Raises `BadRecord`.
        """
        return raw_page_of(payload, rule)

    @abstractmethod
    def sink(self, path: Path, *, compressed: bool) -> AbstractContextManager[Write]:
        """Open *path* for records of this feed and of others of the same `likeness`."""

    def likeness(self) -> Any:
        """Return what must be equal in feeds that are written to one file; raises `FeedError`."""
        return b""

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file; raises `FeedError` where it cannot be read further."""
        try:
            with open(self.name, "rb") as file:
                yield file
        except (OSError, EOFError, zlib.error, ValueError, NotImplementedError) as error:
            raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def check_columns(self, there: Sequence[str]) -> None:
        """Raise `FeedError` if a column that the rule names is not *there*, or none is."""
        missing = ", ".join(sorted(set(self.rule.text_fields) - set(there)))
        if missing or not there:
            known = ", ".join(there)
            raise FeedError(f"{self.name} has no column {missing or 'at all'}; it has {known}")


def is_compressed(path: Path | str) -> bool:
    """Return whether *path* is compressed with gzip, by its name."""
    return str(path).lower().endswith(".gz")


class Lines(Feed):
    """A file of lines; its `likeness` is what an output begins with."""

    may_be_compressed = True

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines, each with its end, and their numbers, from 1.

        Raises `FeedError` at one of more than `MAX_RECORD` bytes, or where gzip is damaged or cut off.
        """
        with self.opened() as file:
            size = os.fstat(file.fileno()).st_size or 1
            lines: Any = gzip.GzipFile(fileobj=file) if is_compressed(self.name) else file
            for number, line in enumerate(iter(partial(lines.readline, MAX_RECORD + 1), b""), 1):
                self.share = file.tell() / size
                if len(line) > MAX_RECORD:
                    long = f"line {number:,} has more than {MAX_RECORD:,} bytes"
                    raise FeedError(f"{self.name}, {long}: it is not read from there on")
                yield number, line

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:
        with (
            path.open("wb") as file,
            # Equal input gives equal output: it has no time.
            gzip.GzipFile("", "wb", 6, file, mtime=0) if compressed else file as out,
        ):
            out.write(self.likeness())
            yield lambda text: out.write(text if text.endswith(b"\n") else text + b"\n")


class JsonLines(Lines):
    """A file with a JSON object on each line; empty lines are skipped."""

    form = "jsonl"
    endings = (".jsonl", ".jl", ".ndjson")

    def records(self) -> Iterator[Record]:
        for number, line in self.lines():
            if line.strip():
                yield Record(self, f"{self.name}, line {number:,}", line, line, len(line))

    @staticmethod
    def raw_page(payload: bytes, rule: FieldRule) -> RawPage | None:
        try:
            record = json.loads(payload.removeprefix(BOM_UTF8).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"is not valid JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadRecord(f"is not a JSON object but a {type(record).__name__}")
        return raw_page_of(record, rule)


_DELIMITERS = (",", ";", "\t", "|")
# A longer line is not taken for a header: its names would fill the memory.
_MAX_HEADER = 128 * 1024


class CsvRows(Lines):
    """A file of comma-separated values (or of one of `_DELIMITERS`, by its first line), in UTF-8.

    After a row that is not valid, or so long that a quotation mark must be missing, a new one begins.
    """

    form = "csv"
    endings = (".csv", ".tsv")

    def likeness(self) -> bytes:
        """Return the line of the header."""
        return next(self.lines(), (0, b""))[1]

    def _header(self) -> tuple[list[str], str]:
        """Return the columns by the delimiter that makes most of them, and that one."""
        line = self.likeness()
        text = line.decode("utf-8-sig", "surrogateescape").rstrip("\r\n")
        if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise FeedError(f"{self.name} is in UTF-16; convert it to UTF-8")
        if "\r" in text:
            raise FeedError(f"{self.name} has lines that end in carriage returns; convert it")
        if len(line) > _MAX_HEADER:
            raise FeedError(f"{self.name} has no valid header: its first line is too long")
        found = [(next(csv.reader([text], delimiter=one), []), one) for one in _DELIMITERS]
        return max(found, key=lambda header: len(header[0]))

    def records(self) -> Iterator[Record]:
        columns, delimiter = self._header()
        self.check_columns(columns)
        csv.field_size_limit(max(MAX_RECORD, csv.field_size_limit()))  # of the whole process
        lines = islice(self.lines(), 1, None)
        while True:
            row: list[tuple[int, bytes]] = []
            payload: tuple[list[str], list[str]] | BadRecord
            try:
                payload = columns, next(csv.reader(_noted(lines, row), delimiter=delimiter, strict=True))
            except StopIteration:
                return
            except csv.Error as error:
                payload = BadRecord(f"is not valid CSV: {error}")
            if payload != (columns, []):  # an empty line
                text = b"".join(line for _, line in row)
                yield Record(self, f"{self.name}, line {row[0][0]:,}", text, payload, len(text))

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


def _noted(lines: Iterator[tuple[int, bytes]], row: list[tuple[int, bytes]]) -> Iterator[str]:
    """Yield the text of *lines*, which are noted in *row*, as long as they can be one."""
    size = 0
    for number, line in lines:
        row.append((number, line))
        size += len(line)
        if size > MAX_RECORD:
            raise csv.Error("a quotation mark or a line end is missing")
        yield line.decode("utf-8", "surrogateescape")


class HtmlFile(Feed):
    """A page in a file: its URL is that of the file, its site the folder that was asked for."""

    form = "html"
    endings = (".html", ".htm", ".xhtml")

    def records(self) -> Iterator[Record]:
        # What is not there is reported when it is read.
        self.share, size = 1.0, os.path.getsize(self.name) if os.path.exists(self.name) else 0
        yield Record(self, self.name, (self.name, self.relative), (self.name, self.site), size)

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


_ROWS = 64
# Rows are written in large groups: of so many rows, or of fewer with so many bytes.
_GROUP_ROWS, _GROUP_BYTES = 10_000, 32 * 1024 * 1024


class ParquetRows(Feed):
    """A Parquet file; a row is a record, its columns are fields."""

    form = "parquet"
    endings = (".parquet", ".pq")

    @contextmanager
    def _read(self) -> Iterator[Any]:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            how = "Parquet is read with pyarrow; install it with: pip install pyarrow"
            raise DedupError(how) from error
        with self.opened(), ParquetFile(self.name) as file:
            yield file

    def likeness(self) -> Any:
        """Return the schema."""
        with self._read() as file:
            return file.schema_arrow

    def records(self) -> Iterator[Record]:
        with self._read() as file:
            names = file.schema_arrow.names
            self.check_columns(names)
            if twice := ", ".join(sorted({name for name in names if names.count(name) > 1})):
                raise FeedError(f"{self.name} has more than one column {twice}")
            groups = range(file.num_row_groups)  # one by one, or all stay in memory
            batches = (rows for group in groups for rows in file.iter_batches(_ROWS, [group]))
            places = ((rows, index) for rows in batches for index in range(rows.num_rows))
            for number, (rows, index) in enumerate(places, 1):
                self.share, name = number / file.metadata.num_rows, f"{self.name}, row {number:,}"
                try:
                    (payload,) = rows.slice(index, 1).to_pylist()
                except (ValueError, OverflowError) as error:  # no UTF-8, or no date
                    payload = BadRecord(f"cannot be read: {error}")
                yield Record(self, name, (rows, index), payload, rows.nbytes // rows.num_rows)

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        held: list[Any] = []
        last, size, schema = None, 0, self.likeness()
        from pyarrow import Table
        from pyarrow.parquet import ParquetWriter

        def write(source: tuple[Any, int]) -> None:
            nonlocal last, size
            if len(held) >= _GROUP_ROWS or size > _GROUP_BYTES:
                writer.write_table(Table.from_batches(held, schema))
                held.clear()
                size = 0
            rows, index = source
            if rows is not last:  # a row holds all that was read with it
                last, size = rows, size + rows.nbytes
            held.append(rows.slice(index, 1))

        with ParquetWriter(path, schema) as writer:
            yield write
            if held:
                writer.write_table(Table.from_batches(held, schema))
