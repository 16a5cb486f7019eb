"""A spider and a storage for tests of what is asked for once more."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response

from tests.pages import text
from tests.plugin.spiders import ByText


class TwiceSpider(ByText):
    """Yields the same text from each of *names*, addresses in a row, in the way *how*.

    Its *statuses*, JSON, are what each address answers in turn, 200 at the end.
    """

    name = "twice"
    names = "first copy"
    how = "parse"
    method = "GET"
    statuses = "{}"

    async def start(self) -> AsyncIterator[Any]:
        if self.how == "no request":
            for name in self.names.split():
                yield {"url": f"http://a.example/{name}", "text": text(1)}
            await asyncio.sleep(2)  # Scrapy 2.13 does not wait for items of `start`
            return
        for number, name in enumerate(self.names.split()):
            yield Request(
                f"http://a.example/{name}",
                self.parse,
                method=self.method,
                errback=self.failed,
                priority=-number,
            )

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": text(1)}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield from self.parse(failure.value.response)


class Served:
    """A downloader middleware that answers for the network."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._asked: Counter[str] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Any) -> Served:
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> Response:
        name = request.url.rpartition("/")[2]
        statuses = json.loads(self._crawler.spider.statuses).get(name, [])
        asked, self._asked[name] = self._asked[name], self._asked[name] + 1
        self._crawler.stats.inc_value(f"asked/{name}")
        status = statuses[asked] if asked < len(statuses) else 200
        return HtmlResponse(request.url, status, body=b"<p>sea", encoding="utf-8", request=request)


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
        if self._later == "kill":
            os._exit(9)
        if self._later == "stop":
            self._closing = asyncio.ensure_future(close_spider(self._crawler))
            await asyncio.sleep(0.3)
        raise DropItem("storage does not want it", log_level="DEBUG")
