"""A crawl to be killed, whose storage writes down at once what it gets."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from tests.pages import edited, text

BATCH = 10


def content_of(number: int) -> int:
    """Return which text the page of that *number* has: its own, or that of an earlier page."""
    rng = Random(f"content {number}")
    return number if number == 0 or rng.random() < 0.6 else content_of(rng.randrange(number))


def item_of(number: int) -> dict[str, Any]:
    content = content_of(number)
    is_near = content != number and number % 2
    found = edited(content, 1 + number % 3) if is_near else text(content)
    return {"url": f"http://a/{number}", "text": found, "content": content}


class NumberedPages(Spider):
    """Asks for the pages that *numbers* names, ten at a time, whatever was asked for before."""

    name = "numbered"
    numbers = ""

    async def start(self) -> AsyncIterator[Any]:
        numbers = self.numbers.split()
        for first in range(0, len(numbers), BATCH):
            batch = ",".join(numbers[first : first + BATCH])
            yield Request(f"data:,{batch}", self.parse, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        yield from (item_of(int(number)) for number in response.body.decode().split(","))


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
