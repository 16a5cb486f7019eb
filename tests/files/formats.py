"""Files of every format with the same records, for tests."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet

from dedup.files.formats import BadRecord, Record
from dedup.reading.fields import RawPage

Pages = Sequence[tuple[str, str]]
"""URLs and HTML."""


def problem_of(record: Record) -> str:
    return str(record.read) if isinstance(record.read, BadRecord) else ""


def raw_page(record: Record) -> RawPage | None:
    return None if record.read is None or isinstance(record.read, BadRecord) else record.read()


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2] or 0)


def jsonl(path: Path, pages: Pages) -> None:
    lines = [json.dumps({"url": url, "html": html, "n": number_of(url)}) for url, html in pages]
    _write(path, "".join(f"{line}\n" for line in lines).encode())


def csv_rows(path: Path, pages: Pages) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["n", "url", "html"])
    writer.writerows([number_of(url), url, html] for url, html in pages)
    _write(path, text.getvalue().encode())


def html(path: Path, pages: Pages) -> None:
    for url, content in pages:
        n = number_of(url)
        file = path / f"{n // 3}" / f"{n:03}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")


def warc_record(kind: str, url: str, block: bytes, content_type: str) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def response(url: str, body: bytes, *, status: int = 200, headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status} Well\r\nContent-Type: text/html; charset=utf-8\r\n{headers}\r\n"
    return warc_record("response", url, head.encode() + body, "application/http; msgtype=response")


def warc(path: Path, pages: Pages, left_out: Pages = ()) -> None:
    records = [warc_record("warcinfo", "", b"software: a test\r\n", "application/warc-fields")]
    for url, content in pages:
        records.append(warc_record("request", url, b"GET / HTTP/1.1\r\n\r\n", "application/http"))
        if (url, content) not in left_out:
            records.append(response(url, content.encode()))
    write_warc(path, records)


def write_warc(path: Path, records: Sequence[bytes]) -> None:
    if path.suffix == ".gz":
        records = [gzip.compress(record, mtime=0) for record in records]
    path.write_bytes(b"".join(records))


def parquet(path: Path, pages: Pages) -> None:
    n = pyarrow.array([number_of(url) for url, _ in pages], pyarrow.int16())
    html = pyarrow.array([content.encode() for _, content in pages], pyarrow.binary())
    table = pyarrow.table({"n": n, "url": [url for url, _ in pages], "html": html})
    pyarrow.parquet.write_table(table, path, row_group_size=5, compression="zstd")


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


Writer = Callable[[Path, Pages], None]
WRITERS: dict[str, Writer] = {"pages": html, "pages.parquet": parquet}
for _form, _writer in {"jsonl": jsonl, "csv": csv_rows, "warc": warc}.items():
    WRITERS |= {f"pages.{_form}": _writer, f"pages.{_form}.gz": _writer}
