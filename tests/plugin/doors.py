"""A spider for the tests on responses that are judged before their callback."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from scrapy import Request, Spider
from scrapy.http import Response

from dedup.index.detector import Detector


class DoorSpider(Spider):
    """Requests a page for each of *contents* (JSON), one after the other, with the callback *how*.

    Every page comes with two links, one of its own and one that all have.
    """

    name = "doors"
    contents = "[]"
    how = "parse"
    meta = "{}"

    async def start(self) -> AsyncIterator[Any]:
        for number, content in enumerate(json.loads(self.contents)):
            # Scrapy 2.13 would bring the next page before this one's callback has ended.
            while number and not self._is_quiet():
                await asyncio.sleep(0.02)
            links = f'<a href="http://127.0.0.1:9/{number}">1</a><a href="http://127.0.0.1:9/all">2</a>'
            page = f"<html><body><p>{content}</p><!-- {number} -->{links}</body></html>"
            yield Request(
                f"data:text/html;charset=utf-8,{quote(page)}",
                getattr(self, self.how),
                priority=-number,
                meta=json.loads(self.meta),
            )

    def _is_quiet(self) -> bool:
        engine: Any = self.crawler.engine
        is_waiting = engine._slot.scheduler.has_pending_requests() or engine.downloader.active
        return engine.scraper.slot.is_idle() and not is_waiting

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url[-6:], "text": response.css("p::text").get()}
        for link in response.css("a"):
            yield Request(link.attrib["href"], self.parse, meta={"dont_retry": True})

    def no_item(self, response: Response) -> Iterator[Any]:
        yield from (output for output in self.parse(response) if isinstance(output, Request))

    def two_items(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url[-6:], "text": "first " + str(response.css("p::text").get())}
        yield {"url": response.url[-6:], "text": "second"}

    def late_item(self, response: Response) -> Iterator[Any]:
        """Give no item of the first page."""
        is_first = "<!-- 0 -->" in response.text
        yield from self.no_item(response) if is_first else self.parse(response)

    def fail(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url[-6:], "text": None}
        if "<!-- 0 -->" in response.text:
            raise RuntimeError("the callback failed")


class Breaking:
    """A pipeline that lets no page be fingerprinted; for a process of its own."""

    def __init__(self) -> None:
        def fails(*_: object, **__: object) -> None:
            raise RuntimeError("on purpose")

        Detector.sighting = fails  # type: ignore[assignment]

    def process_item(self, item: Any, spider: Any = None) -> Any:
        return item


class Forgiving:
    """A spider middleware that takes every exception for no output."""

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Any = None
    ) -> Iterable[Any]:
        return []


class FailingStorage:
    """A pipeline that fails for the first items, as many as the setting FAILING says."""

    def __init__(self, left: int) -> None:
        self._left = left

    @classmethod
    def from_crawler(cls, crawler: Any) -> FailingStorage:
        return cls(crawler.settings.getint("FAILING"))

    def process_item(self, item: Any, spider: Any = None) -> Any:
        if self._left:
            self._left -= 1
            raise RuntimeError("storage is down")
        return item


class Refusing:
    """A spider middleware that fails with what the first page gives."""

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        async for output in result:
            if "<!-- 0 -->" in response.text:
                raise RuntimeError("the middleware failed")
            yield output


class LinksSpider(Spider):
    """Requests broken links; its errback gives a record for each, as link checkers do."""

    name = "links"
    url = ""

    async def start(self) -> AsyncIterator[Any]:
        for number in range(10):
            yield Request(f"{self.url}broken/{number}", self.parse, errback=self.failed)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"link": failure.value.response.url, "status": failure.value.response.status}


class ManySpider(Spider):
    """Gives thousands of equal items of one exempt request."""

    name = "many"
    count = "3000"

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:text/html,<p>sea", self.parse, meta={"dedup": False})

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        for number in range(int(self.count)):
            yield {"url": f"http://a/{number}", "html": "<p>The tide turns twice a day."}


class Hoarding:
    """A spider middleware that replaces every item, and passes nothing on before it has all."""

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        for output in [dict(output) if isinstance(output, dict) else output async for output in result]:
            yield output


class HoldingSpider(Spider):
    """Follows pages that link to the next one, and puts into its stats how many responses still live."""

    name = "holding"
    pages = "120"

    async def start(self) -> AsyncIterator[Any]:
        self.living: WeakSet[Response] = WeakSet()
        yield self._page(0)

    def _page(self, number: int) -> Request:
        words = " ".join(f"word{number}of{place}" for place in range(60))
        return Request(f"data:text/html,<p>{words}</p>", cb_kwargs={"number": number})

    def parse(self, response: Response, number: int = 0) -> Iterator[Any]:
        self.living.add(response)
        yield {"url": f"http://a.example/{number}", "html": response.text}
        if number < int(self.pages):
            yield self._page(number + 1)

    def closed(self, reason: str) -> None:
        gc.collect()
        assert self.crawler.stats
        self.crawler.stats.set_value("living", len(self.living))


class DocumentSpider(Spider):
    """Gives an item for each of ten documents of equal bytes, and for another one."""

    name = "documents"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(11):
            body = quote(f"%PDF-1.7 \x00 {number // 10}")
            yield Request(f"data:application/pdf;sid={number},{body}", priority=-number)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "size": len(response.body)}
