"""Storage that is slow, waits for others or fails: pipelines and feeds of other people's projects."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import AsyncIterator, Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Self
from unittest.mock import Mock
from zlib import crc32

from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.exporters import BaseItemExporter
from scrapy.http import HtmlResponse, Response

from dedup.index.index import Detector
from dedup.index.ledger import Ledger
from tests.plugin.spiders import HOST
from tests.support.pages import text


async def pause_until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        await asyncio.sleep(0.02)


def fail(item: Any) -> None:
    if item.get("fate") == "drop":
        raise DropItem("storage does not want it", log_level="DEBUG")
    if item.get("fate") == "fail":
        raise RuntimeError("storage is down")


class Slow:
    """Takes its time over every item, and hands on another object, unless its *fate* is another one."""

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        await asyncio.sleep(0.2)
        fail(item)
        return dict(item)


class Held:
    """Makes the file *waits* of an item, lets it pass when its file *after* is there, or *later*, in seconds."""

    makes, awaits = "waits", "after"

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        if item.get(self.makes):
            Path(item[self.makes]).touch()
        if item.get(self.awaits):
            await pause_until(Path(item[self.awaits]).exists)
            await asyncio.sleep(item.get("later", 0))
        return item


class Gated(Held):
    """Stands behind ours: does so with its files *reached* and *until*, then obeys its *fate*."""

    makes, awaits = "reached", "until"

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        fail(await super().process_item(item))
        return item


class Batching:
    """Holds items back until there are *size* of them, then lets all go at once."""

    size = 3

    def __init__(self) -> None:
        self._held = 0
        self._stored = 0

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        number = self._held
        self._held += 1
        if self._held - self._stored == self.size:
            self._stored = self._held
        await pause_until(lambda: number < self._stored)
        return item


class FailingFeed:
    """A feed storage that takes every item and fails when the feed is to be stored."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self._path = Path("/" + uri.removeprefix("failing://").partition("/")[2])

    def open(self, spider: Any) -> Any:
        return self._path.open("wb")

    def store(self, file: Any) -> Any:
        file.close()
        self._path.unlink()
        raise OSError("the upload failed")


class CollectingExporter(BaseItemExporter):
    """Writes all items when it has the last one, as exporters of spreadsheets do."""

    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self._file = file
        self._items: list[Any] = []

    def export_item(self, item: Any) -> None:
        self._items.append(item)

    def finish_exporting(self) -> None:
        pickle.dump(self._items, self._file)


class SlowIndex:
    """An extension that makes every question about a page and each confirmation take .02 seconds more."""

    def __init__(self) -> None:
        for name in ("find_or_add", "confirm"):
            _before(name, lambda: time.sleep(0.02))


class Forgetful:
    """An extension: the index runs out of memory for the first page that it is to record, and to confirm."""

    def __init__(self) -> None:
        for name in ("find_or_add", "confirm"):
            _before(name, Mock(side_effect=chain([MemoryError()], repeat(None))))


def _before(name: str, first: Callable[[], object]) -> None:
    method = getattr(Ledger, name)

    def ask(*given: Any, **choices: Any) -> Any:
        first()
        return method(*given, **choices)

    setattr(Ledger, name, ask)


class OfCrawler:
    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        return cls(crawler)


class FailingStorage(OfCrawler):
    """A pipeline that fails for the first items, as many as the setting FAILING says."""

    def __init__(self, crawler: Any) -> None:
        self._left = crawler.settings.getint("FAILING")

    def process_item(self, item: Any, spider: Any = None) -> Any:
        if self._left:
            self._left -= 1
            raise RuntimeError("storage is down")
        return item


class Losing(OfCrawler):
    """A pipeline that drops the first item of each of LOSES, until a copy was dropped; see LATER."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self._loses = crawler.settings.getlist("LOSES")
        self._later = crawler.settings.get("LATER", "")
        self._is_dropped = asyncio.Event()
        crawler.signals.connect(self._dropped, signals.item_dropped)

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


async def close_spider(crawler: Any) -> None:
    engine = crawler.engine
    if hasattr(engine, "close_spider_async"):
        await engine.close_spider_async(reason="shutdown")
    else:  # Scrapy 2.13
        await engine.close_spider(crawler.spider, "shutdown")


class LosingPage:
    """A pipeline after ours that loses the page at ``/p``."""

    def process_item(self, item: Any, spider: Any = None) -> Any:
        if item["url"].endswith("/p"):
            raise DropItem("not wanted", log_level="DEBUG")
        return item


class Breaking:
    """An extension that lets no page be fingerprinted; for a process of its own."""

    def __init__(self) -> None:
        def fails(*_: object, **__: object) -> None:
            raise RuntimeError("on purpose")

        Detector.sighting = fails  # type: ignore[assignment]


class Served(OfCrawler):
    """A downloader middleware that answers for the network."""

    def process_request(self, request: Request, spider: Any = None) -> Response:
        name = request.url.rpartition("/")[2]
        self._crawler.stats.inc_value(f"asked/{name}")
        return HtmlResponse(request.url, body=b"<p>sea", encoding="utf-8", request=request)


class Answering(OfCrawler):
    """Answers each request from the spider's site: URL -> [what it shows, links] or a URL to redirect to."""

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
        said, _, more = shows.partition("+")
        anchors = "".join(f"<a href='{link}'></a>" for link in links)
        body = f"<html><body data-shows='{shows}'><p>{text(crc32(said.encode()))} {more}</p>{anchors}</body></html>"
        return HtmlResponse(request.url, body=body.encode(), encoding="utf-8", request=request)


class Forgiving:
    """A spider middleware that takes every exception for no output."""

    def process_spider_exception(self, response: Any, exception: Any, spider: Any = None) -> list[Any]:
        return []


class Refusing:
    """A spider middleware that fails with what the first page gives."""

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        async for output in result:
            if "<!-- 0 -->" in response.text:
                raise RuntimeError("the middleware failed")
            yield output


class Hoarding:
    """A spider middleware that replaces every item, and passes nothing on before it has all."""

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        for output in [dict(output) if isinstance(output, dict) else output async for output in result]:
            yield output
