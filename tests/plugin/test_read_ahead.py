"""Responses are read before their callback where that saves work, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse

from dedup import Page
from dedup.model.limits import Excess
from dedup.plugin.pages import ItemReader, page_after_callback, page_from_item
from dedup.plugin.tracking import exchange_of
from dedup.prints.fingerprinter import fingerprint
from dedup.settings import DedupSettings
from tests.bounds import bounds
from tests.budget import examples

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。"
PAGE = f"<title>{ZH}</title><nav>all <a href=/>pages</a></nav><article>The tide {ZH * 9}</article>"


class Callbacks:
    """Callbacks of a spider; only their names matter."""

    @staticmethod
    def item(response: Response) -> None: ...

    @staticmethod
    def links(response: Response) -> None: ...


def answer(
    body: bytes,
    content_type: str = "text/html",
    callback: Any = Callbacks.item,
    kind: Any = HtmlResponse,
) -> Any:
    request = Request("http://a/", callback)
    return kind("http://a/", body=body, headers={"Content-Type": content_type}, request=request)


def reader(**values: Any) -> ItemReader:
    crawler = Crawler(Spider)
    crawler.spider = Spider("any")
    return ItemReader(crawler, DedupSettings(**values))


bodies = st.sampled_from(
    [
        PAGE.encode(),
        PAGE.encode("gb18030"),
        PAGE.encode("utf-16"),
        b"\xef\xbb\xbf" + PAGE.encode(),
        *(b"", b" \n", b"<p>plain and short</p>", b"<p>a\x00b</p>", bytes(range(256))),
        b"<!-- nothing -->",
        b"<p " + b" ".join(b"a%d" % n for n in range(3000)) + b">many</p>",
        b"<p>" + "é".encode("latin-1") * 300 + b"</p>",
        b"<p>" + "\ufdfa".encode() * 100 + b"</p>",  # 18 times as long in the normal form
    ]
)
content_types = st.sampled_from(
    [f"text/html{rest}" for rest in ("", *(f"; charset={name}" for name in ("utf-8", "gbk", "latin-1")))]
)
callbacks = st.sampled_from([Callbacks.item, Callbacks.links, None])
kinds = st.sampled_from([HtmlResponse, HtmlResponse, HtmlResponse, TextResponse])
changes = st.sampled_from(["nothing", "drop", "text", "all"])
htmls = st.sampled_from(["text", "text", "text", "body", "copy", "more", "other", "none"])
responses = st.tuples(bodies, content_types, callbacks, kinds, changes, st.lists(htmls, max_size=3))
# The second is between the lengths of one page in two encodings.
limits = st.sampled_from([4_000_000, 1000])


def change(response: TextResponse, what: str) -> None:
    """Do to the tree of *response* what callbacks do."""
    root = response.selector.root
    if what == "nothing" or isinstance(root, dict | list | int | type(None)):
        return
    for element in list(root.iter()) if what == "all" else list(root.iter("article", "p")):
        if what == "text":
            element.text = "changed"
        elif element.getparent() is not None:
            element.getparent().remove(element)


def html_of(response: TextResponse, kind: str) -> str | bytes | None:
    text = response.text
    made: dict[str, str | bytes] = {
        "text": text,
        "body": response.body,
        "copy": (text + "x")[:-1],
        "more": text + "<p>more</p>",
        "other": "<p>another page</p>",
    }
    return made.get(kind)


def outcome(read: Any) -> Any:
    try:
        return read()
    except Exception as error:
        return type(error)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(responses, min_size=1, max_size=4), st.integers(1, 6), limits)
def test_a_crawl_reads_items_as_if_nothing_had_been_read_before(
    found: list[Any], rounds: int, limit: int
) -> None:
    ahead, rule = reader(), DedupSettings().fields
    with bounds(MAX_BYTES=limit):
        for body, content_type, callback, kind, what, items in found * rounds:
            response = answer(body, content_type, callback, kind)
            ahead.read_ahead(response)
            change(response, what)
            for name in items:
                item = {"html": html_of(response, name)}
                page = outcome(
                    lambda item=item, response=response: ahead.read(item, response, is_only=False)[0]
                )
                fresh = answer(body, content_type, callback, kind)  # which nobody has read or changed
                alone = outcome(lambda item=item, fresh=fresh: page_from_item(item, rule, fresh))
                assert page == alone
                if isinstance(alone, Page):
                    assert fingerprint(page) == fingerprint(alone)


def test_a_response_that_was_too_long_says_nothing_of_a_text_that_is_not() -> None:
    response = answer(f"<p>{'tide ' * 150}</p>".encode("utf-16"), "text/html; charset=utf-16")
    item, rule = {"html": response.text, "url": "http://a/"}, DedupSettings().fields
    with bounds(MAX_BYTES=1000):
        unread = Page.unread(response.body, Excess.BYTES, url="http://a/")
        assert page_after_callback(response) == unread
        alone = page_from_item(item, rule)
        assert page_from_item(item, rule, response) == alone
    assert alone is not None
    assert alone.excess is None


def read_responses(
    ahead: ItemReader, html: list[str | None], callback: Any = Callbacks.item
) -> list[bool]:
    """Return which of as many responses were read before their callback gave an item, None for none."""
    were_read = []
    for number, kind in enumerate(html):
        response = answer(f"<p>page {number}</p>".encode(), callback=callback)
        ahead.read_ahead(response)
        were_read.append(exchange_of(response).page is not None)
        if kind:
            ahead.read({"html": html_of(response, kind)}, response, is_only=False)
    return were_read


def test_a_callback_is_read_ahead_once_its_item_has_held_all_of_a_response() -> None:
    ahead = reader()
    assert read_responses(ahead, ["text"] * 3) == [False, True, True]
    assert read_responses(ahead, ["text"], Callbacks.links) == [False]


@pytest.mark.parametrize("kind", [None, "other", "more"])
def test_a_crawl_without_such_items_reads_nothing_ahead(kind: str | None) -> None:
    assert not any(read_responses(reader(), [kind] * 5))
    assert not any(read_responses(reader(text_fields=("title",)), ["text"] * 5))


@pytest.mark.parametrize("kind", [Response, TextResponse])
def test_what_is_no_html_is_not_parsed(kind: Any) -> None:
    ahead = reader()
    read_responses(ahead, ["text"] * 10)
    response = answer(b'{"a": 1}', "application/json", kind=kind)
    ahead.read_ahead(response)
    assert exchange_of(response).page is None
    assert getattr(response, "_cached_selector", None) is None
