import csv
import gzip
import os
import random
import re
import sys
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import brotli
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio import bufferedreaders

from dedup.files import formats as formats_module
from dedup.files import warc
from dedup.files.adding import find_feeds
from dedup.files.formats import BadRecord, CsvRows, Feed, FeedError, JsonLines, Lines, Record
from dedup.model.errors import DedupError
from dedup.reading.fields import FieldRule, RawPage
from tests.files import formats
from tests.files.formats import WRITERS, problem_of, raw_page

RULE = FieldRule()
PAGES = [(f"http://a/{n}", f'<body><p>page {n}</p>\r\n<i>“quoted”, "well"</i>') for n in range(13)]


def feed_of(path: Path, rule: FieldRule = RULE) -> Feed:
    (feed,) = find_feeds([path], rule).feeds
    return feed


def shown(record: Record) -> tuple[object, ...]:
    """What of a record must be equal when it is read again."""
    return (record.name, record.source, problem_of(record) or getattr(record.read, "args", None))


def raw_pages(*feeds: Feed) -> list[RawPage]:
    return [raw for feed in feeds for record in feed.records() if (raw := raw_page(record))]


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b""))), st.booleans())
def test_lines_as_written(tmp_path_factory: Any, lines: list[bytes], is_packed: bool) -> None:
    path = tmp_path_factory.mktemp("x") / ("a.jsonl.gz" if is_packed else "a.jsonl")
    content = b"\n".join(lines)
    path.write_bytes(gzip.compress(content) if is_packed else content)
    feed = feed_of(path)
    assert isinstance(feed, Lines)
    found = list(feed.lines())
    assert found == content.splitlines(keepends=True) or b"\r" in content
    assert b"".join(found) == content


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_an_endless_line_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(formats_module, "MAX_RECORD", 10)
    path = tmp_path / name
    path.write_bytes(b'{"a":1}\n{"b":2}\n' + b"x" * 35 + b"\n{}\n")
    found: list[Record] = []
    with pytest.raises(FeedError, match=r"line 3 has more than 10 bytes: it is not read from there on"):
        found.extend(feed_of(path).records())
    assert found[-1].source == b'{"b":2}\n'


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz"])
def test_a_truncated_file_gives_all_that_can_be_read(tmp_path: Path, name: str) -> None:
    path, rng = tmp_path / name, random.Random(name)
    pages = [(f"http://a/{n}", rng.randbytes(60).hex()) for n in range(200)]
    WRITERS[f"pages{name[1:]}"](path, pages)
    whole = list(feed_of(path).records())
    path.write_bytes(path.read_bytes()[:-3000])
    found: list[Record] = []
    with pytest.raises(FeedError, match="cannot be read to its end"):
        found.extend(feed_of(path).records())
    assert 0 < len(found) < len(whole)
    assert [shown(one) for one in found] == [shown(one) for one in whole[: len(found)]]


@pytest.mark.parametrize(
    ("kind", "said", "problem"),
    [
        (JsonLines, b"{", "is not valid JSON"),
        (JsonLines, b"[1]", "is not a JSON object but a list"),
        (JsonLines, b'{"a": "\xff"}', "is not valid JSON"),
        (JsonLines, b"[" * 200_000, "is not valid JSON"),
        (JsonLines, b'{"a": ' * 200_000, "is not valid JSON"),
        (CsvRows, b"a,b\n1", "1 cells for 2"),
        (CsvRows, b"a,b\n\xff,b", "UTF-8"),
    ],
)
def test_a_bad_record_says_what_it_is(
    tmp_path: Path, kind: type[Feed], said: bytes, problem: str
) -> None:
    (tmp_path / "a").write_bytes(said)
    (record,) = kind(str(tmp_path / "a"), RULE, "").records()
    with pytest.raises(BadRecord, match=problem):
        raw_page(record)


def row_of(record: Record) -> object:
    read: Any = record.read
    return read.args[1]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=8), st.sampled_from(",;\t|"))
