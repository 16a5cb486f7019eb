"""Web archives (WARC, ISO 28500): pages are judged, and every record is written as it was."""

from __future__ import annotations

import gzip
import mmap
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import IO

from w3lib.encoding import http_content_type_encoding

from dedup.files import formats
from dedup.files.formats import MAX_RECORD, BadRecord, Feed, FeedError, Record, Write
from dedup.reading.fields import FieldRule, RawPage

HTML_TYPES = ("text/html", "application/xhtml+xml")
_RECORD, _MEMBER = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n"), re.compile(rb"\x1f\x8b\x08")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,15})[ \t]*\r$", re.IGNORECASE | re.MULTILINE)
_MAX_HEADER = 256 * 1024
_PIECE = 4096  # of a member, which may be a thousand times as long when it is unpacked
_END, _PADDING = b"\r\n\r\n", re.compile(rb"[\0\s]*")  # of a header, and after a record
_HEAD_END = re.compile(rb"\r\n\r\n|" + _RECORD.pattern)  # or the next record, if it is cut off
_PACKING = b"\x1f\x8b"  # begins what is compressed, whatever the name of the file says
_OF_A_PAGE = re.compile(rb"HTTP/\S+ +2\d\d\b")
# A chunk of an HTTP body begins with its size; what is packed has other controls than white space.
_CHUNK_HEAD = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_PACKED = re.compile(r"\b(?:gzip|deflate|br|zstd|compress)\b")
RecordPlace = tuple[str, int, int]
"""A file, where in it a record begins, and how long its header and block are, unpacked."""


class WebArchive(Feed):
    """A file of WARC records; in a compressed one each is a gzip member of its own.

    Pages are responses with a status of 2xx and resources, where they are HTML, and conversions,
    which are text (WET files).  Damage between records is left out; a record of a wrong length is not
    judged, and left out where what follows it in the output could not be read.  What the headers of a
    response say of its body is often no longer true: then it is read as what it is.
    """

    form = "warc"
    endings = (".warc", ".wet")
    may_be_compressed = True
    has_pages_only = False

    def records(self) -> Iterator[Record]:
        with formats.reading(self.name), self.path.open("rb") as file:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            with view:
                yield from self._records(view)

    def _records(self, view: mmap.mmap) -> Iterator[Record]:
        """Yield the records; where one should be and is none, the next is looked for."""
        is_packed = view[:2] == _PACKING or (formats.is_compressed(self.path) and view[:5] != b"WARC/")
        begin, measured = (_MEMBER, self._member) if is_packed else (_RECORD, _plain)
        names = (f"{self.name}, record {number:,}" for number in count(1))
        place = 0
        while place < len(view):
            size, end, is_sound = measured(view, place)
            end += len(_PADDING.match(view, end)[0])  # type: ignore[index]
            self.share = end / len(view)
            source: RecordPlace | None = (self.name, place, size) if size else None
            is_followed = is_sound and (end == len(view) or begin.match(view, end) is not None)
            # The length of a plain record may be so wrong that it hides the next one.
            found = None if is_followed else begin.search(view, end if is_packed else place + 1)
            place = end if is_followed else found.start() if found else len(view)
            if source and is_sound and place >= end:
                yield Record(next(names), source, source)
                source = None
            if not is_followed:
                problem = f"is damaged or cut off before byte {place:,}: what cannot be read is left out"
                # It is not judged: others would be dropped for what an output may have to leave out.
                yield Record(next(names), source, problem=problem)

    def _member(self, view: mmap.mmap, place: int) -> tuple[int, int, bool]:
        """Return the size of the record in the gzip member at *place*, and where that ends.

        The size is 0 for none; the last value tells whether all of the member is a record, or nothing.
        """
        unpacking, head, rest = zlib.decompressobj(31), b"", b""
        size, declared, end = 0, 0, place
        with suppress(zlib.error):
            # What gives nothing for a whole piece is no member, but only begins like one.
            while not unpacking.eof and end < len(view) and (size or end == place):
                piece = unpacking.decompress(view[end : end + _PIECE])
                if not declared and len(head) < _MAX_HEADER:
                    head += piece
                    declared = _declared(head)
                if declared:
                    rest += piece[max(0, declared - size) :][: _PIECE - len(rest)]
                end, size = end + _PIECE, size + len(piece)
        if not unpacking.eof or (size and not declared):
            return 0, place + 1, False
        if _RECORD.match(rest := rest.strip(b"\0 \t\r\n")):
            told = "is compressed as a whole and not record by record; unpack it first"
            raise FeedError(f"{self.name} {told}")
        end = min(end, len(view)) - len(unpacking.unused_data)
        return min(declared, size), end, declared <= size <= declared + _PIECE and not rest

    @staticmethod
    def raw_page(payload: RecordPlace, rule: FieldRule) -> RawPage | None:  # noqa: ARG004
        size = payload[2]
        try:
            with _opened(payload) as file:
                begin = file.read(min(size, 2 * _MAX_HEADER))
                head, _, block = begin.partition(_END)
                fields, http = _fields(head), dict[str, str]()
                what, kind = fields.get("warc-type", "").lower(), fields.get("content-type", "")
                if what == "response" and _OF_A_PAGE.match(block):
                    head, *rest = re.split(rb"\r?\n\r?\n", block, maxsplit=1)
                    http, block = _fields(head), b"".join(rest)
                    kind = http.get("content-type", "")
                is_html = kind.partition(";")[0].strip().lower() in HTML_TYPES
                if what != "conversion" and not (is_html and (http or what == "resource")):
                    return None
                block += file.read(min(size - len(begin), MAX_RECORD + 1))
        except (OSError, EOFError, zlib.error) as error:
            raise BadRecord(f"cannot be read: {error}") from error
        body = _unpacked(block, http)
        if max(len(block), len(body)) > MAX_RECORD:
            raise BadRecord(f"has more than {MAX_RECORD:,} bytes")
        url = fields.get("warc-target-uri", "").strip("<>")
        if what == "conversion":
            return RawPage(text=block.decode("utf-8", "replace"), url=url)
        return RawPage(html=body, url=url, encoding=http_content_type_encoding(kind) if http else None)

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:
        def write(source: RecordPlace) -> None:
            name, _, left = source
            with (
                _opened(source) as record,
                formats.packed(file) if compressed else nullcontext(file) as out,
            ):
                piece = record.read(min(left, MAX_RECORD))
                if not compressed and _declared(piece) > left:
                    raise FeedError(f"{name} has a record that would hide what follows it")
                while piece:
                    out.write(piece)
                    left -= len(piece)
                    piece = record.read(min(left, MAX_RECORD))
                out.write(_END)
            if left:
                raise FeedError(f"{name} has been cut off since it was read")

        with path.open("wb") as file:
            yield write


