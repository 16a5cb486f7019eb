from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from itemadapter import ItemAdapter

from dedup.reading.fields import FieldRule, NoHtml, RawPage, item_key, raw_page_of

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
        ({"link": "http://a/", "part": "<p>sea"}, FieldRule(html_field="part", url_field="link")),
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
    assert raw_page_of({"part": value}, FieldRule(html_field="part")) is None
    found = raw_page_of({"url": value, "html": PAGE}, FieldRule())
    assert found == RawPage(html=PAGE)


def test_several_texts_stay_texts_of_their_own() -> None:
    rule = FieldRule(text_fields=("text",))
    found = raw_page_of({"text": ["Tide", "Sea"]}, rule)
    assert found == RawPage(text="Tide\nSea")
    assert key(["s1"]) != key("s1")
