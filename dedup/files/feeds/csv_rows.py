"""CSV with a header: rows are kept as they are, those with cells of several lines too."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dedup.files.feeds.base import MAX_RECORD, BadRecord, Feed, FeedError, Record, Sink
from dedup.files.feeds.lines import LineSink, RawLine, read_lines
from dedup.reading.fields import FieldRule, RawPage, raw_page_of

_DELIMITERS = (",", ";", "\t", "|")
# A longer line is not taken for a header: its names would fill the memory.
_MAX_HEADER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Header:
    """The names of the *columns*, read from *text*, the first *lines*."""

    text: bytes
    columns: list[str]
    delimiter: str
    lines: int


class CsvRows(Feed):
    """A file of comma-separated values (or of one of `_DELIMITERS`, by its header), in UTF-8."""

    form = "csv"
    endings = (".csv", ".tsv")
    may_be_compressed = True

    def likeness(self) -> object:
        """Return its header."""
        return self._header().text

    def records(self) -> Iterator[Record]:
        """Yield the rows after the header.

        A row that is not valid CSV, or so long that a quotation mark must be missing, has a problem;
        the next line begins a new one.
        """
        header = self._header()
        self.check_columns(header.columns)
        tape = _Tape(islice(read_lines(self), header.lines, None))
        before = csv.field_size_limit()  # of the whole process
        try:
            yield from self._rows(tape, header)
        finally:
            csv.field_size_limit(before)

    def _rows(self, tape: _Tape, header: _Header) -> Iterator[Record]:
        while True:
            problem, row = "", []
            csv.field_size_limit(MAX_RECORD)
            try:
                row = next(self._reader(tape, header.delimiter))
            except StopIteration:
                break
            except csv.Error as error:
                problem = f"is not valid CSV: {error}"
            except FeedError:
                if tape.taken:
                    yield self._record(tape, header.columns, [], "is cut off")
                raise
            if row or problem:
                yield self._record(tape, header.columns, row, problem)
            tape.taken.clear()

    def _record(self, tape: _Tape, columns: list[str], row: list[str], problem: str) -> Record:
        text = b"".join(line.text for line in tape.taken)
        name = self.named(tape.taken[0].number)
        is_start = tape.taken[0].is_start
        source = (text, is_start)
        payload = None if problem else (columns, row)
        problem = problem if is_start else ""  # reported where the line begins
        return Record(name, source, payload, len(text), problem)

    def _reader(self, tape: Iterator[str], delimiter: str) -> Iterator[list[str]]:
        return csv.reader(tape, delimiter=delimiter, strict=True)

    def _header(self) -> _Header:
        """Return the header by the delimiter that splits it into most columns."""
        headers = [self._header_by(delimiter) for delimiter in _DELIMITERS]
        header = max(headers, key=lambda header: len(header.columns))
        if header.text.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise FeedError(f"{self.name} is in UTF-16; convert it to UTF-8")
        if b"\r" in header.text.removesuffix(b"\n").removesuffix(b"\r") and b"\n" not in header.text:
            raise FeedError(f"{self.name} has lines that end in carriage returns; convert it")
        return header

    def _header_by(self, delimiter: str) -> _Header:
        tape = _Tape(read_lines(self), _MAX_HEADER)
        texts = (text.removeprefix("\ufeff") for text in tape)
        try:
            columns = next(self._reader(texts, delimiter), [])
        except csv.Error:  # a quotation mark is not closed: rows must not become names
            del tape.taken[1:]
            if len(tape.taken[0].text) > _MAX_HEADER:
                raise FeedError(f"{self.name} has no header: its first line is too long") from None
            columns = self._columns_of(tape.taken[0].text, delimiter)
        text = b"".join(line.text for line in tape.taken)
        return _Header(text, columns, delimiter, len(tape.taken))

    def _columns_of(self, line: bytes, delimiter: str) -> list[str]:
        text = line.removeprefix(BOM_UTF8).decode("utf-8", "surrogateescape")
        try:
            return next(csv.reader(text.splitlines(), delimiter=delimiter), [])
        except csv.Error as error:
            raise FeedError(f"{self.name} has no valid header: {error}") from error

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

    def sink(self, path: Path, *, compressed: bool) -> Sink:
        """Open *path* for rows under the same header."""
        return LineSink(path, compressed=compressed, head=self._header().text)


class _Tape(Iterator[str]):
    """Lines as text; *taken* are those of the current row."""

    def __init__(self, lines: Iterator[RawLine], most: int = 0) -> None:
        self._lines = lines
        self._most = most or MAX_RECORD
        self.taken: list[RawLine] = []
        self._size = 0

    def __next__(self) -> str:
        line = next(self._lines)
        self._size = len(line.text) + (self._size if self.taken else 0)
        self.taken.append(line)
        if not line.is_whole or self._size > self._most:
            raise csv.Error("a quotation mark or a line end is missing")
        return line.text.decode("utf-8", "surrogateescape")
