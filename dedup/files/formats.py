"""Formats of files: their records, read in order, and written again as they were read.

Web archives are in `dedup.files.warc`; `dedup.files.adding` finds the feeds behind paths.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from abc import ABC, abstractmethod
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import islice, tee
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage, raw_page_of

# A record of more bytes than this is not judged: a file without line ends would fill the memory.
MAX_RECORD = 64 * 1024 * 1024


class FeedError(DedupError):
    """A file that cannot be read, or not beyond this place."""


class BadRecord(DedupError):  # noqa: N818 - it says what is the matter
    """One record that cannot be read; the next one can."""


Read = Callable[[], RawPage | None] | BadRecord | None
Write = Callable[[Any], object]


class Record(NamedTuple):
    """A record of a feed; *name* says in messages where it is, and *source* is what `Feed.sink` writes.

    *read* gives its page, None for none, or raises `BadRecord`; or it is what is wrong, or None where
    there is nothing to judge.  A record that *is_page* counts as a page even if it has none.
    """

    name: str
    source: Any
    read: Read
    is_page: bool = True
    size: int = 0  #: the bytes that *read* holds


@dataclass
class Feed(ABC):
    """The records of the file *name*, as `FieldRule` says; *share* (0 to 1) is how much has been read.

    *site* is the folder that was asked for.  The names of its files have one of the *endings*, and may
    have ".gz" after it.
    """

    form: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]

    name: str
    rule: FieldRule
    site: str
    share: float = 0.0

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield the records; raises `FeedError` where it cannot be read further."""

    def likeness(self) -> Any:
        """Return what must be equal in feeds that are written to one file; raises `FeedError`."""
        return b""

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:
        """Open *path* for records of this feed and of others of the same `likeness`: lines, after it.

        What is given writes a `Record.source`; it raises `FeedError` if that can no longer be read.
        """
        with (
            path.open("wb") as file,
            # Equal input gives equal output: it has no time.
            gzip.GzipFile("", "wb", 6, file, mtime=0) if compressed else file as out,
        ):
            out.write(self.likeness())
            yield lambda text: out.write(text if text.endswith(b"\n") else text + b"\n")

    @contextmanager
    def opened(self) -> Iterator[BufferedReader]:
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


def is_packed(file: BufferedReader) -> bool:
    """Return whether *file*, from where it stands, is compressed with gzip, whatever its name says."""
    return file.peek(2).startswith(b"\x1f\x8b")


def unpacked(file: BufferedReader) -> Any:
    """Return *file*, or what is in it if it is compressed, to be read."""
    return gzip.GzipFile(fileobj=file) if is_packed(file) else file


