"""What a page says of the record that it shows, in the forms of schema.org."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dedup import Page
from dedup.reading.page import pack, unpack

PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "Shirt"}
RELATED = {"@type": "Product", "sku": "B-2"}


def record_in(html: str) -> str:
    return Page.from_html(f"<html><head><title>Shirt</title></head><body>{html}</body></html>").record


def script(*data: Any, kind: str = "application/ld+json") -> str:
    texts = (one if isinstance(one, str) else json.dumps(one) for one in data)
    return "".join(f'<script type="{kind}">{one}</script>' for one in texts)


@pytest.mark.parametrize(
    ("html", "record"),
    [
        (script(PRODUCT | {"sku": "A-1"}), "sku=A-1"),
        (script(PRODUCT | {"sku": 17, "gtin13": "4006381333931"}), "sku=17"),
        (script(PRODUCT | {"gtin13": " 4006381 333931\n"}), "gtin13=4006381 333931"),
        (script(PRODUCT | {"sku": "A-1"}, PRODUCT | {"sku": "A-1", "gtin": "4"}), "sku=A-1"),
        (script(PRODUCT | {"offers": [{"sku": "A-1-M"}]}), "sku=A-1-M"),
        (script([PRODUCT | {"sku": "A-1"}, {"@type": "BreadcrumbList"}]), "sku=A-1"),
        (script({"@graph": [{"@type": "WebSite"}, PRODUCT | {"isbn": "978-3"}]}), "isbn=978-3"),
        (script(PRODUCT | {"offers": {"@type": "Offer", "sku": "A-1-M"}}), "sku=A-1-M"),
        (script(PRODUCT | {"sku": "A-1", "isRelatedTo": [RELATED]}), "sku=A-1"),
        (script(PRODUCT | {"sku": "A-1"}, PRODUCT | {"sku": "A-1"}), "sku=A-1"),
        (script("{ broken", PRODUCT | {"sku": "A-1"}), "sku=A-1"),
        (script(PRODUCT | {"sku": "A-1"}, kind="Application/LD+JSON; charset=utf-8"), "sku=A-1"),
        (script(PRODUCT | {"sku": "A-1"}, kind="application/ld&#x2B;json"), "sku=A-1"),
        (script(PRODUCT | {"sku": "A-1"}, kind="application/ld+json; charset=utf-8"), "sku=A-1"),
        ('<b itemprop="name">Shirt</b> <b itemprop="sku">A-1</b>', "sku=A-1"),
        ('<meta itemprop="gtin8 productID" content="4006">', "gtin8=4006"),
        ('<b itemprop="sku">A-1</b>' + script({"@type": "WebSite"}), "sku=A-1"),
        # Several records, and what is no id, name none.
        (script(PRODUCT | {"sku": "A-1"}, RELATED), ""),
        ('<b itemprop="sku">A-1</b><b itemprop="sku">A-2</b>', ""),
        (script(PRODUCT | {"offers": [{"sku": "A-1-M"}, {"sku": "A-1-L"}]}), ""),
        (script({"@type": ["Thing", "NewsArticle"]}, RELATED), ""),
        ('<aside><b itemprop="sku">B-2</b></aside>', ""),
        (script(PRODUCT | {"sku": True}), ""),
        (script(PRODUCT | {"sku": ["A-1"], "mpn": None, "isbn": "", "gtin": "9" * 101}), ""),
        (script("[" * 100_000), ""),
        (script('{"offers":' * 400 + "{}" + "}" * 400), ""),
        ('<div itemprop="sku">' * 1_900 + "<b></b>" * 20_000, ""),
        (script("7", "null", '"sku"', "[[]]", '{"@graph": 1}'), ""),
        (script(PRODUCT | {"sku": "A-1"}, kind="text/javascript"), ""),
    ],
)
def test_a_page_names_one_record_or_none(html: str, record: str) -> None:
    assert record_in(html) == record


def test_a_record_is_named_beside_the_language() -> None:
    links = '<link rel="alternate" hreflang="de" href="http://a/de">'
    page = Page.from_html(f'<html lang="de">{links}<b itemprop="sku">A-1</b>', url="http://a/de")
    assert (page.variant, page.record) == ("de", "sku=A-1")
    assert unpack(pack(page)).record == "sku=A-1"
