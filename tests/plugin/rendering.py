"""A spider whose pages may be rendered by a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request

from tests.strangers import UrlSpider


class RenderedSpider(UrlSpider):
    name = "rendered"

    def __init__(self, render: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._meta = {"playwright": True} if render else {}

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.start_urls[0], self.parse, meta=dict(self._meta))

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(response.css("a"), self.parse, meta=dict(self._meta))
