"""Files of any bytes: what is a record is read, each time alike, and nothing else is raised."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.files.adding import find_feeds
from dedup.files.formats import BadRecord, Feed, FeedError, Record
from dedup.reading.fields import FieldRule, NoHtml
from tests.files.formats import WRITERS, problem_of, raw_page
from tests.support.budget import examples

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
    found: list[Record] = []
    with suppress(FeedError):
        found.extend(feed.records())
    return found


def check_feed(path: Path) -> None:
    feed = feed_of(path)
    records = read(feed)
    for record in records:
        with suppress(BadRecord, NoHtml):
            raw_page(record)
    told, again = ([(one.name, problem_of(one)) for one in found] for found in (records, read(feed)))
    assert again == told


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


@given(
    st.sampled_from([name for name in FILES if "parquet" not in name]),
    st.lists(st.none() | JUNK, max_size=8),
)
@settings(max_examples=examples(120))
def test_a_good_record_is_read_beside_bad_ones(name: str, parts: list[bytes | None]) -> None:
    urls = [f"http://a/{number}" for number, junk in enumerate(parts) if junk is None]
    good = iter([(url, f"<body><p>page at {url}") for url in urls])
    with file_of(name, b"") as path:
        WRITERS[name](path, [])  # the header
        content = unpacked(path)
        for junk in parts:
            if junk is None:
                WRITERS[name](path, [next(good)])
                record = unpacked(path)
                content += record.partition(b"\n")[2] if "csv" in name else record
            else:
                content += junk + b"\n" * ("warc" not in name)
        path.write_bytes(gzip.compress(content) if name.endswith(("l.gz", "v.gz")) else content)
        check_feed(path)
        found = []
        for record_ in read(feed_of(path)):
            with suppress(BadRecord, NoHtml):
                page = raw_page(record_)
                found += [page.url] if page else []
    # A web archive is read to the first place that has no record.
    whole = len([*takewhile(lambda junk: junk is None, parts)]) if "warc" in name else len(urls)
    assert [url for url in found if url in urls] == urls[:whole]


def unpacked(path: Path) -> bytes:
    """Return what stands in *path*; each record of a web archive is a member of its own, and stays one."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" and "warc" not in path.name else content
