from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from dedup import Page
from dedup.plugin.pages import ItemReader, name_of
from dedup.plugin.project import read_settings
from dedup.reading.fields import NoHtml

URL = "http://a.example/1"
HTML = "<p>as it came</p>"


def reader(**settings: Any) -> ItemReader:
    crawler = Crawler(Spider, {f"DEDUP_{name.upper()}": value for name, value in settings.items()})
    crawler.spider = Spider("some")
    return ItemReader(crawler, read_settings(crawler.settings))


def response(url: str = URL) -> Response:
    return HtmlResponse(url, body=HTML.encode(), encoding="utf-8")


def test_an_only_item_is_judged_by_its_response_and_has_its_own_key() -> None:
    page, kind = reader(key_fields=["sku"]).read({"sku": 7, "html": "x"}, response(), is_only=True)
    assert page is not None
    assert (page.text, page.url, page.item_key, kind) == ("as it came", URL, '["7"]', "page")


def test_where_the_response_is_no_page_an_only_item_is_judged_by_its_fields() -> None:
    page, kind = reader().read({"html": "<p>mine"}, Response(URL), is_only=True)
    assert page is not None
    assert (page.text, page.url, page.seen_on, kind) == ("mine", URL, None, "item")


def test_an_item_of_another_host_was_seen_on_that_of_its_response() -> None:
    item = {"html": "<p>mine", "url": "http://b.example/"}
    page, _ = reader().read(item, response(), is_only=False)
    assert page is not None
    assert (page.url, page.seen_on) == ("http://b.example/", "a.example")
    page, _ = reader().read(item, None, is_only=False)
    assert page is not None
    assert page.seen_on == ""


def test_of_items_that_hold_a_whole_response_the_first_is_its_page() -> None:
    def texts(origin: Response, **settings: Any) -> list[str]:
        items = ({"sku": sku, "html": HTML, "url": f"{URL}#{sku}"} for sku in (7, 8, 9))
        read = (reader(**settings).read(item, origin, is_only=False)[0] for item in items)
        return [page.text for page in read if page]

    assert texts(response(), text_fields=["html"]) == ["as it came"]
    assert texts(response(), key_fields=["sku"]) == ["as it came"] * 3


def test_an_item_that_comes_twice_is_the_same_page() -> None:
    origin, items = response(), reader(text_fields=["html"])
    read = [
        items.read({"sku": 7, "html": html}, origin, is_only=False)[0] for html in (HTML, HTML, [HTML])
    ]
    assert read[0] == read[1] == read[2] is not None


def by_spider(page_of: Callable[[Any], Any]) -> ItemReader:
    made = reader()
    made._crawler.spider.dedup_page_from_item = page_of  # type: ignore[union-attr]
    return made


def test_the_method_of_a_spider_goes_before_fields() -> None:
    made = by_spider(lambda _: Page.from_text("spider"))
    page, kind = made.read({"html": HTML}, response(), is_only=False)
    assert page is not None
    assert (page.text, page.url, kind) == ("spider", URL, "item")


def test_the_method_of_a_spider_may_give_none_and_nothing_but_pages() -> None:
    assert by_spider(lambda _: None).read({}, None, is_only=False) == (None, "item")
    with pytest.raises(TypeError, match="must return a Page or None, not str"):
        by_spider(lambda _: "page").read({}, None, is_only=False)


def test_an_item_without_html_is_no_page() -> None:
    with pytest.raises(NoHtml):
        reader().read({"title": "Sea"}, response(), is_only=False)


@pytest.mark.parametrize(
    ("url", "key", "name"),
    [("", "", "first line"), (URL, "", ""), (URL, '["7"]', '["7"]'), ("", '["7"]', '["7"]')],
)
def test_names(url: str, key: str, name: str) -> None:
    page = Page.from_text(" \n  first line \nsecond", url=url)
    assert name_of(replace(page, item_key=key)) == name


def test_an_empty_page_has_no_name() -> None:
    assert not name_of(Page.from_text(" \n "))
