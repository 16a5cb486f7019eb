"""Every kind of spider that Scrapy has, for one site of which it is known how many pages are alike.

Beside them are pipelines that do what pipelines do to items; the add-on stands before or after them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.exceptions import DropItem
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider, XMLFeedSpider
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tests.pages import text

PARTS = 3


@dataclass(frozen=True)
class Known:
    """A page of the site, and what it says: copies have the *content* of another page."""

    path: str
    content: int
    is_copy: bool = False

    def part(self, number: int) -> str:
        """Return one of the `PARTS` of the page as a document of its own."""
        words = PARTS * self.content + number
        # A copy has an identifier more, and no word: neither loses anything with the other.
        said = text(words) + (" feed0000" if self.is_copy and number == 0 else "")
        return f"<html><body><h1>{self.path}</h1><p>{said}</p></body></html>"

    def html(self) -> str:
        """Return the whole page."""
        return "".join(self.part(number) for number in range(PARTS))


PAGES = [
    *(Known(f"/p/{number}.html", number) for number in range(8)),
    *(Known(f"/c/{number}.html", number, is_copy=True) for number in range(4)),
]


def files_of(url: str) -> dict[str, str | bytes]:
    """Return what stands under every path of the site at *url*."""
    links = "".join(f'<a href="{page.path}">{page.path}</a>' for page in PAGES)
    places = "".join(f"<url><loc>{url}{page.path}</loc></url>" for page in PAGES)
    nodes = "".join(
        f"<page><path>{page.path}</path><html>{escape(page.html())}</html></page>" for page in PAGES
    )
    return {
        "/": f"<html><body>{links}</body></html>",
        "/sitemap.xml": f"<?xml version='1.0'?><urlset>{places}</urlset>",
        "/feed.xml": f"<?xml version='1.0'?><pages>{nodes}</pages>",
        **{page.path: page.html() for page in PAGES},
    }


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


class Replacing:
    def process_item(self, item: Any) -> Any:
        return dict(item)


class Dropping:
    """Drops what some pages say, wherever they say it."""

    def process_item(self, item: Any) -> Any:
        if item["content"] in (2, 5):
            raise DropItem("not wanted", log_level="DEBUG")
        return item


class Failing:
    """Fails for some pages, but not for their copies."""

    def process_item(self, item: Any) -> Any:
        if item["content"] in (1, 6) and not item["is_copy"]:
            raise RuntimeError("storage is down")
        return item


class Deferring:
    async def process_item(self, item: Any) -> Any:
        from twisted.internet import reactor

        later: Deferred[None] = Deferred()
        reactor.callLater(0.01, later.callback, None)  # type: ignore[arg-type]
        await maybe_deferred_to_future(later)
        return item


PIPELINES = (None, Replacing, Dropping, Failing, Deferring)
