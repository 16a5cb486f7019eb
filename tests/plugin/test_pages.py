from __future__ import annotations

import random
from datetime import date
from typing import Any

import pytest
from scrapy.http import HtmlResponse, Response, TextResponse

from dedup import Page, compare
from dedup.plugin.pages import page_after_callback, page_from_item, page_from_response
from dedup.reading.fields import NoHtml
from dedup.settings import DedupSettings
from tests.pages import text
from tests.plugin.spiders import ScrapyItem

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。"

JA = "灯台守人階段毎晩秋天海豹岩場満潮"


def response(body: bytes, content_type: str = "text/html") -> HtmlResponse:
    return HtmlResponse("http://a/", body=body, headers={"Content-Type": content_type})


BODIES = pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<p>plain</p>", "text/html"),
        (f"<p>{ZH}</p>".encode(), "text/html; charset=utf-8"),
        (f"<p>{ZH}</p>".encode("gb18030"), "text/html; charset=gb2312"),
        (f"<p>{ZH * 3}</p>".encode("gb18030"), "text/html"),
        (f"<meta charset=gbk><p>{ZH}</p>".encode("gb18030"), "text/html"),
        (f"<p>{ZH}</p>".encode(), "text/html; charset=iso-8859-1"),
        (f"<p>{ZH}</p>".encode("gb18030"), "text/html; charset=utf-8"),
        (f"<p>{ZH}</p>".encode(), "text/html; charset=gbk"),
        (b"", "text/html"),
        (b"<p>a\x00b</p>", "text/html"),
        (bytes(range(256)), "text/html; charset=utf-8"),
        (b"\xef\xbb\xbf<p>marked</p>", "text/html"),
        (b"<!-- nothing -->", "text/html"),
        (b"  \n", "text/html"),
    ],
)


# Their text is not what their bytes say.
GARBLED = [
    (f"<p>{ZH}</p>".encode(), "text/html; charset=iso-8859-1"),
    (f"<p>{ZH}</p>".encode("gb18030"), "text/html; charset=utf-8"),
    (f"<p>{ZH}</p>".encode(), "text/html; charset=gbk"),
    (bytes(range(256)), "text/html; charset=utf-8"),
]


@BODIES
@pytest.mark.parametrize("as_text", [True, False])
def test_an_item_shares_the_tree_of_its_response(body: bytes, content_type: str, as_text: bool) -> None:
    origin = response(body, content_type)
    item = {"url": "http://b/", "html": origin.text if as_text else body}
    # Without a declaration each Scrapy guesses another encoding.
    is_guessed_wrongly = ZH.encode("gb18030") in body and ZH not in origin.text
    if as_text and ((body, content_type) in GARBLED or is_guessed_wrongly):
        declared = content_type.partition("charset=")[2]
        expected = Page.from_html(body, url="http://b/", encoding=declared)
    else:
        expected = page_from_item(item, DedupSettings().fields)  # type: ignore[assignment]
    assert page_from_item(item, DedupSettings().fields, origin) == expected
    read_before = response(body, content_type)
    page_from_response(read_before)
    assert page_from_item(item, DedupSettings().fields, read_before) == expected


@pytest.mark.parametrize(
    ("encoding", "content_type"),
    [
        ("gb18030", "text/html; charset=utf-8"),
        ("utf-8", "text/html; charset=iso-8859-1"),
        ("ascii", "text/html; charset=utf-16"),
        ("iso-2022-jp", "text/html; charset=utf-8"),
        ("iso-2022-jp", "text/html; charset=iso-2022-jp"),
    ],
)
def test_pages_are_told_apart_by_their_bytes_where_their_text_is_garbled(
    encoding: str, content_type: str
) -> None:
    words = text(1, 60).split() if encoding == "ascii" else [JA[n : n + 2] for n in range(0, 16, 2)]
    said = " ".join(random.Random(3).choices(words, k=60))
    other = " ".join(random.Random(4).choices(words, k=60))
    pages: list[Page] = []
    for content in (said, other):
        meta = f"<meta charset={encoding}>" if encoding == "iso-2022-jp" else ""
        origin = response(f"{meta}<p>{content}</p>".encode(encoding), content_type)
        found = page_from_item({"html": origin.text}, DedupSettings().fields, origin)
        assert found is not None
        assert " ".join(found.text.split()) == content
        pages.append(found)
    assert not compare(pages[0], pages[1]).is_duplicate


