"""A small site given as JSON, answered without a network, and a spider that follows it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from zlib import crc32

from scrapy import Request, Spider
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response

from tests.support.pages import text

HOST = "http://small.example"


class Answering:
    """Answers each request from the spider's site: URL -> [what it shows, links] or a URL to redirect to."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> Answering:
        return cls(crawler)

    async def process_request(self, request: Request, spider: Any = None) -> Response:
        # As a network does: else Scrapy 2.13 asks for all pages before it looks at the first.
        await asyncio.sleep(0.02)
        found = self._crawler.spider.site.get(request.url.removeprefix(HOST))
        self._crawler.stats.inc_value(f"fetched/{request.url.removeprefix(HOST)}")
        if found is None:
            return HtmlResponse(request.url, status=404, body=b"", request=request)
        if isinstance(found, str):
            return HtmlResponse(request.url, status=301, headers={"Location": found}, request=request)
        shows, links = found
        anchors = "".join(f"<a href='{link}'></a>" for link in links)
        body = f"<html><body data-shows='{shows}'><p>{text(crc32(shows.encode()))}</p>{anchors}</body></html>"
        return HtmlResponse(request.url, body=body.encode(), encoding="utf-8", request=request)


class SmallSpider(Spider):
    """Follows the links of each page in their order."""

    name = "small"
    site_json = "{}"

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.site = json.loads(self.site_json)

    async def start(self) -> AsyncIterator[Any]:
        yield Request(HOST + "/", self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        shows = response.css("body::attr(data-shows)").get()
        yield {"url": response.url, "html": response.text, "shows": shows}
        for number, link in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(link, self.parse, priority=-number)

    def parse_other(self, response: Response, extra: str = "") -> Iterator[Any]:
        yield from self.parse(response)


class Losing:
    """A pipeline after ours that loses the page at ``/p``."""

    def process_item(self, item: Any, spider: Any = None) -> Any:
        if item["url"].endswith("/p"):
            raise DropItem("not wanted", log_level="DEBUG")
        return item