@contextmanager
def _opened(place: RecordPlace) -> Iterator[IO[bytes]]:
    """Give the bytes of the record at *place*, and what follows it."""
    with open(place[0], "rb") as file:
        file.seek(place[1])
        is_packed = file.peek(2)[:2] == _PACKING
        yield gzip.GzipFile(fileobj=file) if is_packed else file  # type: ignore[misc]


def _plain(view: mmap.mmap, place: int) -> tuple[int, int, bool]:
    """Return the size of the record at *place*, 0 for none, and where the next one is to begin."""
    found = _HEAD_END.search(view, place + 1, place + _MAX_HEADER)
    size = _declared(view[place : found.end()]) if found and found[0] == _END else 0
    is_there = 0 < size <= len(view) - place
    return (size, place + size, True) if is_there else (0, place + 1, False)


def _declared(head: bytes) -> int:
    """Return how long a record is by its *head*, to the end of its block; 0 where it does not say."""
    end = head.find(_END) + len(_END)
    length = _LENGTH.search(head, 0, end)
    return end + int(length[1]) if length and _RECORD.match(head) else 0


def _fields(head: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.decode("utf-8", "replace").split("\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _unpacked(body: bytes, http: Mapping[str, str]) -> bytes:
    """Return *body* without the chunks and the packing that it has, whatever its header says."""
    coding, parts, place = http.get("content-encoding", "").lower(), [], 0
    is_chunked = "chunked" in http.get("transfer-encoding", "").lower()
    while is_chunked and (chunk := _CHUNK_HEAD.match(body, place)):
        place = chunk.end() + int(chunk[1], 16)
        parts.append(body[chunk.end() : place])
    found = [b"".join(parts) or body]
    while len(found) <= 3 and (inner := next(filter(None, _unpackings(found[-1], coding)), b"")):
        found.append(inner)
    if len(found) == 1 and _PACKED.search(coding) and _CONTROLS.search(body, 0, 1024):
        raise BadRecord("has a body that cannot be unpacked")
    return found[-1]


def _unpackings(body: bytes, coding: str) -> Iterator[bytes]:
    """Yield what *body* may be when it is unpacked."""
    is_text = _CONTROLS.search(body, 0, 1024) is None
    if "br" in coding:
        try:
            import brotli
        except ImportError:
            if not is_text:
                raise BadRecord("needs Brotli: pip install brotli") from None
        else:
            with suppress(brotli.error):
                unpacking = brotli.Decompressor()
                text = unpacking.process(body, output_buffer_limit=MAX_RECORD + 1)
                if unpacking.is_finished() or not is_text:  # text may begin like what is packed
                    yield text
    # With -15 it has no head: browsers take that for `deflate`, too.
    for bits in () if is_text else (47, -15) if "deflate" in coding else (47,):
        with suppress(zlib.error):
            yield zlib.decompressobj(bits).decompress(body, MAX_RECORD + 1)
