"""Web archives (WARC, ISO 28500): pages are judged, and every record is written as it was."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

from w3lib.encoding import http_content_type_encoding

from dedup.files.formats import MAX_RECORD, BadRecord, Feed, FeedError, Read, Record, Write, is_packed
from dedup.model.errors import DedupError
from dedup.reading.fields import RawPage

HTML_TYPES = ("text/html", "application/xhtml+xml")
_WITH_PAGES = ("response", "resource", "conversion")
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")  # other than white space: text has none
_MAX_LINE = 1024 * 1024


class WebArchive(Feed):
    """A file of WARC records; in a compressed one each is a gzip member of its own.

    Pages are responses with a status of 2xx and resources, where they are HTML, and conversions,
    which are text (WET files).  A record of a wrong length is not judged; where there should be a
    record and is none, nothing more is read.  What the headers of a response say of its body is often
    no longer true: then it is read as what it is.
    """

    form = "warc"
    endings = (".warc", ".wet")

    def records(self) -> Iterator[Record]:
        with self.opened() as file:
            size = os.fstat(file.fileno()).st_size
            archive = _archive(file, no_record_parse=True)
            for number in count(1):
                place, errors = archive.offset, archive.err_count
                told = f"{self.name} is damaged or cut off at byte {place:,}"
                damaged = FeedError(f"{told}: what follows is neither read nor written")
                try:
                    with redirect_stderr(StringIO()):
                        record = next(archive, None)
                        length = record and archive.get_record_length()
                    if not record and place < size:  # a member that is cut off early looks like the end
                        file.seek(place)
                        if gzip.GzipFile(fileobj=file).read(1):
                            raise EOFError
                except Exception as error:  # the archive has none that all others are made of
                    raise damaged from error
                if not record:
                    return
                unpacking, rest = archive.reader.decompressor, archive.next_line or b""
                if unpacking and rest.startswith(b"WARC/"):
                    told = "is compressed as a whole and not record by record"
                    raise FeedError(f"{self.name} {told}; `warcio recompress` mends it")
                said = record.rec_headers.get_header("Content-Length")
                left = said != str(record.length) or record.raw_stream.limit
                is_cut = (rest or not unpacking.eof) if unpacking else left
                if is_cut:
                    raise damaged
                # After a head that is cut off the lines of the next one belong to it, too.
                heads = [name for name, _ in record.rec_headers.headers if name.lower() == "warc-type"]
                is_sound = not left and archive.err_count == errors and len(heads) == 1
                source = self.name, place, length if is_sound else archive.offset - place
                read: Read = partial(self.page, self.name, place)
                if not is_sound:
                    read = BadRecord(f"is damaged or has a wrong length ({said}): it is not judged")
                elif record.rec_type not in _WITH_PAGES:
                    read = None
                self.share = archive.offset / size
                yield Record(f"{self.name}, record {number:,}", source, read, is_page=False)

    @staticmethod
    def page(name: str, place: int) -> RawPage | None:
        """Return the page in the record at *place* of the file *name*."""
        try:
            with open(name, "rb") as file, redirect_stderr(StringIO()):
                file.seek(place)
                record = next(_archive(file))
                http, kind = record.http_headers, record.content_type
                if record.rec_type == "response":
                    is_found = http and http.get_statuscode().startswith("2")
                    kind = is_found and http.get_header("content-type")
                is_html = (kind or "").partition(";")[0].strip().lower() in HTML_TYPES
                if not is_html and record.rec_type != "conversion":
                    return None
                body = _body(record)
        except Exception as error:  # of the many kinds that damaged bytes lead to
            raise BadRecord(f"cannot be read: {error}") from error
        url = record.rec_headers.get_header("WARC-Target-URI") or ""
        if not is_html:
            return RawPage(text=body.decode("utf-8", "replace"), url=url)
        return RawPage(html=body, url=url, encoding=http_content_type_encoding(kind) if http else None)

    def likeness(self) -> Any:
        """Return whether its records are compressed, whatever its name says."""
        with self.opened() as file:
            return is_packed(file)

    @contextmanager
    def sink(self, path: Path, *, compressed: bool) -> Iterator[Write]:  # noqa: ARG002
        from warcio.limitreader import LimitReader

        end = b"" if self.likeness() else b"\r\n\r\n"

        def write(source: tuple[str, int, int]) -> None:
            name, place, length = source
            with open(name, "rb") as file:
                file.seek(place)
                part = LimitReader(file, length)
                copyfileobj(part, out)
                out.write(end)
            if part.limit:
                raise FeedError(f"{name} has been cut off since it was read: {path} would lack a record")

        with path.open("wb") as out:
            yield write


def _archive(file: BinaryIO, **options: bool) -> Any:
    """Return the records of *file*, from where it stands."""
    try:
        from warcio.archiveiterator import WARCIterator
    except ImportError as error:
        raise DedupError("web archives are read with warcio: pip install warcio") from error
    archive = WARCIterator(file, **options)
    # What is no archive may have no lines: a long one would take the square of the time.
    readline = archive.reader.readline
    archive.reader.readline = lambda size=_MAX_LINE: readline(min(size, _MAX_LINE))
    return archive


def _body(record: Any) -> bytes:
    """Return the body of a page without its chunks and its packing, whatever its headers say."""
    from warcio.bufferedreaders import DecompressingBufferedReader

    http = record.http_headers
    coding = (http.get_header("content-encoding") or "").lower() if http else ""
    if http and coding not in ("gzip", "deflate"):
        http.replace_header("content-encoding", "")  # it cannot use this Brotli
    said = record.content_stream()
    found = DecompressingBufferedReader(said)  # what is still packed
    body: bytes = found.read(MAX_RECORD + 1)
    ends = [one.eof for stream in (said, found) if (one := getattr(stream, "decompressor", None))]
    if "br" in coding and _CONTROLS.search(body, 0, 1024):
        try:
            import brotli
        except ImportError:
            raise BadRecord("it needs Brotli: pip install brotli") from None
        unbrotli = brotli.Decompressor()
        body = unbrotli.process(body, output_buffer_limit=MAX_RECORD + 1)
        ends = [unbrotli.is_finished()]
    if len(body) > MAX_RECORD:
        raise BadRecord(f"it has more than {MAX_RECORD:,} bytes")
    if not all(ends) or (coding and not ends and _CONTROLS.search(body, 0, 1024)):
        raise BadRecord(f"its body cannot be unpacked ({coding or 'gzip'})")
    return body
