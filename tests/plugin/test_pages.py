"""What is judged of an item or a response, whatever was read or changed before."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples_of
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse

from dedup import Page, compare
from dedup.plugin.addon import read_settings
from dedup.plugin.pages import ItemReader, page_after_callback, page_from_response
from dedup.plugin.tracking import exchange_of
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.page import judged_part
from tests.support.budget import examples
from tests.support.crawling import bounds
from tests.support.pages import text

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。"

JA = "灯台守人階段毎晩秋天海豹岩場満潮"
URL = "http://a/"
HTML = "<p>as it came</p>"
WHOLE = f"<title>{ZH}</title><nav>all <a href=/>pages</a></nav><article>The tide {ZH * 9}</article>"


def response(body: bytes, content_type: str = "text/html; charset=utf-8") -> HtmlResponse:
    return HtmlResponse(URL, body=body, headers={"Content-Type": content_type})


def reader(**settings: Any) -> Any:
    crawler = Crawler(Spider, {f"DEDUP_{name.upper()}": value for name, value in settings.items()})
    crawler.spider = Spider("some")
    return ItemReader(crawler, read_settings(crawler.settings))


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
def test_pages_with_garbled_text_are_told_apart_by_their_bytes(encoding: str, content_type: str) -> None:
    words = text(1, 60).split() if encoding == "ascii" else [JA[n : n + 2] for n in range(0, 16, 2)]
    said = " ".join(random.Random(3).choices(words, k=60))
    other = " ".join(random.Random(4).choices(words, k=60))
    pages: list[Page] = []
    for content in (said, other):
        meta = f"<meta charset={encoding}>" if encoding == "iso-2022-jp" else ""
        origin = response(f"{meta}<p>{content}</p>".encode(encoding), content_type)
        found, _ = reader().read({"html": origin.text}, origin, is_only=False)
        assert found is not None
        assert " ".join(found.text.split()) == content
        pages.append(found)
    assert not compare(pages[0], pages[1]).is_duplicate


def test_the_tree_of_a_response_is_shared_and_read_once() -> None:
    seen = response(b"<p>one</p>")
    root = seen.selector.root
    assert page_from_response(seen) is page_from_response(seen)
    assert seen.selector.root is root


class Callbacks:
    """Callbacks of a spider; only their names matter."""

    @staticmethod
    def item(response: Response) -> None: ...

    @staticmethod
    def links(response: Response) -> None: ...


def answer(body: bytes, of: str = "text/html", callback: Any = Callbacks.item, kind: Any = None) -> Any:
    made = kind or HtmlResponse
    return made(URL, body=body, headers={"Content-Type": of}, request=Request(URL, callback))


BODIES = [
    *(WHOLE.encode(), WHOLE.encode("gb18030"), WHOLE.encode("utf-16"), b"\xef\xbb\xbf" + WHOLE.encode()),
    f"<meta charset=gbk><p>{ZH}</p>".encode("gb18030"),
    *(b"", b" \n", b"<p>plain and short</p>", b"<p>a\x00b</p>", bytes(range(256)), b"<!-- nothing -->"),
    b"<p " + b" ".join(b"a%d" % n for n in range(3000)) + b">many</p>",
    b"<p>" + "é".encode("latin-1") * 300 + b"</p>",
    b"<p>" + "\ufdfa".encode() * 100 + b"</p>",  # 18 times as long in the normal form
]
TYPES = [f"text/html{rest}" for rest in ("", "; charset=utf-8", "; charset=gbk", "; charset=latin-1")]
KINDS = [HtmlResponse, HtmlResponse, HtmlResponse, TextResponse]
CALLBACKS = [Callbacks.item, Callbacks.links, None]
uses = st.lists(st.sampled_from("text text text body copy more other none".split()), max_size=3)
choices = (BODIES, TYPES, CALLBACKS, KINDS, ["nothing", "drop", "text", "all"])
responses: Any = st.tuples(*map(st.sampled_from, choices), uses)  # type: ignore[arg-type]
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
    text, other = response.text, "<p>another page</p>"
    made = {"text": text, "copy": (text + "x")[:-1], "more": text + "<p>more</p>", "other": other}
    return response.body if kind == "body" else made.get(kind)


def outcome(read: Any) -> Any:
    try:
        return read()
    except Exception as error:
        return type(error)


@examples_of(max_examples=examples(150), deadline=None)
@given(st.lists(responses, min_size=1, max_size=4), st.integers(1, 6), limits)
def test_items_are_read_as_if_nothing_was_read_before(found: list[Any], rounds: int, limit: int) -> None:
    ahead = reader()
    with bounds(MAX_BYTES=limit):
        for body, content_type, callback, kind, what, items in found * rounds:
            response, before, after = (answer(body, content_type, callback, kind) for _ in range(3))
            pages = outcome(lambda one=before: page_from_response(one)), page_after_callback(after)
            assert pages[0] == pages[1] == page_after_callback(before)
            ahead.read_ahead(response)
            change(response, what)
            for name in items:
                item = {"html": html_of(response, name)}
                page = outcome(lambda it=item, of=response: ahead.read(it, of, is_only=False)[0])
                fresh = answer(body, content_type, callback, kind)  # which nobody has read or changed
                alone = outcome(lambda i=item, fresh=fresh: reader().read(i, fresh, is_only=False)[0])
                assert page == alone
                if isinstance(alone, Page):
                    assert fingerprint(page) == fingerprint(alone)


def test_a_callback_is_read_ahead_once_its_item_has_held_all_of_a_response() -> None:
    ahead, were_read = reader(), []
    for number, callback in enumerate([Callbacks.item] * 3 + [Callbacks.links]):
        response = answer(f"<p>page {number}</p>".encode(), callback=callback)
        ahead.read_ahead(response)
        were_read.append(exchange_of(response).page is not None)
        ahead.read({"html": response.text}, response, is_only=False)
    assert were_read == [False, True, True, False]


def test_an_only_item_is_judged_by_its_response_and_has_its_own_key() -> None:
    items, item = reader(key_fields=["sku"]), {"sku": 7, "html": "x"}
    page, kind = items.read(item, response(HTML.encode()), is_only=True)
    assert (page.text, page.url, page.item_key, kind) == ("as it came", URL, '["7"]', "page")


def test_where_the_response_is_no_page_an_only_item_is_judged_by_its_fields() -> None:
    page, kind = reader().read({"html": "<p>mine"}, Response(URL), is_only=True)
    assert (page.text, page.url, page.seen_on, kind) == ("mine", URL, None, "item")


def test_an_item_of_another_host_was_seen_on_that_of_its_response() -> None:
    item = {"html": "<p>mine", "url": "http://b.example/"}
    for origin, host in ((response(HTML.encode()), "a"), (None, "")):
        page, _ = reader().read(item, origin, is_only=False)
        assert (page.url, page.seen_on) == ("http://b.example/", host)


def test_of_items_that_hold_a_whole_response_the_first_is_its_page() -> None:
    def texts(origin: Response, **settings: Any) -> list[str]:
        items = ({"sku": sku, "html": HTML, "url": f"{URL}#{sku}"} for sku in (7, 8, 9))
        read = (reader(**settings).read(item, origin, is_only=False)[0] for item in items)
        return [page.text for page in read if page]

    assert texts(response(HTML.encode()), text_fields=["html"]) == ["as it came"]
    assert texts(response(HTML.encode()), key_fields=["sku"]) == ["as it came"] * 3


def test_an_item_that_comes_twice_is_the_same_page() -> None:
    origin, items = response(HTML.encode()), reader(text_fields=["html"])
    read = [items.read({"sku": 7, "html": it}, origin, is_only=False)[0] for it in (HTML, HTML, [HTML])]
    assert read[0] == read[1] == read[2] is not None


def by_spider(page_of: Callable[[Any], Any]) -> Any:
    made = reader()
    made._crawler.spider.dedup_page_from_item = page_of
    return made


def test_the_method_of_a_spider_goes_before_fields_and_gives_pages_or_none() -> None:
    made = by_spider(lambda _: Page.from_text("spider"))
    page, kind = made.read({"html": HTML}, response(HTML.encode()), is_only=False)
    assert (page.text, page.url, kind) == ("spider", URL, "item")
    assert by_spider(lambda _: None).read({}, None, is_only=False) == (None, "item")
    with pytest.raises(TypeError, match="must return a Page or None, not str"):
        by_spider(lambda _: "page").read({}, None, is_only=False)


STORY = f"<article><p>{text(1)}</p><p class=clock>It is noon. {text(2)}</p></article>"
QUOTED = f"<body><div class=quote>{text(3)} <a href=/x>x</a></div>{STORY}tail<article>{text(4)}</article></body>"


def judged(ignore: str = "", html: str = QUOTED) -> Page:
    return judged_part(Page.from_html(html), ignore, lambda: html)


def seeds(page: Page) -> set[int]:
    return {seed for seed in range(1, 5) if text(seed) in page.text}


@pytest.mark.parametrize(
    ("ignore", "found"), [("", {1, 2, 3, 4}), (".clock, .quote", {1, 4}), ("html", {1, 2, 3, 4})]
)
def test_what_is_selected_is_ignored(ignore: str, found: set[int]) -> None:
    page, whole = judged(ignore), Page.from_html(QUOTED)
    assert seeds(page) == found
    assert (page.links, page.body_digest) == (whole.links, whole.body_digest)
    assert len(page.tags) == len(page.depths)


@pytest.mark.parametrize(("ignore", "found"), [(".clock", {1, 3, 4}), ("article", {3}), ("p", {3})])
def test_a_second_document_in_a_page_is_a_part_of_it(ignore: str, found: set[int]) -> None:
    first, second = f"<html><body><div>{text(3)}</div></body></html>", f"{STORY}<article><p>{text(4)}"
    assert seeds(judged(ignore, first + second)) == found


@pytest.mark.parametrize("is_only", [True, False])
def test_items_with_html_are_judged_by_the_same_part(is_only: bool) -> None:
    chosen = reader(ignore=".clock, .quote")
    page, _ = chosen.read({"html": QUOTED}, response(QUOTED.encode()), is_only=is_only)
    assert seeds(page) == {1, 4}
