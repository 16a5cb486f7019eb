"""A spider whose pages are rendered by a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request

from tests.strangers import UrlSpider


class RenderedSpider(UrlSpider):
    name = "rendered"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.start_urls[0], self.parse, meta={"playwright": True})

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(response.css("a"), self.parse, meta={"playwright": True})
