"""Spiders as people write them who never heard of us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy import Field, Item, Spider
from scrapy.http import HtmlResponse


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
        yield {"title": response.css("title::text").get(), "url": response.url, "html": response.text}
        for link in response.css("a::attr(href)").getall():
            if response.urljoin(link).startswith(response.urljoin("/")):
                yield response.follow(link, self.parse)


class ScrapyQuote(Item):
    url = Field()
    text = Field()
    author = Field()
    tags = Field()