class Lines(Feed):
    """A file of lines, each with a record or a part of one."""

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its end.

        Raises `FeedError` at one of more than `MAX_RECORD` bytes, or where gzip is damaged or cut off.
        """
        with self.opened() as file:
            size = os.fstat(file.fileno()).st_size or 1
            read = partial(unpacked(file).readline, MAX_RECORD + 1)
            for number, line in enumerate(iter(read, b""), 1):
                self.share = file.tell() / size
                if len(line) > MAX_RECORD:
                    long = f"line {number:,} has more than {MAX_RECORD:,} bytes"
                    raise FeedError(f"{self.name}, {long}: it is not read from there on")
                yield line


class JsonLines(Lines):
    """A file with a JSON object on each line; empty lines are skipped."""

    form = "jsonl"
    endings = (".jsonl", ".jl", ".ndjson")

    def records(self) -> Iterator[Record]:
        for number, line in enumerate(self.lines(), 1):
            if line.strip():
                read = partial(self.page, line, self.rule)
                yield Record(f"{self.name}, line {number:,}", line, read, size=len(line))

    @staticmethod
    def page(line: bytes, rule: FieldRule) -> RawPage | None:
        try:
            record = json.loads(line.removeprefix(BOM_UTF8).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"is not valid JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadRecord(f"is not a JSON object but a {type(record).__name__}")
        return raw_page_of(record, rule)


class CsvRows(Lines):
    """A file of values separated by commas, semicolons, tabs or bars, by its first line, in UTF-8.

    After a row that is not valid, or so long that a quotation mark must be missing, a new one begins.
    """

    form = "csv"
    endings = (".csv", ".tsv")

    def likeness(self) -> bytes:
        """Return the line of the header."""
        return next(self.lines(), b"")

    def records(self) -> Iterator[Record]:
        csv.field_size_limit(MAX_RECORD)  # of the whole process
        header = self.likeness()
        text = header.decode("utf-8-sig", "surrogateescape").rstrip("\r\n")
        if header.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or "\r" in text:
            raise FeedError(f"{self.name} is in UTF-16, or carriage returns end its lines; convert it")
        split = [(next(csv.reader([text], delimiter=one), []), one) for one in ",;\t|"]
        columns, delimiter = max(split, key=lambda found: len(found[0]))
        self.check_columns(columns)
        lines, again = tee(islice(self.lines(), 1, None))
        texts = (line.decode("utf-8", "surrogateescape") for line in lines)
        rows = csv.reader(texts, delimiter=delimiter, strict=True)
        while True:
            begin, read = rows.line_num, cast("Read", None)
            try:
                if row := next(rows):  # else it is an empty line
                    read = partial(self.page, columns, row, self.rule)
            except StopIteration:
                return
            except csv.Error as error:
                read = BadRecord(f"is not valid CSV: {error}")
            source = b"".join(islice(again, rows.line_num - begin))
            if read:
                yield Record(f"{self.name}, line {begin + 2:,}", source, read, size=len(source))

    @staticmethod
    def page(columns: list[str], row: list[str], rule: FieldRule) -> RawPage | None:
        if len(row) != len(columns):
            raise BadRecord(f"has {len(row)} cells for {len(columns)} columns")
        try:
            "".join(row).encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadRecord("is not in UTF-8") from error
        return raw_page_of(dict(zip(columns, row, strict=True)), rule)


class HtmlFile(Feed):
    """A page in a file: its URL is that of the file, its site the folder that was asked for.

    What is written of it is its name.
    """

    form = "html"
    endings = (".html", ".htm", ".xhtml")

    def records(self) -> Iterator[Record]:
        yield Record(self.name, os.fsencode(self.name), partial(self.page, self.name, self.site))

    @staticmethod
    def page(name: str, site: str) -> RawPage:
        try:
            with open(name, "rb") as file:
                html = unpacked(file).read(MAX_RECORD + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise BadRecord(f"cannot be read: {getattr(error, 'strerror', '') or error}") from error
        if len(html) > MAX_RECORD:
            raise BadRecord(f"has more than {MAX_RECORD:,} bytes")
        return RawPage(html=html, url=Path(name).absolute().as_uri(), seen_on=site)


class ParquetRows(Feed):
    """A Parquet file; a row is a record, its columns are fields.

    What is written of it is its number, after the name of the file.
    """

    form = "parquet"
    endings = (".parquet", ".pq")

    def records(self) -> Iterator[Record]:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise DedupError("Parquet is read with pyarrow: pip install pyarrow") from error
        with self.opened(), ParquetFile(self.name) as file:
            names = file.schema_arrow.names
            self.check_columns(names)
            if twice := ", ".join(sorted({name for name in names if names.count(name) > 1})):
                raise FeedError(f"{self.name} has more than one column {twice}")
            groups = range(file.num_row_groups)  # one by one, or all stay in memory
            batches = (rows for group in groups for rows in file.iter_batches(64, [group]))
            slices = (rows.slice(index, 1) for rows in batches for index in range(rows.num_rows))
            for number, row in enumerate(slices, 1):
                self.share = number / file.metadata.num_rows
                try:
                    read: Read = partial(raw_page_of, row.to_pylist()[0], self.rule)
                except (ValueError, OverflowError) as error:  # no UTF-8, or no date
                    read = BadRecord(f"cannot be read: {error}")
                source = os.fsencode(f"{self.name} {number}")
                yield Record(f"{self.name}, row {number:,}", source, read, size=row.nbytes)