def test_rows_are_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("x") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["a", "b", "url"])
        writer.writerows(rows)
    records = list(feed_of(path).records())
    assert [row_of(record) for record in records] == rows
    header = delimiter.join(["a", "b", "url"]) + "\r\n"
    assert header.encode() + b"".join(r.source for r in records) == path.read_bytes()


def test_a_quote_that_never_ends_loses_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    rows = ["1,one", '2,"two', "3,three", '4,"four"', "5,five", '6,"six', "7,seven"]
    path.write_text("n,text\n" + "\n".join(rows) + "\n")
    records = list(feed_of(path).records())
    assert b"".join(record.source for record in records) == path.read_bytes()[7:]
    good = [row_of(record) for record in records if not problem_of(record)]
    assert good == [["1", "one"], ["5", "five"]]
    bad = [record.name for record in records if problem_of(record)]
    assert bad == [f"{path}, line 3", f"{path}, line 7"]
    limit = csv.field_size_limit()
    monkeypatch.setattr(formats_module, "MAX_RECORD", 50)  # nor does it fill the memory
    path.write_text("n,text\n" + '1,"one\n' + "2,two\n" * 20)
    records = list(feed_of(path).records())
    csv.field_size_limit(limit)
    assert b"".join(record.source for record in records) == path.read_bytes()[7:]
    assert max(len(record.source) for record in records) <= 56


def test_a_group_of_rows_is_in_memory_and_no_other_one(tmp_path: Path) -> None:
    rng, path = random.Random(1), tmp_path / "a.parquet"
    table = pyarrow.table({"html": [rng.randbytes(4_000).hex() for _ in range(1_000)]})
    pyarrow.parquet.write_table(table, path, row_group_size=50, compression="none")
    before = pyarrow.total_allocated_bytes()
    most = max(pyarrow.total_allocated_bytes() - before for _ in feed_of(path).records())
    assert most < path.stat().st_size / 2


@pytest.mark.parametrize("name", ["pages.csv", "pages.parquet"])
def test_a_column_that_is_named_must_be_there(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name, PAGES)
    with pytest.raises(FeedError, match=r"has no column source; it has n, url, html"):
        list(feed_of(tmp_path / name, FieldRule(text_fields=("source",))).records())


