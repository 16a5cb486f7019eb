"""Whatever a page is called, no writer fails, and nothing runs where it is opened."""

import csv
import io
import json
import re
import time
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Detector, MemoryIndex
from dedup.index import Index
from dedup.model.errors import printable
from dedup.model.urls import valid
from dedup.report.clusters import Report
from dedup.report.export import COLUMNS, inert, write_csv, write_jsonl
from tests.support.crawling import ROOT
from tests.support.pages import checked, edited, page, text

# All forms of signs that begin a formula, and of what cells are cut at or may begin with before one.
SIGNS = "=⁼₌⩵⩶﹦＝+⁺₊﬩﹢＋-−⁻₋﹣－@﹫＠"
BEFORE = ";；﹔,，﹐|｜ \u3000\xa0\"'`´‘’“”„‚‹›«»′＂＇"
# Any text at all, with lone surrogates, controls and what makes formulas.
HOSTILE = st.text(
    st.characters()
    | st.sampled_from(SIGNS + BEFORE + "\t\r\n\x00\x1b\u202e\ud800\ufeff\u200b<>&\u2028"),
    max_size=12,
)


def folded(text: str) -> str:
    """Return *text* as a program may read it that folds forms of signs."""
    return unicodedata.normalize("NFKC", text.replace("\u2212", "-").replace("´", "'"))


def is_formula(cell: str) -> bool:
    """Say it of each sign that comes after blanks, quotes and separators only."""
    rest = folded(cell).lstrip(" \u2212").replace("\u2212", "-")
    return rest.lstrip("".join(map(folded, BEFORE)))[:1] in tuple("=+-@")


def crawled(url: str, title: str) -> Index:
    index = MemoryIndex()
    with Detector(index) as detector:
        detector.check(replace(page(text(1), url + "first"), title=title))
        detector.check(replace(page(edited(1, 4), url + "copy"), title=title))
    return index


@given(HOSTILE, HOSTILE)
def test_no_cell_of_a_spreadsheet_is_a_formula(url: str, title: str) -> None:
    out = io.StringIO()
    write_csv(Report(crawled(url, title)), out, everything=True)
    out.getvalue().encode("utf-8")
    rows = list(csv.reader(io.StringIO(out.getvalue()), strict=True))
    assert [len(row) for row in rows] == [len(COLUMNS)] * 3
    for cell in (cell for row in rows for cell in row):
        assert printable(cell, len(cell)) == cell
        assert cell.startswith("'") or not is_formula(cell)
        for part in re.split(r"[;；﹔]", cell):
            assert part.startswith("'") or not is_formula(part)


@given(HOSTILE, HOSTILE)
def test_json_is_ascii_and_exact(url: str, title: str) -> None:
    report, out = Report(crawled(url, title)), io.StringIO()
    write_jsonl(report, out)
    assert out.getvalue().isascii()
    record = json.loads(out.getvalue())
    assert (record["url"], record["title"]) == (valid(url) + "copy", valid(title))


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ('=HYPERLINK("http://evil")', '\'=HYPERLINK("http://evil")'),
        ("  +1", "'  +1"),
        ("\u200b@a", "\\u200b@a"),
        *(("＝1", "'＝1"), ("﹢1", "'﹢1"), ("﹣1", "'﹣1"), ("−1", "'−1"), ("﹫a", "'﹫a")),
        *((",=1", "','=1"), (' ,"+1', "' ,\"+1"), ("a,=1", "a,'=1"), ("| @a", "'|' @a")),
        ("http://a/?at=52.5,-13.4", "http://a/?at=52.5,-13.4"),
        ("a\r\nb\0", "a\\r\\nb\\x00"),
        (-3, -3),
        (None, None),
    ],
)
def test_what_stands_in_a_cell(value: object, cell: object) -> None:
    assert inert(value) == cell


@pytest.mark.parametrize("unit", ["a", ";=", ";", ",", " ", "\0", "'"])
def test_a_cell_is_no_longer_than_a_spreadsheet_takes(unit: str) -> None:
    begin, cell = time.process_time(), inert(unit * 1_000_000)
    assert time.process_time() - begin < 1
    assert isinstance(cell, str)
    assert len(cell) <= 32_767


def test_every_column_is_documented() -> None:
    table = (ROOT / "docs/reference/exports.md").read_text("utf-8").split("\n## ")[1]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == COLUMNS


@pytest.mark.parametrize(
    ("domain", "urls"),
    [
        ("WWW.example.com", ["http://www.Example.com/2"]),
        ("bücher.example", ["http://xn--bcher-kva.example/"]),
        ("le.com", []),
        ("com", ["http://example.com/1", "http://www.Example.com/2", "http://example.com.evil.com/"]),
    ],
)
def test_a_domain_has_its_hosts(domain: str, urls: list[str]) -> None:
    index = MemoryIndex()
    seen = ["http://example.com/1", "http://www.Example.com/2", "http://example.com.evil.com/"]
    seen += ["http://xn--bcher-kva.example/", "", "http://["]
    checked(index, {url: text(number) for number, url in enumerate(seen)})
    assert [one.url for one in Report(index, domain=domain).selected()] == urls
