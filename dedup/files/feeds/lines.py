"""Lines of files, compressed with gzip or not, as far as they can be read."""

from __future__ import annotations

import gzip
import json
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any

from dedup.files.feeds.base import MAX_RECORD, BadRecord, Feed, FeedError, Record, Sink
from dedup.reading.fields import FieldRule, RawPage, raw_page_of

_CHUNK = 256 * 1024
# A line that is too long continues in pieces of this size: it need not be in memory as a whole.
_PIECE = 4 * 1024 * 1024


def is_compressed(path: Path) -> bool:
    """Return whether *path* is compressed with gzip, by its name."""
    return path.suffix.lower() == ".gz"


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line with its end, of that *number*, from 1.

    A line longer than `MAX_RECORD` comes in pieces: the first, of that many bytes, has *is_start*, the
    last *is_end*.
    """

    text: bytes
    number: int
    is_start: bool
    is_end: bool

    @property
    def is_whole(self) -> bool:
        """Whether this is the whole line."""
        return self.is_start and self.is_end


class _Unpacked(RawIOBase):
    """The bytes of a feed's *file*, without gzip, up to its end or to *trouble*."""

    def __init__(self, feed: Feed, file: Any) -> None:
        self.trouble: Exception | None = None
        self._feed, self._file = feed, file
        self._bytes = gzip.GzipFile(fileobj=file, mode="rb") if is_compressed(feed.path) else file
        self._total = feed.path.stat().st_size or 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = b""
        if not self.trouble:
            try:
                chunk = self._bytes.read1(len(buffer))
            except (OSError, EOFError, zlib.error) as error:
                self.trouble = error
        self._feed.share = self._file.tell() / self._total
        buffer[: len(chunk)] = chunk
        return len(chunk)


def read_lines(feed: Feed) -> Iterator[RawLine]:
    """Yield the lines of a feed's file; raises `FeedError` where it cannot be read further.

    Everything before that place is yielded first, even the beginning of a line.
    """
    number, is_start = 1, True
    try:
        with feed.path.open("rb") as file:
            unpacked = _Unpacked(feed, file)
            lines = BufferedReader(unpacked, _CHUNK)
            while text := lines.readline(most := MAX_RECORD if is_start else _PIECE):
                is_last = len(text) < most and not unpacked.trouble
                is_end = text.endswith(b"\n")
                yield RawLine(text, number, is_start, is_end or is_last)
                number, is_start = number + is_end, is_end
            if unpacked.trouble:
                raise unpacked.trouble
    except (OSError, EOFError, zlib.error) as error:
        raise FeedError(f"{feed.name} cannot be read to its end: {error}") from error


class LineSink(Sink):
    """A file of lines, which begins with *head*."""

    def __init__(self, path: Path, *, compressed: bool, head: bytes = b"") -> None:
        # Without name and time, so that equal input gives equal output.
        self._file = path.open("wb")
        self._out: Any = gzip.GzipFile("", "wb", 6, self._file, mtime=0) if compressed else self._file
        self._last = b"\n"
        self._put(head)

    def write(self, source: tuple[bytes, bool]) -> None:
        """Write bytes; the second value says whether they begin a line."""
        text, is_start = source
        if is_start and not self._last.endswith(b"\n"):
            self._put(b"\n")
        self._put(text)

    def _put(self, text: bytes) -> None:
        if text:
            self._out.write(text)
            self._last = text[-1:]

    def close(self) -> None:
        """Write what is left."""
        if self._out is not self._file:
            self._out.close()
        self._file.close()


class JsonLines(Feed):
    """A file with a JSON object on each line; empty lines are skipped."""

    form = "jsonl"
    endings = (".jsonl", ".jl", ".ndjson")
    may_be_compressed = True

    def records(self) -> Iterator[Record]:
        """Yield the lines."""
        for line in read_lines(self):
            if not line.is_whole or line.text.strip():
                yield self._record(line)

    def _record(self, line: RawLine) -> Record:
        name = self.named(line.number)
        source = (line.text, line.is_start)
        if not line.is_whole:
            problem = "is cut off or too long" if line.is_start else ""
            return Record(name, source, size=len(line.text), problem=problem)
        return Record(name, source, line.text, len(line.text))

    @staticmethod
    def raw_page(payload: bytes, rule: FieldRule) -> RawPage | None:
        """Return the page in a line."""
        return raw_page_of(object_in(payload), rule)

    def sink(self, path: Path, *, compressed: bool) -> Sink:
        """Open *path* for lines."""
        return LineSink(path, compressed=compressed)


def object_in(line: bytes) -> dict[str, Any]:
    """Return the JSON object in *line*; raises `BadRecord`."""
    if line.strip() == b"[":
        raise BadRecord("begins an array; JSON Lines have a record on each line and nothing else")
    try:
        value = json.loads(line.removeprefix(BOM_UTF8).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadRecord(f"is not a JSON object but a {type(value).__name__}")
    return value
