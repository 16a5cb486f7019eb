"""A crawl to be killed, whose storage writes down at once what it gets."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup.index import ledger
from tests.pages import text

BATCH = 10


def content_of(number: int) -> int:
    """Return which text the page of that *number* has: its own, or that of an earlier page."""
    rng = Random(f"content {number}")
    return number if number == 0 or rng.random() < 0.6 else content_of(rng.randrange(number))


def item_of(number: int, host: str = "a") -> dict[str, Any]:
    content = content_of(number)
    is_near = content != number and number % 2
    # A copy has more, and nothing that counts: the original is dropped for it, too.
    ids = " ".join(f"feed{one:04}" for one in range(1 + number % 3)) if is_near else ""
    found = f"{text(content)} {ids}".rstrip()
    return {"url": f"http://{host}/{number}", "text": found, "content": content}


class NumberedPages(Spider):
    """Asks for the pages that *numbers* names, ten at a time, whatever was asked for before."""

    name = "numbered"
    numbers = ""
    host = "a"

    async def start(self) -> AsyncIterator[Any]:
        numbers = self.numbers.split()
        for first in range(0, len(numbers), BATCH):
            batch = ",".join(numbers[first : first + BATCH])
            yield Request(f"data:,{batch}", self.parse, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        yield from (item_of(int(number), self.host) for number in response.body.decode().split(","))


class Ledger:
    """A storage after ours: a line for each item, written before the item is through."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Path(crawler.settings["LEDGER"]))

    def process_item(self, item: Any, spider: Any = None) -> Any:
        os.write(self._file, f"{item['url']} {item['content']}\n".encode())
        return item


class Forgetful:
    """Makes the index run out of memory for the first page that it is to record, and to confirm."""

    def __init__(self) -> None:
        for method in ("find_or_add_first", "confirm"):
            setattr(ledger.Ledger, method, _failing_once(getattr(ledger.Ledger, method)))

    def process_item(self, item: Any, spider: Any = None) -> Any:
        return item


def _failing_once(method: Callable[..., Any]) -> Callable[..., Any]:
    failures = [MemoryError()]

    def failing(*arguments: Any, **choices: Any) -> Any:
        if failures:
            raise failures.pop()
        return method(*arguments, **choices)

    return failing
