from __future__ import annotations

from collections import UserList, UserString, deque
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from itemadapter import ItemAdapter

from dedup.reading.fields import FieldRule, NoHtml, RawPage, item_key, long_texts, raw_page_of

PAGE = "<html><p>The tide is low"


def key(value: Any) -> str:
    return item_key(ItemAdapter({"sku": value}), ["sku"])


@pytest.mark.parametrize("parts", [(1, "a", 2.5), ("b", 3, None), (("x", 1), "x", 1)])
def test_the_key_of_a_set_does_not_depend_on_its_order(parts: tuple[Any, ...]) -> None:
    assert len({key(set(order)) for order in permutations(parts)}) == 1
    assert len({key(dict.fromkeys(order, 1)) for order in permutations(parts)}) == 1


def test_the_order_of_a_list_is_part_of_its_key() -> None:
    assert key([1, 2]) != key([2, 1])


@pytest.mark.parametrize("made", [list, tuple])
@pytest.mark.parametrize(
    ("record", "rule"),
    [
        ({"url": "http://a/", "html": PAGE, "price": 7}, FieldRule()),
        ({"url": "http://a/", "html": PAGE.encode()}, FieldRule()),
        ({"url": "http://a/", "body": "<p>sea"}, FieldRule()),
        ({"url": "http://a/", "part": "<p>sea"}, FieldRule(text_fields=("part",))),
        ({"url": "http://a/", "title": "Sea", "text": "Tide"}, FieldRule(text_fields=("title", "text"))),
    ],
    ids=str,
)
def test_one_text_in_a_list_is_that_text(made: Any, record: dict[str, Any], rule: FieldRule) -> None:
    listed = {name: made([value]) for name, value in record.items()}
    found = raw_page_of(listed, rule)
    assert found == raw_page_of(record, rule)
    assert found is not None
    assert found.url == "http://a/"


@pytest.mark.parametrize(
    "value", [[PAGE, "more"], [], [[PAGE]], [None], [7], {PAGE}, {"a": PAGE}], ids=str
)
def test_other_lists_are_no_html_and_no_url(value: Any) -> None:
    for name in ("html", "body"):
        with pytest.raises(NoHtml):
            raw_page_of({name: value}, FieldRule())
    found = raw_page_of({"url": value, "html": PAGE}, FieldRule())
    assert found == RawPage(html=PAGE)


def test_a_text_beside_html_is_a_paragraph_of_it() -> None:
    found = raw_page_of({"a": "Sea & <tide", "b": "<p>low"}, FieldRule(text_fields=("a", "b")))
    assert found == RawPage(html="<p>low\n<p>Sea &amp; &lt;tide</p>")


def test_several_texts_stay_texts_of_their_own() -> None:
    rule = FieldRule(text_fields=("text",))
    found = raw_page_of({"text": ["Tide", "Sea"]}, rule)
    assert found == RawPage(text="Tide\nSea")
    assert key(["s1"]) != key("s1")


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (deque(["Tide", "Sea"]), ["Tide", "Sea"]),
        (UserList(["Tide", "Sea"]), ["Tide", "Sea"]),
        (bytearray(b"Tide"), "Tide"),
        (memoryview(b"Tide"), "Tide"),
        (UserString("Tide"), "Tide"),
        (deque([UserString("Tide"), bytearray(b"Sea")]), ["Tide", "Sea"]),
    ],
    ids=["deque", "list", "bytearray", "memoryview", "string", "nested"],
)
def test_a_text_is_read_whatever_its_type(value: Any, same: Any) -> None:
    rule = FieldRule(text_fields=("text",), key_fields=("text",))
    assert raw_page_of({"text": value}, rule) == raw_page_of({"text": same}, rule)
    assert key([value, 1]) == key([same, 1])


@pytest.mark.parametrize(
    "made", [bytearray, UserString, lambda text: deque([text])], ids=["bytes", "text", "deque"]
)
def test_html_and_long_texts_are_read_whatever_their_type(made: Any) -> None:
    long = "The tide is low and the boats lie in the sand until the water comes back in the evening " * 2
    plain = {"url": "http://a/", "html": PAGE, "lead": long}
    made_of = {
        name: made(value.encode() if made is bytearray else value) for name, value in plain.items()
    }
    found, expected = (
        raw_page_of(made_of | {"url": "http://a/"}, FieldRule()),
        raw_page_of(plain, FieldRule()),
    )
    assert found is not None
    assert expected is not None
    assert (found.markup, found.url, found.beside) == (expected.markup, expected.url, expected.beside)


def test_a_long_text_with_a_sign_that_could_not_be_decoded_is_read() -> None:
    long = (
        "The tide is low and the boats lie in the sand until the water is back \ufffd in the evening. "
        * 2
    )
    assert long_texts({"lead": long}) == long_texts({"lead": long.encode()}) == (long,)
    assert long_texts({"lead": long.encode("utf-16")}) == ()


@pytest.mark.parametrize("value", [float("nan"), Decimal("NaN"), np.float32("nan")], ids=repr)
def test_what_is_no_number_is_no_key(value: Any) -> None:
    assert key(value) == ""
    assert item_key({"sku": 7, "size": value}, ["sku", "size"]) == '["7",null]'
