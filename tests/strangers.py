"""Spiders as people write them who never heard of us: this file is put into a project of Scrapy's.

It must import nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import attrs
from itemloaders.processors import Join, MapCompose, TakeFirst
from scrapy import Field, Item, Spider
from scrapy.http import HtmlResponse
from scrapy.loader import ItemLoader


class UrlSpider(Spider):
    """Begins at the argument *url*."""

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]


class PlainSpider(UrlSpider):
    """A dict for every page of a site."""

    name = "plain"

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {
            "title": response.css("title::text").get(),
            "url": response.url,
            "html": response.text,
        }
        for link in response.css("a::attr(href)").getall():
            if response.urljoin(link).startswith(response.urljoin("/")):
                yield response.follow(link, self.parse)


class QuotesSpider(UrlSpider):
    """Several dicts a page, all with its URL."""

    name = "quotes"

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        for quote in response.css("div.quote"):
            yield self.quote(
                url=response.url,
                text=quote.css("span.text::text").get(),
                author=quote.css("small.author::text").get(),
                tags=quote.css("a.tag::text").getall(),
            )
        yield from response.follow_all(css="li.next a", callback=self.parse)

    def quote(self, **fields: Any) -> Any:
        return fields


class ScrapyQuote(Item):
    url = Field()
    text = Field()
    author = Field()
    tags = Field()


@dataclass
class DataQuote:
    url: str
    text: str
    author: str
    tags: list[str]


@attrs.define
class AttrsQuote:
    url: str
    text: str
    author: str
    tags: list[str]


class ItemQuotes(QuotesSpider):
    name = "quotes_item"

    def quote(self, **fields: Any) -> Any:
        return ScrapyQuote(**fields)


class DataQuotes(QuotesSpider):
    name = "quotes_dataclass"

    def quote(self, **fields: Any) -> Any:
        return DataQuote(**fields)


class AttrsQuotes(QuotesSpider):
    name = "quotes_attrs"

    def quote(self, **fields: Any) -> Any:
        return AttrsQuote(**fields)


class PydanticQuotes(QuotesSpider):
    name = "quotes_pydantic"

    def quote(self, **fields: Any) -> Any:
        import pydantic  # what the other spiders do without

        model: Any = pydantic.create_model(
            "PydanticQuote", url=(str, ...), text=(str, ...), author=(str, ...), tags=(list[str], ...)
        )
        return model(**fields)


class QuoteLoader(ItemLoader):
    default_item_class = ScrapyQuote
    default_output_processor = TakeFirst()
    text_in = MapCompose(str.strip)
    tags_out = Join(" ")


class LoadedQuotes(QuotesSpider):
    name = "quotes_loader"

    def quote(self, **fields: Any) -> Any:
        loader = QuoteLoader()
        for name, value in fields.items():
            loader.add_value(name, value)
        return loader.load_item()
