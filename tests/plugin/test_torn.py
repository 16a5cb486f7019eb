"""Whatever is left of a file of records, what is appended to it can be read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy.exporters import CsvItemExporter, JsonLinesItemExporter

from dedup.plugin.feeds import end_torn_line
from tests.budget import examples

FIELDS = ["url", "text"]
EXPORTERS = {"jsonlines": JsonLinesItemExporter, "csv": CsvItemExporter}
ENCODINGS = ["utf-8", "gb18030"]
texts = st.text(st.sampled_from('a ,"\r\n{}\\é汉😀'), max_size=12)
records = st.lists(st.fixed_dictionaries({"url": texts, "text": texts}), min_size=1, max_size=4)


def written(kind: str, items: list[dict[str, str]], encoding: str) -> bytes:
    file = io.BytesIO()
    exporter = EXPORTERS[kind](file, fields_to_export=FIELDS, encoding=encoding)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue()


def read(kind: str, data: bytes, encoding: str) -> list[dict[str, str]]:
    """Return the records of *data* as strict readers take them; one of JSON lines fails at half a line."""
    said = data.decode(encoding)
    if kind == "jsonlines":
        return [json.loads(line) for line in said.split("\n") if line]
    rows = list(csv.reader(io.StringIO(said, newline=""), strict=True))
    return [
        dict(zip(FIELDS, row, strict=True)) for row in rows if len(row) == len(FIELDS) and row != FIELDS
    ]


def ended(data: bytes, kind: str, encoding: str) -> tuple[bytes, str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "items"
        path.write_bytes(data)
        is_csv = kind == "csv"
        told = end_torn_line(path, encoding=encoding, is_json=not is_csv, has_quotes=is_csv)
        return path.read_bytes(), told


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", EXPORTERS)
@settings(max_examples=examples(150), deadline=None)
@given(before=records, after=records, place=st.integers(0))
@example(before=[{"url": "a", "text": 'b"\n'}], after=[{"url": "汉", "text": '"'}], place=17)
def test_what_was_whole_and_what_is_appended_can_be_read(
    kind: str, encoding: str, before: list[dict[str, str]], after: list[dict[str, str]], place: int
) -> None:
    whole, more = (written(kind, items, encoding) for items in (before, after))
    head = len(written(kind, [], encoding))
    cut = head + place % (len(whole) - head + 1)
    left, told = ended(whole[:cut], kind, encoding)
    assert bool(told) == (left != whole[:cut])
    assert ended(left, kind, encoding) == (left, "")
    found = read(kind, left + more, encoding)
    expected, last = (read(kind, data, encoding) for data in (whole, more))
    count = sum(
        len(written(kind, before[:number], encoding)) <= cut for number in range(1, len(before) + 1)
    )
    assert found[:count] == expected[:count]
    assert found[-len(last) :] == last
    between = found[count : -len(last)]
    assert len(between) <= 1
    # Half a record of CSV may be read as one; of JSON lines a record may lack nothing but its end.
    assert kind == "csv" or between in ([], expected[count : count + 1])


@pytest.mark.parametrize("data", [b"", b"a,b\r\n", b'{"a": 1}\n', b"\n"])
@pytest.mark.parametrize("kind", EXPORTERS)
def test_a_file_that_ends_with_a_line_is_left_as_it_is(kind: str, data: bytes) -> None:
    assert ended(data, kind, "utf-8") == (data, "")


def test_what_is_no_object_is_never_cut_off() -> None:
    assert ended(b"# notes\n- the last", "jsonlines", "utf-8")[0] == b"# notes\n- the last\n"
    assert ended(b'{"a": 1}', "jsonlines", "utf-8")[0] == b'{"a": 1}\n'


def test_an_encoding_whose_line_ends_are_others_is_left_alone() -> None:
    data = '{"a": 1'.encode("utf-16")
    assert ended(data, "jsonlines", "utf-16") == (data, "")
    assert ended(data, "jsonlines", "no such encoding") == (data, "")
