"""A spider and a storage for tests of what is asked for once more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response

from tests.plugin.spiders import ByText
from tests.support.pages import text

NAMES = ("first", "copy")


class TwiceSpider(ByText):
    """Yields the same text from two addresses in a row, in the way *how*."""

    name = "twice"
    how = "parse"
    method = "GET"

    async def start(self) -> AsyncIterator[Any]:
        if self.how == "no request":
            for name in NAMES:
                yield {"url": f"http://a.example/{name}", "text": text(1)}
            await asyncio.sleep(2)  # Scrapy 2.13 does not wait for items of `start`
            return
        for number, name in enumerate(NAMES):
            yield Request(f"http://a.example/{name}", self.parse, method=self.method, priority=-number)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": text(1)}


class Served:
    """A downloader middleware that answers for the network."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> Served:
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> Response:
        name = request.url.rpartition("/")[2]
        self._crawler.stats.inc_value(f"asked/{name}")
        return HtmlResponse(request.url, body=b"<p>sea", encoding="utf-8", request=request)


async def close_spider(crawler: Any) -> None:
    engine = crawler.engine
    if hasattr(engine, "close_spider_async"):
        await engine.close_spider_async(reason="shutdown")
    else:  # Scrapy 2.13
        await engine.close_spider(crawler.spider, "shutdown")


class Losing:
    """A pipeline that drops the first item of each of LOSES, until a copy was dropped; see LATER."""

    def __init__(self, crawler: Any) -> None:
        self._loses = crawler.settings.getlist("LOSES")
        self._later = crawler.settings.get("LATER", "")
        self._crawler = crawler
        self._is_dropped = asyncio.Event()
        crawler.signals.connect(self._dropped, signals.item_dropped)

    @classmethod
    def from_crawler(cls, crawler: Any) -> Losing:
        return cls(crawler)

    def _dropped(self, item: Any) -> None:
        self._is_dropped.set()

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        name = item["url"].rpartition("/")[2]
        if name not in self._loses:
            return item
        self._loses.remove(name)
        try:
            await asyncio.wait_for(self._is_dropped.wait(), 5 if self._later != "unseen" else 1.5)
        except TimeoutError:
            if self._later != "unseen":
                raise
        if self._later == "stop":
            self._closing = asyncio.ensure_future(close_spider(self._crawler))
            await asyncio.sleep(0.3)
        raise DropItem("storage does not want it", log_level="DEBUG")
