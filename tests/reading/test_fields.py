from collections import UserList, UserString, deque
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from itemadapter import ItemAdapter

from dedup.reading.fields import FieldRule, NoHtml, RawPage, item_key, long_texts, raw_page_of, texts_of
from tests.plugin.spiders import ScrapyItem

PAGE = "<html><p>The tide is low"
RULE = FieldRule()


def key(value: Any) -> str:
    return item_key(ItemAdapter({"sku": value}), ["sku"])


@pytest.mark.parametrize("parts", [(1, "a", 2.5), ("b", 3, None), (("x", 1), "x", 1)])
def test_the_key_of_a_set_does_not_depend_on_its_order(parts: tuple[Any, ...]) -> None:
    assert len({key(set(order)) for order in permutations(parts)}) == 1
    assert len({key(dict.fromkeys(order, 1)) for order in permutations(parts)}) == 1
    assert key([1, 2]) != key([2, 1]), "but that of a list is a part of it"


@pytest.mark.parametrize("made", [list, tuple])
@pytest.mark.parametrize(
    ("record", "rule"),
    [
        ({"url": "http://a/", "html": PAGE, "price": 7}, RULE),
        ({"url": "http://a/", "html": PAGE.encode()}, RULE),
        ({"url": "http://a/", "body": "<p>sea"}, RULE),
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


@pytest.mark.parametrize("value", [[PAGE, "b"], [], [[PAGE]], [None], [7], {PAGE}, {"a": PAGE}], ids=str)
def test_other_lists_are_no_html_and_no_url(value: Any) -> None:
    for name in ("html", "body"):
        with pytest.raises(NoHtml):
            raw_page_of({name: value}, RULE)
    assert raw_page_of({"url": value, "html": PAGE}, RULE) == RawPage(html=PAGE)


def test_a_text_beside_html_is_a_paragraph_of_it_and_several_texts_stay_texts_of_their_own() -> None:
    found = raw_page_of({"a": "Sea & <tide", "b": "<p>low"}, FieldRule(text_fields=("a", "b")))
    assert found == RawPage(html="<p>low\n<p>Sea &amp; &lt;tide</p>")
    found = raw_page_of({"text": ["Tide", "Sea"]}, FieldRule(text_fields=("text",)))
    assert found == RawPage(text="Tide\nSea")
    assert key(["s1"]) != key("s1")


LONG = "The tide is low and the boats lie in the sand until the water comes back in the evening " * 2
TYPES: dict[str, Callable[[str], Any]] = {
    "deque": lambda text: deque([text]),
    "list": lambda text: UserList([text]),
    "bytearray": lambda text: bytearray(text.encode()),
    "memoryview": lambda text: memoryview(text.encode()),
    "string": UserString,
    "nested": lambda text: deque([UserString(text)]),
}


@pytest.mark.parametrize("made", TYPES.values(), ids=TYPES)
def test_a_text_is_read_whatever_its_type(made: Callable[[str], Any]) -> None:
    rule, value = FieldRule(text_fields=("text",), key_fields=("text",)), made("Tide")
    same = ["Tide"] if isinstance(value, deque | UserList) else "Tide"
    assert raw_page_of({"text": value}, rule) == raw_page_of({"text": same}, rule)
    assert key([value, 1]) == key([same, 1])
    found, plain = (
        raw_page_of({"url": "http://a/", "html": of(PAGE), "lead": of(LONG)}, FieldRule())
        for of in (made, str)
    )
    assert found is not None
    assert plain is not None
    assert (found.markup, found.url, found.beside) == (plain.markup, plain.url, plain.beside)
    assert plain.beside == (LONG,)


def test_a_long_text_with_a_sign_that_could_not_be_decoded_is_read() -> None:
    long = LONG.replace("back", "back \ufffd")
    assert long_texts({"lead": long}) == long_texts({"lead": long.encode()}) == (long,)
    assert long_texts({"lead": long.encode("utf-16")}) == ()


@pytest.mark.parametrize("value", [float("nan"), Decimal("NaN"), np.float32("nan")], ids=repr)
def test_what_is_no_number_is_no_key(value: Any) -> None:
    assert key(value) == ""
    assert item_key({"sku": 7, "size": value}, ["sku", "size"]) == '["7",null]'


NAMED, TITLED, KEYED = (
    *(FieldRule(text_fields=("s",)), FieldRule(text_fields=("t",))),
    FieldRule(key_fields=("sku", "size")),
)
SEVEN = '{"by":"7"}'


@pytest.mark.parametrize(
    ("record", "rule", "expected"),
    [
        ({"html": "<html>h", "body": "b"}, RULE, RawPage(html="<html>h", unjudged='{"body":"b"}')),
        ({"html": "", "body": b"<b>b"}, RULE, RawPage(html=b"<b>b")),
        ({"html": "h", "s": "<p>x"}, NAMED, RawPage(html="<p>x", unjudged='{"html":"h"}')),
        ({"html": "h"}, NAMED, None),
        ({"s": b"\xef\xbb\xbf <!doctype html>x"}, NAMED, RawPage(html=b"\xef\xbb\xbf <!doctype html>x")),
        ({"s": ["<h1>x", "<p>y"]}, NAMED, RawPage(html="<h1>x\n<p>y")),
        ({"s": "<iostream> x"}, NAMED, RawPage(text="<iostream> x")),
        ({"s": b"\xff<p>"}, NAMED, RawPage(text="\\xff<p>")),
        ({"t": ["a", 1, "b"]}, TITLED, RawPage(text="a\n1\nb")),
        ({"t": [date(2026, 11, 1), {"b", "a"}]}, TITLED, RawPage(text="2026-11-01\na\nb")),
        ({"t": ScrapyItem(url="u", text="t")}, TITLED, RawPage(text="text\nt\nurl\nu")),
        ({"html": "h", "url": "u\ud800"}, RULE, RawPage(html="h", url="u\ud800")),
        ({"html": "h", "url": 7, "by": "", "tags": []}, RULE, RawPage(html="h")),
        ({"html": " <title>h", "by": 7}, RULE, RawPage(html=" <title>h", unjudged=SEVEN)),
        ({"html": b"<!--y-->\n<HEAD>h", "by": 7}, RULE, RawPage(html=b"<!--y-->\n<HEAD>h", unjudged=SEVEN)),
        ({"html": "h", "by": 7}, FieldRule(key_fields=("by",)), RawPage(html="h", item_key='["7"]', unjudged=SEVEN)),
        ({"html": "h", "size": 7}, KEYED, RawPage(html="h", item_key='[null,"7"]', unjudged='{"size":"7"}')),
    ],
)  # fmt: skip
def test_where_a_page_is(record: dict[str, object], rule: FieldRule, expected: RawPage | None) -> None:
    assert raw_page_of(record, rule) == expected


@pytest.mark.parametrize(
    "record",
    [
        {"title": "t", "text": "x"},
        {"url": "u", "by": "t", "body": "<p>x"},
        {"by": 7, "html": b"<header>x"},
        {"by": np.zeros(2), "html": "<p>x"},
        {"by": 7, "html": "<div><svg><title>like</title></svg><meta itemprop=price content=7></div>"},
        {"by": 7, "html": "<meta itemprop=name content=x><div>y</div>"},
        {"url": "u", "n": 1},
        {"body": "plain"},
        {"body": b"1 < 2"},
        {"html": 7},
    ],
)
def test_a_record_without_html_is_no_page_unless_fields_are_named(record: dict[str, object]) -> None:
    with pytest.raises(NoHtml):
        raw_page_of(record, RULE)
    raw_page_of(record, FieldRule(text_fields=("title",)))


DIFFERENT = [
    *({"size": "7"}, {"width": "7"}, ["7"], [["7"]], "7 ", b"\x80\xf0", b"\xf0\x80", b"\xc1\xc0"),
    *({"a": None, "b": 1}, {"a": 1, "b": None}, [["a"], "b"], ["a", ["b"]], 0, True, "7"),
]


def test_different_values_are_different_keys() -> None:
    keys = [item_key({"it": value}, ["it"]) for value in DIFFERENT]
    assert len(set(keys)) == len(keys)
    assert item_key({"it": 7}, ["it"]) == item_key({"it": "7"}, ["it"])


def test_the_names_in_a_mapping_are_texts_too() -> None:
    said = [list(texts_of({day: "9-17"})) for day in ("mon", "tue")]
    assert said == [["mon", "9-17"], ["tue", "9-17"]]
    assert list(texts_of({"none": None, "empty": []})) == []