KINDS = [pyarrow.string_view(), pyarrow.large_string(), pyarrow.binary_view(), pyarrow.large_binary()]
KINDS += [pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), pyarrow.binary(100)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_text_is_read_in_any_kind_of_column(tmp_path: Path, kind: pyarrow.DataType) -> None:
    content = [html.encode().ljust(100) for _, html in PAGES]
    column = pyarrow.array(content, pyarrow.binary(100)).cast(pyarrow.binary())
    if "string" in str(kind):
        column = column.cast(pyarrow.string())
    table = pyarrow.table({"html": column.cast(kind), "url": [url for url, _ in PAGES]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    feed = feed_of(tmp_path / "a.parquet")
    assert [raw.url for raw in raw_pages(feed)] == [url for url, _ in PAGES]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"url,html\ra,<p>one\rb,<p>two\r", "carriage returns"),
        ("url,html\na,<p>one\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_rows_that_nobody_sees_are_no_empty_file(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(FeedError, match=problem):
        list(feed_of(tmp_path / "a.csv").records())


def read_in(feed: Feed) -> tuple[list[str], int, str]:
    """Return the URLs of the pages of a *feed*, how many records have a problem, and what ended it."""
    urls, problems = list[str](), 0
    try:
        for record in feed.records():
            problems += bool(problem_of(record))
            raw = raw_page(record)
            urls += [raw.url] if raw else []
    except FeedError as error:
        return urls, problems, str(error)
    return urls, problems, ""


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
@pytest.mark.parametrize("more", [b"-3", b"+30", b"+200", b"+10**9", b"about"])
def test_a_record_of_a_wrong_length_is_told_and_an_end(tmp_path: Path, name: str, more: bytes) -> None:
    def wrong(old: re.Match[bytes]) -> bytes:
        return b"Content-Length: " + (more if more == b"about" else b"%d" % eval(old[1] + more))

    records = [formats.response(url, html.encode()) for url, html in PAGES[:4]]
    records[1] = re.sub(rb"Content-Length: (\d+)", wrong, records[1], count=1)
    formats.write_warc(tmp_path / name, records)
    urls, problems, end = read_in(feed_of(tmp_path / name))
    is_passed = more == b"-3" or (name == "a.warc.gz" and more != b"about")  # else no next one is found
    assert urls == [PAGES[n][0] for n in ((0, 2, 3) if is_passed else (0,))]
    assert (problems, bool(end)) == (is_passed or more in (b"+30", b"+200"), not is_passed)
    begin = len(records[0]) if name == "a.warc" else len(gzip.compress(records[0], mtime=0))
    assert is_passed or problems or f"is damaged or cut off at byte {begin}: what follows" in end


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_an_archive_that_is_cut_off_anywhere_is_told(tmp_path: Path, name: str) -> None:
    record = formats.response("http://a/", b"<p>a")
    formats.write_warc(tmp_path / name, [record, record])
    whole = (tmp_path / name).read_bytes()
    for left in range(len(whole) // 2 - (4 if name == "a.warc" else 0)):
        (tmp_path / name).write_bytes(whole + whole[:left])
        urls, problems, end = read_in(feed_of(tmp_path / name))
        assert (urls, problems) == (["http://a/"] * 2, 0)
        assert (f"cut off at byte {len(whole)}" in end) == bool(left), left


def test_what_has_no_lines_is_read_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "_MAX_LINE", 1_000)
    lines = list[int]()

    class Counted(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            lines.append(len(line := super().readline(size)))
            return line

    monkeypatch.setattr(bufferedreaders, "BytesIO", Counted)
    (tmp_path / "a.warc").write_bytes(formats.response("http://a/", b"<p>a") + b"x" * 50_000)
    assert (read_in(feed_of(tmp_path / "a.warc"))[0], max(lines)) == (["http://a/"], 1_000)


A, B = (formats.response(url, b"<p>a") for url in ("http://a/", "http://b/"))
LONG = b"X-Long: %s\r\n" % (b"a" * 200_000)
BOTH = ["http://a/", "http://b/"]


@pytest.mark.parametrize(
    ("records", "plain", "packed"),
    [
        ([b"", A, b"", b"", B, b""], BOTH, BOTH),
        ([A, B, b"\0" * 512], BOTH, BOTH),
        ([A + b"\0" * 512, B], BOTH[:1], []),
        ([A.replace(b"\r\n", b"\r\n" + LONG, 1), B], BOTH, BOTH),
        ([formats.response("http://a/", b"<p>a", headers=LONG.decode()), B], BOTH, BOTH),
        ([A, b"no record", B], BOTH[:1], BOTH[:1]),
        ([A[:60], B], [], BOTH[1:]),
        ([A.replace(b"\r\n", b"\n"), B.replace(b"\r\n", b"\n")], [], []),
    ],
    ids="empty-members zeros padding long-header long-HTTP-header junk cut line-ends".split(),
)
def test_an_odd_archive_is_read_as_far_as_it_is_whole_and_the_rest_is_told(
    tmp_path: Path, records: list[bytes], plain: list[str], packed: list[str]
) -> None:
    for name, expected in {"a.warc": plain, "a.warc.gz": packed}.items():
        formats.write_warc(tmp_path / name, records)
        urls, problems, end = read_in(feed_of(tmp_path / name))
        assert urls == expected
        assert bool(problems or end) == (b"\0" in b"".join(records) or len(urls) < 2)


@pytest.mark.parametrize(("name", "other"), [("a.warc", "b.warc.gz"), ("a.warc.gz", "b.warc")])
def test_an_archive_is_compressed_if_its_content_is(tmp_path: Path, name: str, other: str) -> None:
    formats.warc(tmp_path / name, PAGES)
    (tmp_path / name).rename(tmp_path / other)
    assert [raw.url for raw in raw_pages(feed_of(tmp_path / other))] == [url for url, _ in PAGES]


def test_an_archive_that_is_cut_off_after_it_was_read_is_told(tmp_path: Path) -> None:
    formats.write_warc(tmp_path / "a.warc", [formats.response("http://a/", b"<p>a")])
    feed = feed_of(tmp_path / "a.warc")
    (record,) = feed.records()
    os.truncate(tmp_path / "a.warc", 100)
    with feed.sink(tmp_path / "b.warc", compressed=False) as write:
        with pytest.raises(FeedError, match="cut off since"):
            write(record.source)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (formats.response("http://a/", b"<p>a"), "<p>a"),
        (formats.response("http://a/", b"<p>a", status=404), None),
        (formats.warc_record("resource", "http://a/", b"<p>a", "text/html"), "<p>a"),
        (formats.warc_record("resource", "http://a/", b"<p>a", "image/png"), None),
        (formats.warc_record("conversion", "http://a/", b"text", "text/plain"), "text"),
        (formats.warc_record("metadata", "http://a/", b"<p>a", "text/html"), None),
    ],
)  # fmt: skip
def test_what_a_page_is_in_an_archive(tmp_path: Path, record: bytes, found: str | None) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(record)
    said = [raw.text.encode() or raw.html for raw in raw_pages(feed_of(path))]
    assert said == ([] if found is None else [found.encode()])


BODY = b"<html><body><p>" + b"the harbour museum opens every morning at nine. " * 30


def packed(body: bytes, coding: str) -> bytes:
    if coding == "chunked":
        parts = [body[place : place + 50] for place in range(0, len(body), 50)]
        return b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    if coding == "raw":
        return zlib.compress(body, wbits=-15)
    return bytes({"gzip": gzip.compress, "zlib": zlib.compress, "br": brotli.compress}[coding](body))


def body_of(folder: Path, body: bytes, header: str) -> object:
    """Return what is read of a *body* in an archive, or what is wrong with it."""
    record = formats.response("http://a/", body, headers=f"{header}\r\n")
    formats.write_warc(folder / "a.warc.gz", [record])
    try:
        (raw,) = raw_pages(feed_of(folder / "a.warc.gz"))
    except BadRecord as error:
        return str(error)
    return raw.html


@pytest.mark.parametrize(
    ("headers", "codings"),
    [
        ("Transfer-Encoding: chunked", ""),
        ("Transfer-Encoding: chunked", "chunked"),
        ("Content-Encoding: gzip", ""),
        ("Content-Encoding: br", ""),
        ("Content-Encoding: br", "br"),
        ("Content-Encoding: zstd", ""),
        ("Content-Encoding: x-gzip", ""),
        ("Content-Encoding: x-gzip", "gzip"),
        ("Content-Encoding: deflate", "zlib"),
        ("Content-Encoding: deflate", "raw"),
        ("Content-Encoding: deflate", ""),
        ("Content-Encoding: utf-8", ""),
        ("Content-Encoding: gzip\r\nTransfer-Encoding: chunked", ""),
        ("Content-Encoding: gzip\r\nTransfer-Encoding: chunked", "chunked"),
        ("Content-Encoding: gzip\r\nTransfer-Encoding: chunked", "gzip"),
        ("Content-Encoding: gzip\r\nTransfer-Encoding: chunked", "gzip chunked"),
        ("Content-Encoding: gzip", "gzip gzip"),
        ("X-Nothing: at-all", "gzip"),
    ],
)
def test_a_body_is_read_as_it_is_whatever_is_said(tmp_path: Path, headers: str, codings: str) -> None:
    like_brotli = b"Quite a text without any markup, of more than a few words."
    for body in (BODY, like_brotli):
        sent = body
        for coding in codings.split():
            sent = packed(sent, coding)
        assert body_of(tmp_path, sent, headers) == body


@pytest.mark.parametrize(
    ("coding", "problem"),
    [("gzip", "cannot be unpacked"), ("zstd", "cannot be unpacked"), ("br", "pip install")],
)
def test_content_that_cannot_be_unpacked_is_a_bad_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coding: str, problem: str
) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    body = brotli.compress(BODY) if coding == "br" else gzip.compress(b"<p>a" * 1000)[:-20]
    assert problem in str(body_of(tmp_path, body, f"Content-Encoding: {coding}"))
    assert body_of(tmp_path, BODY, f"Content-Encoding: {coding}") == BODY


