"""Whatever is left of a file of records, what is appended to it can be read."""

from __future__ import annotations

import csv
import io
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
texts = st.text(st.sampled_from('a ,"\r\n{}\\é汉😀'), max_size=12)
records = st.lists(st.fixed_dictionaries({"url": texts, "text": texts}), min_size=1, max_size=4)


def written(kind: str, items: list[dict[str, str]]) -> bytes:
    file = io.BytesIO()
    exporter = EXPORTERS[kind](file, fields_to_export=FIELDS, encoding="utf-8")
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue()


def read(kind: str, data: bytes) -> list[object]:
    said = data.decode("utf-8", "replace")
    if kind == "jsonlines":
        return [line for line in said.split("\n") if line]
    return [row for row in csv.reader(io.StringIO(said, newline="")) if row and row != FIELDS]


def ended(data: bytes, kind: str) -> tuple[bytes, bool]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "items"
        path.write_bytes(data)
        told = end_torn_line(path, has_quotes=kind == "csv")
        return path.read_bytes(), told


@pytest.mark.parametrize("kind", EXPORTERS)
@settings(max_examples=examples(150), deadline=None)
@given(before=records, after=records, place=st.integers(0))
@example(before=[{"url": "a", "text": 'b"\n'}], after=[{"url": "汉", "text": '"'}], place=17)
def test_what_was_whole_and_what_is_appended_can_be_read(
    kind: str, before: list[dict[str, str]], after: list[dict[str, str]], place: int
) -> None:
    whole, more = written(kind, before), written(kind, after)
    head = len(written(kind, []))
    cut = head + place % (len(whole) - head + 1)
    left, told = ended(whole[:cut], kind)
    assert told == (left != whole[:cut])
    assert ended(left, kind) == (left, False)
    found, expected, last = read(kind, left + more), read(kind, whole), read(kind, more)
    count = sum(len(written(kind, before[:number])) <= cut for number in range(1, len(before) + 1))
    assert found[:count] == expected[:count]
    assert found[-len(last) :] == last
    assert len(found) - count - len(last) <= 1


@pytest.mark.parametrize("data", [b"", b"a,b\r\n", b'{"a": 1}\n', b"\n"])
@pytest.mark.parametrize("kind", EXPORTERS)
def test_a_file_that_ends_with_a_line_is_left_as_it_is(kind: str, data: bytes) -> None:
    assert ended(data, kind) == (data, False)
