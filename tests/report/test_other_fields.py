"""Copies of the same text with other values in fields that were not judged are not called safe."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from dedup import Detector, Page, SQLiteIndex
from dedup.cli import main
from dedup.reading.fields import FieldRule, raw_page_of, unjudged_of
from tests.pages import text

RULES = [
    FieldRule(text_fields=("text",)),
    FieldRule(text_fields=("text", "html")),
    FieldRule(key_fields=("key",)),
]


def index_of(path: Path, items: list[dict[str, Any]], rule: FieldRule) -> None:
    with SQLiteIndex(path) as opened, Detector(opened, spider="shop") as detector:
        for item in items:
            raw = raw_page_of(item, rule)
            assert raw is not None
            detector.check(Page.from_raw(raw))


def told(path: Path, *arguments: str) -> list[str]:
    return CliRunner().invoke(main, [*arguments, str(path)]).output.splitlines()


def product(number: int, **fields: Any) -> dict[str, Any]:
    said = text(1)
    html = f"<html><p>{said}</p></html>"
    return {"url": f"http://shop.example/{number}", "text": said, "html": html, "sku": "a", **fields}


@pytest.mark.parametrize("rule", RULES, ids=["text", "html", "found"])
def test_a_copy_with_another_price_is_not_called_safe(tmp_path: Path, rule: FieldRule) -> None:
    path = tmp_path / "pages.db"
    items = [product(1, price=80.0), product(2, price=80.0), product(3, price=85.0), product(4)]
    index_of(path, items, rule)
    lines = told(path, "report")
    assert lines[0] == "Records may have been merged: 2 copies differ in numbers, codes or names."
    assert lines[1].endswith("of the copies 1 safe, 2 with other fields")
    said = "  1. price: 85.0 for 80.0 (2 pages): these may be records"
    assert f'{said}; DEDUP_KEY_FIELDS = ["price"] keeps all 2' in lines
    assert "    price 85.0 for 80.0" in lines
    assert "    price none for 80.0" in lines
    explained = CliRunner().invoke(main, ["explain", "http://shop.example/3", str(path)])
    assert "price 85.0 for 80.0" in explained.output


@pytest.mark.parametrize("seed", range(3))
def test_safe_is_only_what_differs_in_no_field(tmp_path: Path, seed: int) -> None:
    drawn, path = Random(seed), tmp_path / "pages.db"
    items = [product(n, price=drawn.choice("ab"), size=drawn.choice([1, 2, None])) for n in range(20)]
    index_of(path, items, RULES[0])
    kept, *copies = [(item["price"], item["size"]) for item in items]
    other = sum(copy != kept for copy in copies)
    assert told(path, "report")[1].endswith(
        f"of the copies {19 - other} safe, {other} with other fields"
    )


def test_long_values_and_many_fields_are_bounded_and_stay_different() -> None:
    long = {"a": "x" * 1_000_000}
    assert len(unjudged_of(long, ())) < 200
    assert unjudged_of(long, ()) != unjudged_of({"a": long["a"] + "y"}, ())
    many = {f"field {number}": number for number in range(10_000)}
    assert len(unjudged_of(many, ())) < 200
    assert json.loads(unjudged_of(many, ())) != json.loads(unjudged_of(many | {"field 7": 8}, ()))
    assert unjudged_of({"text": "x", "none": None, "empty": []}, ["text"]) == ""