@pytest.mark.parametrize(
    ("header", "coding"), [("gzip", "gzip"), ("br", "br"), ("deflate", "zlib"), ("", "")]
)
def test_a_body_in_utf_16_or_of_any_size_is_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, coding: str
) -> None:
    monkeypatch.setattr(warc, "MAX_RECORD", 1_000_000)
    bodies = BODY.decode().encode("utf-16"), b"<p>" + b"a" * 2_000_000
    one, other = (packed(body, coding) if coding else body for body in bodies)
    headers = f"Content-Encoding: {header}" if header else "X-None: x"
    assert body_of(tmp_path, one, headers) == bodies[0]
    assert "has more than" in str(body_of(tmp_path, other, headers))


def test_an_archive_that_is_compressed_as_a_whole_is_refused(tmp_path: Path) -> None:
    formats.warc(tmp_path / "a.warc", PAGES)
    path, whole = tmp_path / "b.warc.gz", gzip.compress((tmp_path / "a.warc").read_bytes())
    one = gzip.compress(formats.response("http://a/", b"<p>a"))
    for content in (whole, one + whole, whole + one, whole + whole):
        path.write_bytes(content)
        with pytest.raises(FeedError, match="record by record"):
            list(feed_of(path).records())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_folders_are_read_in_order_and_tell_what_they_leave_out(tmp_path: Path) -> None:
    for name in ("b.html", "a/z.HTM", "a/y.jsonl", "notes.txt", "c.xhtml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    os.mkfifo(tmp_path / "pipe.html")
    found = find_feeds([tmp_path], RULE)
    assert [feed.form for feed in found.feeds] == ["html", "html", "jsonl", "html"]
    assert [Path(feed.name).name for feed in found.feeds] == ["b.html", "c.xhtml", "y.jsonl", "z.HTM"]
    assert found.left_out == 1
    assert {feed.form for feed in find_feeds([tmp_path], RULE, "html").feeds} == {"html"}
    with pytest.raises(DedupError, match=r"notes\.txt has a name that shows no format"):
        find_feeds([tmp_path / "notes.txt"], RULE)
    assert find_feeds([tmp_path / "notes.txt"], RULE, "jsonl").feeds[0].form == "jsonl"


@pytest.mark.parametrize("folder", [".", "a", "a/../a", "..", None])
def test_files_have_the_paths_and_urls_that_pathlib_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
) -> None:
    for name in ("a/b c.html", "a/in/\xe9.html", "a/in/plain.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("<p>x")
    monkeypatch.chdir(tmp_path / "a" if folder == ".." else tmp_path)
    start = tmp_path if folder is None else Path(folder)
    feeds = find_feeds([start], RULE).feeds
    files = sorted(start.rglob("*.html"), key=lambda file: (len(file.parts), file))
    assert [record.name for feed in feeds for record in feed.records()] == [str(file) for file in files]
    assert [raw.url for raw in raw_pages(*feeds)] == [file.absolute().as_uri() for file in files]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other links")
def test_what_links_hide_is_told(tmp_path: Path) -> None:
    for name in ("pages/in/a.html", "elsewhere/b.html"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("<p>x")
    links = {"loop": ".", "again": "in", "out": "../elsewhere", "page.html": "../elsewhere/b.html"}
    for link, target in [*links.items(), ("gone.html", "nowhere.html")]:
        (tmp_path / "pages" / link).symlink_to(target)
    found = find_feeds([tmp_path / "pages"], RULE)
    names = [Path(feed.name).name for feed in found.feeds]
    assert (names, (found.left_out, found.troubles)) == (["gone.html", "page.html", "a.html"], (3, []))
    (gone, *_) = found.feeds[0].records()
    with pytest.raises(BadRecord, match="No such file"):
        raw_page(gone)
