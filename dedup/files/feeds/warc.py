"""Web archives (WARC, ISO 28500): pages are judged; every record is written byte by byte as it was."""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dedup.files.feeds.base import MAX_RECORD, BadRecord, Feed, FeedError, Record, Sink
from dedup.files.feeds.lines import is_compressed
from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage

HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_CHUNK = 256 * 1024
_MAX_HEADER = 64 * 1024
# A chunk of an HTTP body begins with its size; what is packed has other controls than white space.
_CHUNK_HEAD = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
Links = tuple[tuple[str, ...], tuple[str, ...]]
_NO_LINKS: Links = ((), ())
_BEGIN = re.compile(rb"WARC/[01]\.\d{1,2}\r\n")
_INNER = re.compile(rb"\r\n\r\n(?=" + _BEGIN.pattern + rb")")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})\r\n", re.IGNORECASE)


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
        try:
            with (
                self.path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view,
            ):
                if _has_bare_ends(view[:_CHUNK]):
                    raise FeedError(
                        f"{self.name} has lines that end with LF alone, as no WARC may; write it anew "
                        "first (warcio recompress)"
                    )
                yield from self._records(view)
        except (OSError, ValueError) as error:
            raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _records(self, view: mmap.mmap) -> Iterator[Record]:
        position = number = 0
        while position < len(view):
            begin, links = None, _NO_LINKS
            for start_of_next, links_of_next in self._starts(position):
                if begin is not None:
                    number += 1
                    yield self._whole(begin, start_of_next, number, len(view), links)
                begin, links = start_of_next, links_of_next
            # The last one before the end of the file, or before damage.
            end = self._end(view, begin) if begin is not None else None
            if begin is not None and end is not None:
                end = self._true_end(view, begin, end)
                number += 1
                yield self._whole(begin, end, number, len(view), links)
                position = end
                continue
            damaged = position if begin is None else begin
            position = self._next_start(view, damaged + 1)
            if _blank(view, damaged) < position:
                number += 1
                yield self._damage(damaged, position, number)

    def _whole(self, begin: int, end: int, number: int, size: int, links: Links) -> Record:
        self.share = end / size
        span = (str(self.path), begin, end)
        return Record(self.named(number, "record"), span, span, 1024, "", *links)

    def _damage(self, begin: int, end: int, number: int) -> Record:
        problem = f"is damaged or cut off: bytes {begin:,} to {end:,} are left out"
        return Record(self.named(number, "record"), None, problem=problem)

    def _starts(self, position: int) -> Iterator[tuple[int, Links]]:
        """Yield where records begin, with their links, from *position* on, up to the first damage."""
        last = -1
        try:
            with self.path.open("rb") as file:
                file.seek(position)
                for record in _iterate(file, parse_http=False):
                    if record.stream_pos <= last:
                        raise FeedError(
                            f"{self.name} is compressed as a whole and not record by record; "
                            "unpack it first"
                        )
                    last = record.stream_pos
                    yield last, _links(record.headers)
        except OSError:
            return

    def _end(self, view: mmap.mmap, begin: int) -> int | None:
        """Return where the record ends that begins at *begin*, None if it is not whole."""
        if is_compressed(self.path):
            return _member_end(view, begin)
        header = view.find(b"\r\n\r\n", begin, begin + _MAX_HEADER)
        length = _LENGTH.search(view, begin, header + 2) if header > 0 else None
        end = header + 4 + int(length[1]) if length else len(view) + 1
        return min(end + 4, len(view)) if end <= len(view) else None

    def _true_end(self, view: mmap.mmap, begin: int, end: int) -> int:
        """Return where a record ends: where another begins in it, if none does behind it."""
        behind = _blank(view, end)
        if is_compressed(self.path) or behind == len(view) or _BEGIN.match(view, behind):
            return end
        inner = _INNER.search(view, begin, min(behind + 64, len(view)))
        return inner.end() if inner else end

    def _next_start(self, view: mmap.mmap, position: int) -> int:
        marker = re.compile(rb"\x1f\x8b\x08") if is_compressed(self.path) else _BEGIN
        match = marker.search(view, position)
        return match.start() if match else len(view)

    @staticmethod
    def raw_page(payload: tuple[str, int, int], rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        """Read the page in a record, None if it has none."""
        try:
            with suppress(OSError):
                return _read(payload, "all")
            return _read(payload, "none")
        except OSError as error:
            raise BadRecord(f"cannot be read: {error}") from error

    def sink(self, path: Path, *, compressed: bool) -> Sink:
        """Open *path* for the bytes of records."""
        if compressed != is_compressed(self.path):
            raise FeedError(f"{self.name} and the output must both be compressed, or none of them")
        return _SpanSink(path)


class _SpanSink(Sink):
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write(self, source: tuple[str, int, int]) -> None:
        path, begin, end = source
        with open(path, "rb") as file:
            file.seek(begin)
            while begin < end and (chunk := file.read(min(_CHUNK, end - begin))):
                self._file.write(chunk)
                begin += len(chunk)

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


def _iterate(file: Any, **options: Any) -> Iterator[Any]:
    try:
        from fastwarc.warc import ArchiveIterator
    except ImportError as error:
        raise DedupError(
            'Web archives are read with FastWARC; install it with: pip install "scrapy-dedup[warc]"'
        ) from error
    archive: Iterator[Any] = ArchiveIterator(file, **options)
    return archive


def _has_bare_ends(head: bytes) -> bool:
    """Return whether the lines of the archive that begins with *head* end with LF alone."""
    with suppress(zlib.error):
        head = zlib.decompressobj(31).decompress(head, 64)
    return bool(re.match(rb"WARC/\S+\n", head))


def _links(headers: Any) -> Links:
    """Return what a response may be called, and what a revisit calls the response that it repeats."""
    what, prefix = (headers.get("WARC-Type") or "").lower(), "WARC-"
    if what == "revisit":
        prefix = "WARC-Refers-To-"
    elif what != "response":
        return _NO_LINKS
    key = headers.get("WARC-Refers-To" if what == "revisit" else "WARC-Record-ID") or ""
    when = f"{headers.get(f'{prefix}Target-URI') or ''} {headers.get(f'{prefix}Date') or ''}"
    names = tuple(filter(str.strip, (key, when)))
    return ((), names) if what == "revisit" else (names, ())


def _read(payload: tuple[str, int, int], decode: str) -> RawPage | None:
    path, begin, _ = payload
    with open(path, "rb") as file:
        file.seek(begin)
        for record in _iterate(file, parse_http=True, auto_decode=decode):
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
    return body if is_decoded and not body.startswith(b"\x1f\x8b") else _plain(body)


def _plain(body: bytes) -> bytes:
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


def _member_end(view: mmap.mmap, begin: int) -> int | None:
    unpack, position = zlib.decompressobj(31), begin
    try:
        while not unpack.eof and position < len(view):
            data = view[position : position + _CHUNK]
            position += len(data)
            while data and not unpack.eof:
                unpack.decompress(data, _CHUNK)
                data = unpack.unconsumed_tail
    except zlib.error:
        return None
    return position - len(unpack.unused_data) if unpack.eof else None


def _blank(view: mmap.mmap, position: int) -> int:
    """Return the position of the next byte that is no padding."""
    match = re.compile(rb"[^\s\0]").search(view, position)
    return match.start() if match else len(view)
