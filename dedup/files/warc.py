"""Web archives (WARC, ISO 28500): pages are judged, and every record is written as it was."""

from __future__ import annotations

import gzip
import mmap
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from dedup.files.formats import MAX_RECORD, BadRecord, Feed, FeedError, Record, Write, is_compressed
from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage

HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_RECORD, _MEMBER = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n"), re.compile(rb"\x1f\x8b\x08")
_MAX_HEADER = 256 * 1024
_EMPTY = re.compile(rb"\x03\0{9}(?=\x1f\x8b\x08)")  # the end of a member, where FastWARC stops
# A chunk of an HTTP body begins with its size; what is packed has other controls than white space.
_CHUNK_HEAD = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
Place = tuple[str, int]
"""A file, and where in it a record begins."""


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

    def records(self) -> Iterator[Record]:
        """Yield the records; damage between two of them is a record with a problem."""
        try:
            with (
                self.path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view,
            ):
                yield from self._records(file, view)
        except (OSError, ValueError) as error:
            raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _records(self, file: Any, view: mmap.mmap) -> Iterator[Record]:
        begin = _MEMBER if is_compressed(self.path) else _RECORD
        number = place = 0
        is_damaged = False
        while place < len(view):
            file.seek(place)
            last = -1
            with suppress(OSError):  # it goes on where another record seems to begin
                for found in _records_in(file, parse_http=False):
                    if not last < found.stream_pos < len(view):  # the second one of a member
                        raise FeedError(
                            f"{self.name} is compressed as a whole and not record by record; "
                            "unpack it first"
                        )
                    number, last = number + 1, found.stream_pos
                    place, self.share = last, last / len(view)
                    yield (record := self._record(number, found))
                    if is_damaged := bool(record.problem):
                        break
                else:
                    empty = _EMPTY.search(view, place)
                    place = empty.end() if empty else len(view)
                    continue
            begins = begin.search(view, place + 1)
            place = begins.start() if begins else len(view)
            if not is_damaged:
                number, is_damaged = number + 1, True
                problem = f"is damaged or cut off: what is before byte {place:,} is left out"
                yield Record(f"{self.name}, record {number:,}", None, problem=problem)
        self.share = 1.0

    def _record(self, number: int, record: Any) -> Record:
        name = f"{self.name}, record {number:,}"
        length = record.headers.get("Content-Length") or ""
        if record.reader.consume() < record.content_length or not length.isdigit():
            return Record(name, None, problem="is cut off, or of a wrong length: it is left out")
        place = (self.name, record.stream_pos)
        return Record(name, place, place, 1024)

    @staticmethod
    def raw_page(payload: Place, rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        """Read the page in a record, None if it has none."""
        try:
            with suppress(OSError), _opened(payload, parse_http=True, auto_decode="all") as record:
                return _raw_page(record, is_decoded=True)
            with _opened(payload, parse_http=True, auto_decode="none") as record:
                return _raw_page(record, is_decoded=False)
        except OSError as error:
            raise BadRecord(f"cannot be read: {error}") from error

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:
        """Open *path* for records."""

        def write(place: Place) -> None:
            packed = gzip.GzipFile("", "wb", 6, file, mtime=0) if compressed else nullcontext(file)
            with packed as out, _opened(place, parse_http=False) as record:
                record.write(out)

        with path.open("wb") as file:
            yield write


@contextmanager
def _opened(place: Place, **how: Any) -> Iterator[Any]:
    """Give the record that begins at *place*, one of FastWARC's."""
    with open(place[0], "rb") as file:
        file.seek(place[1])
        yield next(iter(_records_in(file, **how)))


def _records_in(file: Any, **how: Any) -> Any:
    """Yield FastWARC's records; raises `DedupError` where it is not installed."""
    try:
        from fastwarc import warc
    except ImportError as error:
        raise DedupError(
            'Web archives are read with FastWARC; install it with: pip install "scrapy-dedup[warc]"'
        ) from error
    return warc.ArchiveIterator(file, max_header_len=_MAX_HEADER, **how)


def _raw_page(record: Any, *, is_decoded: bool) -> RawPage | None:
    """Return the page in *record*, whose body *is_decoded* or not."""
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
