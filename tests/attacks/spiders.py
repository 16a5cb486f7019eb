"""Every kind of spider that Scrapy has, for one and the same site."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider, XMLFeedSpider

from tests.attacks.site import PAGES, PARTS, Known

# Nothing is skipped of start pages; these are to be skipped where they can be.
LINKED = {"depth": 1}


class Reading:
    """What the spiders have in common: *site* is its URL.

    With *several* a page gives an item for each of its parts.
    """

    site = ""
    several = ""

    def items(self, path: str) -> Iterator[dict[str, Any]]:
        page = next(page for page in PAGES if page.path == path)
        if self.several:
            yield from (self._item(page, number, page.part(number)) for number in range(PARTS))
        else:
            yield self._item(page, 0, page.html())

    def _item(self, page: Known, part: int, html: str) -> dict[str, Any]:
        about = {"content": page.content, "part": part, "is_copy": page.is_copy}
        return {"url": self.site + page.path, **about, "html": html}

    def items_of(self, response: Response) -> Iterator[dict[str, Any]]:
        return self.items(urlsplit(response.url).path)


class Plain(Reading, Spider):
    name = "plain"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/", self.parse, meta=LINKED)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        yield from response.follow_all(css="a", callback=self.items_of)


class Following(Reading, CrawlSpider):
    name = "following"
    rules = (Rule(LinkExtractor(allow=r"/[pc]/"), callback="items_of"),)

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/", meta=LINKED)


class Mapped(Reading, SitemapSpider):
    name = "mapped"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/sitemap.xml", self._parse_sitemap, meta=LINKED)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield from self.items_of(response)


class Fed(Reading, XMLFeedSpider):
    name = "fed"
    itertag = "page"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/feed.xml", meta=LINKED)

    def parse_node(self, response: Response, selector: Any) -> Iterator[Any]:
        yield from self.items(selector.xpath("path/text()").get())


class Asynchronous(Plain):
    name = "asynchronous"

    async def parse(  # type: ignore[override]
        self, response: Response, **kwargs: Any
    ) -> AsyncIterator[Any]:
        assert isinstance(response, TextResponse)
        for request in response.follow_all(css="a", callback=self.parse_page):
            yield request

    async def parse_page(self, response: Response) -> AsyncIterator[Any]:
        for item in self.items_of(response):
            yield item


class Starting(Reading, Spider):
    """Half of its items come from no response."""

    name = "starting"

    async def start(self) -> AsyncIterator[Any]:
        for number, path in enumerate(page.path for page in PAGES):
            if number % 2:
                yield Request(self.site + path, self.items_of, meta=LINKED)
            else:
                for item in self.items(path):
                    yield item


class Catching(Plain):
    """Every page has a broken link beside it, whose errback gives a record."""

    name = "catching"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for number, path in enumerate(page.path for page in PAGES):
            yield Request(self.site + path, self.items_of, errback=self.failed)
            yield Request(f"{self.site}/missing/{number}", self.items_of, errback=self.failed)

    def failed(self, failure: Any) -> Iterator[Any]:
        path = urlsplit(failure.value.response.url).path
        yield {"url": "", "content": path, "part": 0, "is_copy": False, "status": 404}


KINDS = (Plain, Following, Mapped, Fed, Asynchronous, Starting, Catching)
