"""Web archives (WARC, ISO 28500): pages are judged; every record is written byte by byte as it was."""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dedup.files.formats import MAX_RECORD, BadRecord, Feed, FeedError, Record, Write, is_compressed
from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage

HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_CHUNK = 256 * 1024
_PACKED = 16 * 1024  # most records in gzip are as small
_MAX_HEADER = 64 * 1024
_BEGIN = re.compile(rb"WARC/[01]\.\d{1,2}\r\n")
_MEMBER = re.compile(rb"\x1f\x8b\x08")
_NO_PADDING = re.compile(rb"[^\s\0]")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
# A chunk of an HTTP body begins with its size; what is packed has other controls than white space.
_CHUNK_HEAD = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
Span = tuple[str, int, int]
"""A file, and where in it a record begins and ends."""


class WebArchive(Feed):
    """A file of WARC records; in a compressed one each is a gzip member of its own.

    Pages are responses with a status of 2xx and resources, where they are HTML, and conversions,
    which are text (WET files).  Damage between records is left out, and so is a record that is cut
    off: what follows it in the output could not be read.  What the headers of a response say of
    its body is often no longer true: then it is read as what it is.
    """

    form = "warc"
    endings = (".warc", ".wet")
    may_be_compressed = True
    has_pages_only = False

    def likeness(self) -> object:
        """Return whether it is compressed."""
        return is_compressed(self.path)

    def records(self) -> Iterator[Record]:
        """Yield the records; damage between two of them is a record with a problem."""
        _fastwarc()  # or each record would be one that cannot be judged
        try:
            with (
                self.path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view,
            ):
                yield from self._records(view)
        except (OSError, ValueError) as error:
            raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _records(self, view: mmap.mmap) -> Iterator[Record]:
        is_packed = is_compressed(self.path)
        number = position = 0
        while (begin := _next(_NO_PADDING, view, position)) < len(view):
            number += 1
            name = f"{self.name}, record {number:,}"
            position = self._end_of_member(view, begin) if is_packed else _end_of_record(view, begin)
            if position:
                self.share = position / len(view)
                span = (self.name, begin, position)
                yield Record(name, span, span, 1024)
            else:
                position = _next(_MEMBER if is_packed else _BEGIN, view, begin + 1)
                problem = f"is damaged or cut off: bytes {begin:,} to {position:,} are left out"
                yield Record(name, None, problem=problem)

    def _end_of_member(self, view: mmap.mmap, begin: int) -> int:
        """Return the end of the gzip member with one record at *begin*, 0 if there is no whole one.

        Raises `FeedError` for a member with several.
        """
        unpack, position, size, end, behind = zlib.decompressobj(31), begin, 0, 0, b""
        with suppress(zlib.error):
            while not unpack.eof and position < len(view):
                data = view[position : position + _PACKED]
                position += len(data)
                while data and not unpack.eof:
                    part = unpack.decompress(data, _CHUNK)
                    data = unpack.unconsumed_tail
                    end = end or _size(part)
                    if not end:
                        return 0
                    behind += part[max(0, end - size) :][: 64 - len(behind)]
                    size += len(part)
                    if _BEGIN.match(behind.lstrip()):
                        raise FeedError(
                            f"{self.name} is compressed as a whole and not record by record; "
                            "unpack it first"
                        )
        return position - len(unpack.unused_data) if unpack.eof else 0

    @staticmethod
    def raw_page(payload: Span, rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        """Read the page in a record, None if it has none."""
        try:
            with suppress(OSError):
                return _read(payload, "all")
            return _read(payload, "none")
        except OSError as error:
            raise BadRecord(f"cannot be read: {error}") from error

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        """Open *path* for the bytes of records, as compressed as they are."""

        def write(span: Span) -> None:
            name, begin, end = span
            with open(name, "rb") as source:
                source.seek(begin)
                while begin < end and (chunk := source.read(min(_CHUNK, end - begin))):
                    file.write(chunk)
                    begin += len(chunk)

        with path.open("wb") as file:
            yield write


def _next(what: re.Pattern[bytes], view: mmap.mmap, position: int) -> int:
    """Return where *what* stands next, or else the end."""
    found = what.search(view, position)
    return found.start() if found else len(view)


def _size(start: bytes) -> int:
    """Return the size of a record by its *start*, without the empty lines after it, 0 if it is none."""
    end = start.find(b"\r\n\r\n", 0, _MAX_HEADER)
    length = _LENGTH.search(start, 0, end + 2) if end > 0 and _BEGIN.match(start) else None
    return end + 4 + int(length[1]) if length else 0


def _end_of_record(view: mmap.mmap, begin: int) -> int:
    """Return the end of the record at *begin*, 0 if there is no whole one."""
    size = _size(view[begin : begin + _MAX_HEADER])
    is_whole = 0 < size <= len(view) - begin
    return min(begin + size + 4, len(view)) if is_whole else 0


def _fastwarc() -> Any:
    """Return FastWARC's module for archives; raises `DedupError` where it is not installed."""
    try:
        from fastwarc import warc
    except ImportError as error:
        raise DedupError(
            'Web archives are read with FastWARC; install it with: pip install "scrapy-dedup[warc]"'
        ) from error
    return warc


def _read(span: Span, decode: Any) -> RawPage | None:
    path, begin, _ = span
    with open(path, "rb") as file:
        file.seek(begin)
        for record in _fastwarc().ArchiveIterator(file, parse_http=True, auto_decode=decode):
            return _raw_page(record, is_decoded=decode == "all")
    return None


def _raw_page(record: Any, *, is_decoded: bool) -> RawPage | None:
    """Return the page in *record*, one of FastWARC's, whose body *is_decoded* by it or not."""
    url = record.headers.get("WARC-Target-URI") or ""
    url = url.strip("<>").encode("utf-8", "replace").decode("utf-8")
    kind, encoding = record.headers.get("Content-Type") or "", None
    what = (record.headers.get("WARC-Type") or "").lower()
    if what == "conversion":
        return RawPage(text=_body(record, is_decoded=True).decode("utf-8", "replace"), url=url)
    if what == "response" and record.http_headers is not None:
        if not 200 <= (record.http_headers.status_code or 0) < 300:
            return None
        kind, encoding = record.http_content_type or "", record.http_charset
    elif what != "resource":
        return None
    if kind.partition(";")[0].strip().lower() not in HTML_TYPES:
        return None
    return RawPage(html=_body(record, is_decoded=is_decoded), url=url, encoding=encoding)


def _body(record: Any, *, is_decoded: bool) -> bytes:
    there = record.content_length
    body: bytes = record.reader.read(MAX_RECORD + 1)
    if len(body) > MAX_RECORD:
        raise BadRecord(f"has more than {MAX_RECORD:,} bytes")
    if there and not body:
        raise BadRecord("has a body that cannot be unpacked")
    return body if is_decoded and not body.startswith(b"\x1f\x8b") else _unpacked(body)


def _unpacked(body: bytes) -> bytes:
    """Return *body* without the chunks and the packing that it has, whatever its headers say."""
    parts, place = [], 0
    while chunk := _CHUNK_HEAD.match(body, place):
        place = chunk.end() + int(chunk[1], 16)
        parts.append(body[chunk.end() : place])
    found = [b"".join(parts) or body]
    for bits in (47, -15):  # gzip and zlib, or neither's head: browsers take both for `deflate`
        with suppress(zlib.error):
            found.append(zlib.decompressobj(bits).decompress(found[0], MAX_RECORD + 1))
    for text in found:
        if text and not _CONTROLS.search(text, 0, 1024):
            return text
    raise BadRecord("has a body that cannot be unpacked")
