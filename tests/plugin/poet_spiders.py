"""A spider whose items are made by a page object."""

# No postponed annotations: scrapy-poet reads them when the spider runs.
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.strangers import ScrapyQuote, UrlSpider

scrapy_poet = pytest.importorskip("scrapy_poet")
web_poet = pytest.importorskip("web_poet")


class QuotePage(web_poet.WebPage):  # type: ignore[misc, name-defined]
    @web_poet.field  # type: ignore[untyped-decorator]
    def url(self) -> str:
        return str(self.response.url)

    @web_poet.field  # type: ignore[untyped-decorator]
    def text(self) -> str | None:
        return self.css("p::text").get()  # type: ignore[no-any-return]

    async def to_item(self) -> ScrapyQuote:
        return ScrapyQuote(url=self.url, text=self.text)


class PoetSpider(UrlSpider):
    name = "poet"

    async def parse(self, response: scrapy_poet.DummyResponse, page: QuotePage) -> AsyncIterator[Any]:  # type: ignore[name-defined]
        yield await page.to_item()
        for link in page.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
