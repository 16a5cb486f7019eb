"""Storage that is slow, waits for others or fails: pipelines and feeds of other people's projects."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.exporters import BaseItemExporter

from dedup.index.ledger import Ledger
from tests.plugin.spiders import ItemSpider


async def pause_until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        await asyncio.sleep(0.02)


def fail(item: Any) -> None:
    """Raise what the *fate* of an item says."""
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
    """Stands before ours; lets an item pass when its file *after* is there, *later* by some seconds.

    Makes its file *waits* before.
    """

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        if item.get("waits"):
            Path(item["waits"]).touch()
        if item.get("after"):
            await pause_until(Path(item["after"]).exists)
            await asyncio.sleep(item.get("later", 0))
        return item


class Gated:
    """Makes the file *reached* of an item, waits for its file *until*, then obeys its *delivery*."""

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        if item.get("reached"):
            Path(item["reached"]).touch()
        if item.get("until"):
            await pause_until(Path(item["until"]).exists)
        fail(item)
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


class OtherSpider(ItemSpider):
    name = "others"


class SlowIndex:
    """An extension that makes every question about a page and each confirmation take .02 seconds more."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SlowIndex:
        for name in ("find_or_add_first", "confirm"):
            setattr(Ledger, name, _slow(getattr(Ledger, name)))
        return cls()


def _slow(ask: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*given: Any, **choices: Any) -> Any:
        time.sleep(0.02)
        return ask(*given, **choices)

    return slow


class Forgetful:
    """Makes the index run out of memory for the first page that it is to record, and to confirm."""

    def __init__(self) -> None:
        for method in ("find_or_add_first", "confirm"):
            setattr(Ledger, method, _failing_once(getattr(Ledger, method)))

    def process_item(self, item: Any, spider: Any = None) -> Any:
        return item


def _failing_once(method: Callable[..., Any]) -> Callable[..., Any]:
    failures = [MemoryError()]

    def failing(*given: Any, **choices: Any) -> Any:
        if failures:
            raise failures.pop()
        return method(*given, **choices)

    return failing
