"""Items that are records, not pages: kept, unless their fields are named; told apart by their keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from dedup import SQLiteIndex
from dedup.plugin.notices import advice
from dedup.plugin.project import read_settings
from tests.crawling import Crawl, crawl
from tests.pages import edited, text

LONG = text(1, 300)
PROSE = "The tide takes the sand from the beach and brings it back to the other side of the bay. " * 4
TEXTS: dict[str, Any] = {"DEDUP_TEXT_FIELDS": ["name", "description", "price", "address", "tags"]}


def items(folder: Path, *found: Any, spider: str = "RecordSpider", **settings: Any) -> Crawl:
    arguments = {"items": json.dumps(found)}
    return crawl(folder, f"tests.plugin.spiders.{spider}", settings, arguments)


def product(size: int, **fields: Any) -> dict[str, Any]:
    return {"sku": f"s{size}", "name": "Tea", "description": LONG, "price": size, **fields}


PRODUCTS = [product(size) for size in range(12)]


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
def test_records_are_kept_and_not_judged(tmp_path: Path, unchanged: str) -> None:
    for _ in range(2):
        done = items(tmp_path, *PRODUCTS, DEDUP_UNCHANGED=unchanged)
        assert done.items == PRODUCTS
        assert done.dedup() == {"seen": 12, "kept": 12, "not_judged": 12}
        assert (
            done.log.count("An item holds no whole page (its fields are sku, name, description, price)")
            == 1
        )
        assert ("come in every crawl" in done.log) == (unchanged == "drop")
        assert "items by `html`, if it is a whole page; others are not judged" in done.log
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert list(index.rows()) == []


def test_a_body_is_html_only_with_markup(tmp_path: Path) -> None:
    plain = [{"url": "http://a/1", "body": LONG}, {"url": "http://a/2", "body": LONG}]
    assert items(tmp_path, *plain).items == plain
    marked = [{"url": f"http://b/{n}", "body": f"<p>{LONG}</p>"} for n in range(2)]
    assert items(tmp_path, *marked).items == marked[:1]


@pytest.mark.parametrize("said", ["Thanks, that has solved it!", LONG], ids=["short", "long"])
@pytest.mark.parametrize("name", ["html", "body"])
def test_items_with_a_part_of_a_page_are_records(tmp_path: Path, name: str, said: str) -> None:
    posts = [{"id": n, "user": user, name: f"<div><p>{said}</p></div>"} for n, user in enumerate("abca")]
    done = items(tmp_path, *posts)
    assert done.items == posts
    assert done.log.count("holds no whole page") == 1
    named = items(tmp_path, *posts, DEDUP_TEXT_FIELDS=[name])
    assert named.items == posts[:1]


@pytest.mark.slow
@pytest.mark.parametrize("key_fields", [["price"], ["absent", "sku"]])
def test_items_that_differ_in_a_key_are_never_copies(tmp_path: Path, key_fields: list[str]) -> None:
    for unchanged, expected in (("keep", PRODUCTS), ("drop", [])):
        first = items(tmp_path, *PRODUCTS, DEDUP_KEY_FIELDS=key_fields, DEDUP_UNCHANGED="keep", **TEXTS)
        assert first.items == PRODUCTS
        again = items(
            tmp_path, *PRODUCTS[::-1], DEDUP_KEY_FIELDS=key_fields, DEDUP_UNCHANGED=unchanged, **TEXTS
        )
        assert sorted(again.items, key=lambda one: one["price"]) == expected
        assert again.dedup()["unchanged"] == 12


def test_the_same_key_again_is_judged_by_what_it_says(tmp_path: Path) -> None:
    done = items(
        tmp_path,
        product(1),
        product(1),
        product(1, description=text(2, 300)),
        DEDUP_KEY_FIELDS=["sku"],
        **TEXTS,
    )
    assert [item["description"] for item in done.items] == [LONG, text(2, 300)]
    assert 'Dropped exact_duplicate: <data:,start> ["s1"] repeats' in done.log


def test_a_changed_item_is_updated_by_its_key_wherever_it_is(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"DEDUP_KEY_FIELDS": ["sku"], "DEDUP_UNCHANGED": "drop", **TEXTS}
    items(tmp_path, product(1, url="http://a/1"), **chosen)
    done = items(tmp_path, product(1, url="http://b/moved", price=9), **chosen)
    assert done.dedup()["updated"] == len(done.items) == 1


def test_items_without_a_key_are_not_compared_with_those_that_have_one(tmp_path: Path) -> None:
    bare = {"name": "Tea", "description": LONG, "price": 1}
    done = items(tmp_path, product(1), bare, bare, DEDUP_KEY_FIELDS=["sku"], **TEXTS)
    assert len(done.items) == 2


def test_key_fields_go_with_html_too(tmp_path: Path) -> None:
    pages = [{"sku": n, "html": f"<p>{LONG}</p>"} for n in range(3)]
    assert items(tmp_path, *pages, DEDUP_KEY_FIELDS=["sku"]).items == pages


def test_items_of_one_response_are_siblings_and_come_again(tmp_path: Path) -> None:
    quotes = [{"name": text(n)} for n in range(5)] + [{"name": edited(0)}]
    first = items(tmp_path, *quotes, DEDUP_TEXT_FIELDS=["name"])
    second = items(tmp_path, *quotes, DEDUP_TEXT_FIELDS=["name"])
    assert first.items == second.items == quotes[:5]
    assert second.dedup()["unchanged"] == 6
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert {row.sighting.url for row in index.rows()} == {"data:,start"}


@pytest.mark.slow
def test_items_without_any_response_come_again(tmp_path: Path) -> None:
    found = [{"name": text(n)} for n in range(4)] + [{"name": "short"}, {"name": "other"}]
    runs = [items(tmp_path, *found, spider="StartItems", DEDUP_TEXT_FIELDS=["name"]) for _ in range(3)]
    assert [sorted(map(str, done.items)) for done in runs] == [sorted(map(str, found))] * 3
    dropped = items(
        tmp_path,
        *found,
        spider="StartItems",
        DEDUP_TEXT_FIELDS=["name"],
        DEDUP_UNCHANGED="drop",
    )
    assert dropped.items == []


def test_the_advice_names_settings_made_from_the_item() -> None:
    article = {"id": 7, "headline": "Sea", "text": LONG, "date": "2026-11-01"}
    said = advice(article, comes_again=False)
    assert said.endswith('DEDUP_TEXT_FIELDS = ["headline", "text"]')
    assert "\x1b" not in advice({"\x1b[31m": 1}, comes_again=True)


@pytest.mark.parametrize(
    "record",
    [
        {
            "url": "http://a/1",
            "link": "http://a/2",
            "guid": "g1",
            "id": 7,
            "title": "Sea",
            "text": PROSE,
        },
        {"isbn": "9780306406157", "key": "k", "identifier": "u", "sku": "s", "summary": "The sea."},
        {"href": "http://a/" + "tide-" * 80, "image": "data:image/png;base64," + "iVBO" * 90},
    ],
)
def test_no_key_and_no_address_is_proposed(record: dict[str, Any]) -> None:
    for of_page in (True, False):
        proposed = advice(record, comes_again=False, of_page=of_page).partition("different. ")[2]
        assert "KEY" not in proposed
        assert not set(record).intersection(re.findall(r'"(\w+)"', proposed)) - {
            "title",
            "text",
            "summary",
        }


@pytest.mark.parametrize(
    ("record", "named"),
    [
        (
            {"word": "tea", "definitions": ["a drink", "a meal"], "vulgarity": 3, "usage": {"use": 7}},
            '["definitions"]',
        ),
        ({"title": "Sea", "lines": ["The tide", "is low"], "sku": "s1"}, '["title", "lines"]'),
        ({"title": "Sea", "text": ["Low tide"]}, '["title", "text"]'),
        ({"headline": "Low tide", "sku": "s1", "price": 7}, "the names of the fields with their text"),
        ({"sku": "s1", "seen": [7, 8], "note": None}, "the names of the fields with their text"),
    ],
)
def test_no_field_is_proposed_that_the_item_has_not(record: dict[str, Any], named: str) -> None:
    said = advice(record, comes_again=False)
    assert said.endswith(f"judge them with DEDUP_TEXT_FIELDS = {named}")


def test_the_proposed_settings_find_the_copies(tmp_path: Path) -> None:
    found = [{"url": f"http://a/{n}", "guid": f"g{n}", "title": "Sea", "text": PROSE} for n in range(9)]
    said = items(tmp_path, *found).log
    proposed = re.search(r"DEDUP_TEXT_FIELDS = (\[.*?\])", said)
    assert proposed
    done = items(tmp_path, *found, DEDUP_TEXT_FIELDS=proposed[1])
    assert done.items == found[:1]


@pytest.mark.parametrize(
    ("record", "of_page", "proposed"),
    [
        ({"title": "Sea"}, True, 'one item, judge its response with DEDUP_SOURCE = "response"'),
        ({"content": f"<p>{LONG * 4}</p>"}, True, 'judge them with DEDUP_TEXT_FIELDS = ["content"]'),
        ({"content": [f"<p>{LONG * 4}</p>"]}, False, 'judge them with DEDUP_TEXT_FIELDS = ["content"]'),
        (
            {"name": "Pump", "note": "<p>Free delivery</p>"},
            False,
            "If these are articles",
        ),
        (
            {"title": "Sea", "text": PROSE},
            False,
            "If these are articles, judge them with DEDUP_TEXT_FIELDS",
        ),
    ],
)
def test_the_advice_knows_where_text_is(record: dict[str, Any], of_page: bool, proposed: str) -> None:
    said = advice(record, comes_again=False, of_page=of_page)
    assert proposed in said
    assert ("DEDUP_SOURCE" in said) == of_page


def test_a_key_that_every_item_has_its_own_of_is_warned_of_at_the_end(tmp_path: Path) -> None:
    same = [{"id": n, "size": n % 7, "text": LONG} for n in range(30)]
    done = items(tmp_path, *same, DEDUP_TEXT_FIELDS=["text"], DEDUP_KEY_FIELDS=["id"])
    assert len(done.items) == 30
    assert "DEDUP_KEY_FIELDS (id) was different in each of 30 items" in done.log
    (tmp_path / "sizes").mkdir()
    sizes = items(tmp_path / "sizes", *same, DEDUP_TEXT_FIELDS=["text"], DEDUP_KEY_FIELDS=["size"])
    assert len(sizes.items) == 7
    assert "was different in each" not in sizes.log


@pytest.mark.parametrize(
    "written", ["text,title", "['text', 'title']", '["text", "title"]', "[text, title]", "('text',)"]
)
def test_a_list_is_understood_however_it_was_pasted(written: str) -> None:
    named = read_settings(Settings({"DEDUP_TEXT_FIELDS": written})).text_fields
    assert named in {("text", "title"), ("text",)}


def test_named_fields_that_no_item_has_are_warned_of_and_so_that_nothing_was_judged(
    tmp_path: Path,
) -> None:
    found = [{"title": "Sea", "text": LONG}] * 3
    before = {"tests.plugin.spiders.Replacing": 100}
    done = items(tmp_path, *found, DEDUP_TEXT_FIELDS=["txet", "body"], ITEM_PIPELINES=before)
    assert len(done.items) == 3
    said = 'An item has nothing in the fields that DEDUP_TEXT_FIELDS names, ["txet", "body"]: it is kept'
    assert done.log.count(said) == 1
    assert "Its fields are title, text, cleaned, after Replacing; is a name misspelt" in done.log
    assert "NOTHING WAS JUDGED: no item has a field that DEDUP_TEXT_FIELDS names" in done.log


def test_html_in_several_texts_is_judged_where_its_field_is_named(tmp_path: Path) -> None:
    parts = [
        {"url": f"http://a/{number}", "html": [f"<p>{LONG}</p>", "<p>More</p>"]} for number in (1, 2)
    ]
    assert items(tmp_path, *parts, DEDUP_TEXT_FIELDS="html").items == parts[:1]


def test_a_key_that_no_item_has_is_warned_of(tmp_path: Path) -> None:
    done = items(tmp_path, product(1), product(2), DEDUP_KEY_FIELDS=["skuu"], **TEXTS)
    assert 'names, ["skuu"]: nothing tells it from items with a like text' in done.log
    assert "NOTHING WAS JUDGED" not in done.log


def test_a_single_name_that_no_item_has_is_told_at_the_end(tmp_path: Path) -> None:
    done = items(tmp_path, product(1), DEDUP_TEXT_FIELDS=["description", "titel"])
    assert 'DEDUP_TEXT_FIELDS names ["titel"], which no item had' in done.log
    assert "An item has nothing in the fields" not in done.log


def test_the_summary_says_why_nothing_was_judged(tmp_path: Path) -> None:
    done = items(tmp_path, *PRODUCTS)
    assert "NOTHING WAS JUDGED: the items hold no whole pages, and no fields were named" in done.log


def test_the_summary_counts_copies_that_lose_more_than_a_few_words(tmp_path: Path) -> None:
    # What is common on a site is known from its hundredth page on.
    pages = [text(seed, 300) for seed in range(120)] + [edited(seed, 25, 300) for seed in range(60)]
    found = ({"url": f"http://a/{n}", "html": f"<p>{page}</p>"} for n, page in enumerate(pages))
    done = items(tmp_path, *found)
    assert len(done.items) < 140
    assert re.search(
        r"  \d+ copies lose (about )?(\d+ to )?\d+ words, most: http://a/\d+ \(\w", done.log
    )
    assert done.dedup()["doubtful"] > 20


@pytest.mark.parametrize(("price", "said"), [(85, True), (80, False)])
def test_copies_with_other_fields_are_counted(tmp_path: Path, price: int, said: bool) -> None:
    found = [product(80, url="http://a/1"), product(80, url="http://a/2", price=price)]
    done = items(tmp_path, *found, DEDUP_TEXT_FIELDS=["name", "description"])
    assert len(done.items) == 1
    assert done.dedup().get("other_fields", 0) == said
    assert ("1 of the same text as the page kept, but with other fields" in done.log) is said


def test_a_key_that_keeps_what_differs_is_proposed_by_name(tmp_path: Path) -> None:
    found = [product(80 + n, url=f"http://a/{n}", sku=f"s{n}") for n in range(3)]
    done = items(tmp_path, *found, DEDUP_TEXT_FIELDS=["name", "description"])
    assert len(done.items) == 1
    said = "copies differ in other fields, as sku: s1 for s0 (2 pages): these may be records; "
    assert said + 'DEDUP_KEY_FIELDS = ["sku"] keeps all 2' in done.log
    assert (
        len(
            items(
                tmp_path, *found, DEDUP_TEXT_FIELDS=["name", "description"], DEDUP_KEY_FIELDS=["sku"]
            ).items
        )
        == 3
    )
