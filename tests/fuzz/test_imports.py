"""Files of any bytes: what is a record is read, each time alike, and nothing else is raised."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.files.finding import find_feeds
from dedup.files.formats import BadRecord, Feed, FeedError, Record
from dedup.reading.fields import FieldRule, NoHtml
from tests.budget import examples
from tests.files.formats import WRITERS, response, write_warc

PAGES = [(f"http://a/{number}", f"<p>page {number}</p>") for number in range(3)]
FILES = sorted(name for name in WRITERS if "." in name)


@contextmanager
def file_of(name: str, content: bytes) -> Iterator[Path]:
    with TemporaryDirectory(prefix="dedup-fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        yield path


def feed_of(path: Path) -> Feed:
    return find_feeds([path], FieldRule()).feeds[0]


def read(feed: Feed) -> list[Record]:
    """Return the records as far as they can be read."""
    found: list[Record] = []
    with suppress(FeedError):
        found.extend(feed.records())
    return found


def check_feed(path: Path) -> None:
    """Read *path* twice, alike."""
    feed = feed_of(path)
    records = read(feed)
    for record in records:
        if record.payload is not None:
            with suppress(BadRecord, NoHtml):
                feed.raw_page(record.payload, feed.rule)
    told = [(record.name, record.problem) for record in records]
    assert [(one.name, one.problem) for one in read(feed)] == told


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Return *content* with some of its bytes changed, left out, doubled or others put between."""
    found = bytearray(content)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(found)))
        end = draw(st.integers(start, min(len(found), start + 40)))
        found[start:end] = draw(st.binary(max_size=8) | st.just(bytes(found[start:end]) * 2))
    return bytes(found)


@given(st.sampled_from(FILES), st.data())
@settings(max_examples=examples(25 * len(FILES)))
def test_any_bytes_are_records_and_problems(name: str, data: st.DataObject) -> None:
    with file_of(name, b"") as path:
        WRITERS[name](path, PAGES)
        path.write_bytes(data.draw(st.binary(max_size=200) | damaged(path.read_bytes())))
        check_feed(path)


JUNK = st.binary(min_size=1, max_size=30).filter(lambda junk: not set(b'\r\n"') & set(junk))


@given(st.booleans(), st.lists(st.none() | JUNK, max_size=8))
@settings(max_examples=examples(60))
def test_a_good_line_is_read_beside_bad_ones(packed: bool, lines: list[bytes | None]) -> None:
    good = [json.dumps({"n": n, "html": f"<body><p>page {n}"}).encode() for n in range(len(lines))]
    content = b"\n".join(one if junk is None else junk for one, junk in zip(good, lines, strict=True))
    name = "a.jsonl.gz" if packed else "a.jsonl"
    with file_of(name, gzip.compress(content) if packed else content) as path:
        feed = feed_of(path)
        found = [record.payload.strip() for record in read(feed)]
    assert [
        one for one, junk in zip(good, lines, strict=True) if junk is None and one not in found
    ] == []


@given(st.lists(st.none() | JUNK, max_size=6))
@settings(max_examples=examples(30))
def test_a_good_row_is_read_beside_bad_ones(lines: list[bytes | None]) -> None:
    rows = [b"http://a/%d,<p>page %d" % (n, n) if junk is None else junk for n, junk in enumerate(lines)]
    with file_of("a.csv", b"\n".join([b"url,html", *rows])) as path:
        found = [record.payload[1] for record in read(feed_of(path)) if record.payload]
    for n, junk in enumerate(lines):
        assert junk is not None or [f"http://a/{n}", f"<p>page {n}"] in found


@given(st.sampled_from(["a.warc", "a.warc.gz"]), st.lists(st.none() | JUNK, max_size=6))
@settings(max_examples=examples(60))
def test_a_good_web_record_is_read_beside_damage(name: str, parts: list[bytes | None]) -> None:
    with file_of(name, b"") as path:
        good = [response(f"http://a/{n}", b"<p>%d" % n) for n in range(len(parts))]
        content = b""
        for one, junk in zip(good, parts, strict=True):
            if junk is None:
                write_warc(path, [one])
            content += path.read_bytes() if junk is None else junk
        path.write_bytes(content)
        check_feed(path)
        feed, urls = feed_of(path), []
        for record in read(feed):
            with suppress(BadRecord):
                found = record.payload and feed.raw_page(record.payload, feed.rule)
                urls += [found.url] if found else []
    assert urls == [f"http://a/{n}" for n, junk in enumerate(parts) if junk is None]
