"""Spiders as people write them who never heard of us."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse


class PlainSpider(Spider):
    """A dict for every page of a site, which begins at the argument *url*."""

    name = "plain"

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {"title": response.css("title::text").get(), "url": response.url, "html": response.text}
        for link in response.css("a::attr(href)").getall():
            if response.urljoin(link).startswith(response.urljoin("/")):
                yield response.follow(link, self.parse)


class RenderedSpider(PlainSpider):
    """A spider whose pages are rendered by a browser."""

    name = "rendered"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.start_urls[0], self.parse, meta={"playwright": True})

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(response.css("a"), self.parse, meta={"playwright": True})
