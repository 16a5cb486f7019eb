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
import re
import shutil
import zlib
from abc import ABC, abstractmethod
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

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
    *problem*; *size* is its approximate number of bytes.  *names* are what others call it, *repeats*
    what it calls the record that it is nothing without.
    """

    name: str
    source: Any
    payload: Any = None
    size: int = 0
    problem: str = ""
    names: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()


class Feed(ABC):
    """The records of the file *path*; a second reading of the unchanged file yields the same ones."""

    form: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    """How the names of its files end, without ".gz"."""
    may_be_compressed: ClassVar[bool] = False
    """Whether files with ".gz" after that are read, too."""
    has_pages_only: ClassVar[bool] = True
    """Whether every record counts as a page, even when it is empty, or only those that hold a page."""

    def __init__(self, path: Path, rule: FieldRule) -> None:
        self.path = path
        self.name = str(path)
        self.rule = rule
        self.share = 0.0
        """The share (0 to 1) of the file that has been read."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield the records; raises `FeedError` where it cannot be read further."""

    @staticmethod
    @abstractmethod
    def raw_page(payload: Any, rule: FieldRule) -> RawPage | None:
        """Return the page that a record holds, None for none; raises `BadRecord`."""

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
    # Without name and time, so that equal input gives equal output.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) if compressed else nullcontext(file) as out,
    ):

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
        """Yield the lines."""
        for number, line in read_lines(self):
            if line.strip():
                yield Record(f"{self.name}, line {number:,}", line, line, len(line))

    @staticmethod
    def raw_page(payload: bytes, rule: FieldRule) -> RawPage | None:
        """Return the page in a line."""
        if payload.strip() == b"[":
            raise BadRecord("begins an array; JSON Lines have a record on each line and nothing else")
        try:
            record = json.loads(payload.removeprefix(BOM_UTF8).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"is not valid JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadRecord(f"is not a JSON object but a {type(record).__name__}")
        return raw_page_of(record, rule)

    def sink(self, path: Path, *, compressed: bool) -> AbstractContextManager[Write]:
        """Open *path* for lines."""
        return line_sink(path, compressed=compressed)


# CSV

_DELIMITERS = (",", ";", "\t", "|")
# A longer line is not taken for a header: its names would fill the memory.
_MAX_HEADER = 1024 * 1024


class CsvRows(Feed):
    """A file of comma-separated values (or of one of `_DELIMITERS`, by its header), in UTF-8."""

    form = "csv"
    endings = (".csv", ".tsv")
    may_be_compressed = True

    def likeness(self) -> object:
        """Return its header."""
        return b"".join(self._header()[2].texts)

    def records(self) -> Iterator[Record]:
        """Yield the rows after the header, as they are, those with cells of several lines too.

        A row that is not valid CSV, or so long that a quotation mark must be missing, has a problem;
        the next line begins a new one.
        """
        columns, delimiter, header = self._header()
        self.check_columns(columns)
        tape = _Tape(self, MAX_RECORD)
        for _ in header.texts:
            next(tape.lines)
        before = csv.field_size_limit()  # of the whole process
        try:
            while True:
                problem, row = "", []
                csv.field_size_limit(MAX_RECORD)
                try:
                    row = next(csv.reader(tape, delimiter=delimiter, strict=True))
                except StopIteration:
                    break
                except csv.Error as error:
                    problem = f"is not valid CSV: {error}"
                text = b"".join(tape.texts)
                if row or problem:
                    payload = None if problem else (columns, row)
                    yield Record(f"{self.name}, line {tape.first:,}", text, payload, len(text), problem)
                tape.texts.clear()
        finally:
            csv.field_size_limit(before)

    def _header(self) -> tuple[list[str], str, _Tape]:
        """Return the columns by the delimiter that makes most of them, that one, and their lines."""
        found = [self._header_by(delimiter) for delimiter in _DELIMITERS]
        columns, delimiter, tape = max(found, key=lambda header: len(header[0]))
        text = b"".join(tape.texts)
        if text.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise FeedError(f"{self.name} is in UTF-16; convert it to UTF-8")
        if b"\r" in text.removesuffix(b"\n").removesuffix(b"\r") and b"\n" not in text:
            raise FeedError(f"{self.name} has lines that end in carriage returns; convert it")
        return columns, delimiter, tape

    def _header_by(self, delimiter: str) -> tuple[list[str], str, _Tape]:
        tape = _Tape(self, _MAX_HEADER)
        texts = (text.removeprefix("\ufeff") for text in tape)
        try:
            columns = next(csv.reader(texts, delimiter=delimiter, strict=True), [])
        except csv.Error as error:  # a quotation mark is not closed: rows must not become names
            del tape.texts[1:]
            if len(tape.texts[0]) > _MAX_HEADER:
                raise FeedError(f"{self.name} has no header: its first line is too long") from error
            lines = tape.texts[0].decode("utf-8-sig", "surrogateescape").splitlines()
            try:
                columns = next(csv.reader(lines, delimiter=delimiter), [])
            except csv.Error as bad:
                raise FeedError(f"{self.name} has no valid header: {bad}") from bad
        return columns, delimiter, tape

    @staticmethod
    def raw_page(payload: tuple[list[str], list[str]], rule: FieldRule) -> RawPage | None:
        """Return the page in a row."""
        columns, row = payload
        if len(row) != len(columns):
            raise BadRecord(f"has {len(row)} cells for {len(columns)} columns")
        try:
            "".join(row).encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadRecord("is not in UTF-8") from error
        return raw_page_of(dict(zip(columns, row, strict=True)), rule)

    def sink(self, path: Path, *, compressed: bool) -> AbstractContextManager[Write]:
        """Open *path* for rows under the same header."""
        return line_sink(path, compressed=compressed, head=b"".join(self._header()[2].texts))


class _Tape(Iterator[str]):
    """The lines of *feed* as text; *texts* are those of the current row, of at most so many bytes."""

    def __init__(self, feed: Feed, most: int) -> None:
        self.lines = read_lines(feed)
        self.texts: list[bytes] = []
        self.first = self._size = 0
        self._most = most

    def __next__(self) -> str:
        number, text = next(self.lines)
        self.first, self._size = (self.first, self._size) if self.texts else (number, 0)
        self.texts.append(text)
        self._size += len(text)
        if self._size > self._most:
            raise csv.Error("a quotation mark or a line end is missing")
        return text.decode("utf-8", "surrogateescape")


# Files of HTML

# An absolute path that stands in a URL as it is; `as_uri` takes twenty times longer to say so.
_IS_PLAIN = re.compile("/[A-Za-z0-9._~/-]*")


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
        """Yield the files; they are opened by `raw_page`."""
        for number, (path, relative, site) in enumerate(self.entries, 1):
            self.share = number / len(self.entries)
            size = 0
            with suppress(OSError):  # which is reported when it is read
                size = os.stat(path).st_size
            yield Record(path, (path, relative), (path, site), size)

    @staticmethod
    def raw_page(payload: tuple[str, str], rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        """Read the page."""
        path, site = payload
        try:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size > MAX_RECORD:
                    raise BadRecord(f"has more than {MAX_RECORD:,} bytes")
                html = file.read()
        except OSError as error:
            raise BadRecord(f"cannot be read: {error.strerror}") from error
        place = os.path.join(os.getcwd(), path)
        url = f"file://{place}" if _IS_PLAIN.fullmatch(place) else Path(place).as_uri()
        return RawPage(html=html, url=url, seen_on=site)

    def likeness(self) -> object:
        """Raise `FeedError` for two files that would be the same one in the output."""
        seen: dict[str, str] = {}
        for path, relative, _ in self.entries:
            if (other := seen.setdefault(relative, path)) != path:
                raise FeedError(f"{other} and {path} would both be {relative} in the output")
        return None

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        """Make the folder *path* for copies of the files."""

        def write(source: tuple[str, str]) -> None:
            file, copy = source[0], path / source[1]
            try:
                open(file, "rb").close()
            except OSError as error:
                raise FeedError(f"{file} cannot be read: {error.strerror}") from error
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)

        path.mkdir(parents=True)
        yield write


# Parquet

_ROWS = 64
# Rows are written in large groups: of so many rows, or of fewer with so many bytes.
_GROUP_ROWS, _GROUP_BYTES = 10_000, 32 * 1024 * 1024


class ParquetRows(Feed):
    """A Parquet file; a row is a record, its columns are fields."""

    form = "parquet"
    endings = (".parquet", ".pq")

    def likeness(self) -> object:
        """Return its schema."""
        with self._opened() as file:
            return _without_views(file.schema_arrow)

    def records(self) -> Iterator[Record]:
        """Yield the rows."""
        number = 0
        with self._opened() as file:
            schema = _without_views(file.schema_arrow)
            self.check_columns(names := schema.names)
            if twice := ", ".join(sorted({name for name in names if names.count(name) > 1})):
                raise FeedError(f"{self.name} has more than one column {twice}")
            try:
                for group in range(file.num_row_groups):
                    for batch in file.iter_batches(_ROWS, row_groups=[group]):
                        rows = batch.cast(schema)
                        for index in range(rows.num_rows):
                            number += 1
                            self.share = number / file.metadata.num_rows
                            yield self._record(rows, index, number)
            except _read_errors() as error:
                raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _record(self, rows: Any, index: int, number: int) -> Record:
        name = f"{self.name}, row {number:,}"
        try:
            values = rows.slice(index, 1).to_pylist()[0]
        except (ValueError, OverflowError) as error:  # text that is not UTF-8, a date that is none
            return Record(name, (rows, index), problem=f"cannot be read: {error}")
        return Record(name, (rows, index), values, rows.nbytes // rows.num_rows)

    @staticmethod
    def raw_page(payload: dict[str, Any], rule: FieldRule) -> RawPage | None:
        """Return the page in a row."""
        return raw_page_of(payload, rule)

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        """Open *path* for rows of the same schema, which are taken from a batch all at once."""
        import pyarrow

        with self._opened() as file:
            schema, kind = _without_views(file.schema_arrow), "snappy"
            if file.metadata.num_row_groups and file.metadata.num_columns:
                kind = str(file.metadata.row_group(0).column(0).compression).lower()
        current: Any = None
        indices: list[int] = []
        held: list[Any] = []

        def take(batch: Any) -> None:
            nonlocal current
            if indices:
                held.append(current.take(pyarrow.array(indices)))
                indices.clear()
            current = batch
            rows, size = sum(one.num_rows for one in held), sum(one.nbytes for one in held)
            if held and (batch is None or rows >= _GROUP_ROWS or size > _GROUP_BYTES):
                writer.write_table(pyarrow.Table.from_batches(held, schema))
                held.clear()

        def write(source: tuple[Any, int]) -> None:
            if source[0] is not current:
                take(source[0])
            indices.append(source[1])

        packing = "none" if kind == "uncompressed" else kind
        with _parquet().ParquetWriter(path, schema, compression=packing) as writer:
            yield write
            take(None)

    def _opened(self) -> Any:
        parquet = _parquet()
        try:
            return parquet.ParquetFile(self.path)
        except _read_errors() as error:
            raise FeedError(f"{self.name} cannot be read: {error}") from error


def _without_views(schema: Any) -> Any:
    """Return *schema* with plain columns for views of text, from which no rows can be taken."""
    import pyarrow
    import pyarrow.types as kinds

    for place, column in enumerate(schema):
        if kinds.is_string_view(column.type):
            schema = schema.set(place, column.with_type(pyarrow.large_string()))
        elif kinds.is_binary_view(column.type):
            schema = schema.set(place, column.with_type(pyarrow.large_binary()))
    return schema


def _read_errors() -> tuple[type[Exception], ...]:
    import pyarrow

    return (OSError, ValueError, pyarrow.ArrowException)  # a codec that is not there is no `ValueError`


def _parquet() -> Any:
    """Return pyarrow's module for Parquet; raises `DedupError` where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DedupError(
            'Parquet is read with pyarrow; install it with: pip install "scrapy-dedup[parquet]"'
        ) from error
    return pyarrow.parquet
