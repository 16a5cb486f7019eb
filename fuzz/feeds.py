"""Files in every format of `dedup add`: any bytes give records, `BadRecord` or one `FeedError`.

The first byte of an input chooses the format and where the second reading begins.  The others are the
file.
"""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path

import atheris
import pyarrow
import pyarrow.parquet

with atheris.instrument_imports(include=["dedup"]):
    from tests.fuzz.laws import check_feed

from fuzz.engine import command

NAMES = (
    *("a.jsonl", "a.csv", "a.warc", "a.parquet"),
    *("a.jsonl.gz", "a.csv.gz", "a.warc.gz", "a.html"),
)
FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-feeds-"))


def judge(data: bytes) -> None:
    """Read *data* as a file of pages; whatever is raised is a finding."""
    choice, content = data[0] if data else 0, data[1:]
    path = FOLDER / NAMES[choice % 8]
    path.write_bytes(content)
    check_feed(path)


def seeds() -> list[bytes]:
    response = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Type: "
        b"application/http\r\nContent-Length: 70\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: "
        b"text/html; charset=gbk\r\n\r\n<p>some words</p>\r\n\r\n"
    )
    table = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"url": ["http://a/"], "html": [b"<p>x"]}), table)
    files = [
        b'{"url": "http://a/", "html": "<p>some words"}\n\n{"a": ["b"]}\nbroken\n',
        b'url;html\nhttp://a/;"<p>some ""words""\nmore"\na;b;c\n',
        response + b"\0junk" + response,
        table.getvalue(),
    ]
    packed = [*files[:2], response]
    return [bytes([n]) + file for n, file in enumerate(files)] + [
        bytes([n]) + gzip.compress(file) for n, file in enumerate(packed, 4)
    ]


if __name__ == "__main__":
    command(judge, seeds())()