@pytest.mark.parametrize("as_text", [True, False])
def test_a_tree_that_a_callback_has_changed_is_not_what_is_judged(as_text: bool) -> None:
    body = f"<nav>all</nav><article>{ZH}</article><footer>pages</footer>".encode()
    origin = response(body, "text/html; charset=utf-8")
    origin.css("article").drop()
    whole = Page.from_html(body, url="http://a/")
    item = {"url": "http://a/", "html": origin.text if as_text else body}
    assert page_from_item(item, DedupSettings().fields, origin) == whole
    assert page_after_callback(origin) == whole


@BODIES
def test_a_response_reads_alike_before_and_after_its_callback(body: bytes, content_type: str) -> None:
    before, after = (response(body, content_type) for _ in range(2))
    assert page_from_response(before) == page_after_callback(after) == page_after_callback(before)


def test_an_item_with_other_html_is_read_by_itself() -> None:
    item = {"url": "http://b/", "html": "<p>cleaned</p>"}
    found = page_from_item(item, DedupSettings().fields, response(b"<p>as it came</p>"))
    assert found is not None
    assert found.text == "cleaned"


@BODIES
def test_a_response_reads_like_its_bytes(body: bytes, content_type: str) -> None:
    found = page_from_response(response(body, content_type))
    declared = content_type.partition("charset=")[2] or None
    expected = Page.from_html(body, url="http://a/", encoding=declared)
    assert found is not None
    assert (found.text, found.body_digest, found.url) == (
        expected.text,
        expected.body_digest,
        expected.url,
    )


def test_the_tree_of_a_response_is_shared_and_read_once() -> None:
    seen = response(b"<p>one</p>")
    root = seen.selector.root
    assert page_from_response(seen) is page_from_response(seen)
    assert seen.selector.root is root


@pytest.mark.parametrize(
    "other", [Response("http://a/", body=b"x"), TextResponse("http://a/", body=b"{}")]
)
def test_other_responses_are_no_pages(other: Response) -> None:
    assert page_from_response(other) is None


@pytest.mark.parametrize(
    ("item", "settings", "text"),
    [
        ({"html": "<html><p>a</p>", "body": "b", "text": "c"}, {}, "a"),
        ({"html": None, "body": b"<BODY><p>b</p>", "text": "c"}, {}, "b"),
        ({"body": "1 < 2", "html": "<!doctype html>h"}, {}, "h"),
        ({"text": ["a", 3, "b"], "more": "c"}, {"text_fields": ("text", "none", "more")}, "a\n3\nb\nc"),
        ({"map": {"d": "e", "c": {"f": True}}}, {"text_fields": ("map",)}, "c\nf\nTrue\nd\ne"),
        ({"when": date(2026, 11, 1)}, {"text_fields": ("when",)}, "2026-11-01"),
        ({"who": ScrapyItem(url="u", text="t")}, {"text_fields": ("who",)}, "text\nt\nurl\nu"),
        ({"tags": {"b", "a"}, "none": None}, {"text_fields": ("tags", "none")}, "a\nb"),
        ({"source": "<p>s", "html": "h"}, {"text_fields": ("source",)}, "s"),
        ({"title": "a < b", "source": b"<p>s"}, {"text_fields": ("title", "source")}, "s\na < b"),
        ({"html": "h"}, {"text_fields": ("source",)}, None),
        ("no item", {}, None),
    ],
)
def test_the_fields_that_are_judged(item: Any, settings: dict[str, Any], text: str | None) -> None:
    found = page_from_item(item, DedupSettings(**settings).fields)
    assert (found.text if found else None) == text


@pytest.mark.parametrize(("url", "expected"), [("http://a/", "http://a/"), (None, ""), (7, "")])
def test_a_url_is_text_or_unknown(url: Any, expected: str) -> None:
    found = page_from_item({"url": url, "html": "x"}, DedupSettings().fields)
    assert found is not None
    assert found.url == expected
    response = HtmlResponse("http://b/", body=b"<p>x")
    found = page_from_item({"url": url, "html": "x"}, DedupSettings().fields, response)
    assert found is not None
    assert found.url == (expected or "http://b/")


@pytest.mark.parametrize("item", [{"url": "http://a/", "text": "c"}, {"n": 3}, {"body": "plain"}, {}])
def test_records_are_no_pages(item: dict[str, Any]) -> None:
    with pytest.raises(NoHtml):
        page_from_item(item, DedupSettings().fields)
