"""How a crawl is ended from within."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro

from dedup.plugin.waiting import has_asyncio

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def close_spider(crawler: Crawler, reason: str) -> Any:
    """Begin to close the spider; return what must be kept alive until it is closed."""
    engine: Any = crawler.engine
    if not hasattr(engine, "close_spider_async"):  # before Scrapy 2.14
        return engine.close_spider(crawler.spider, reason)
    closing = engine.close_spider_async(reason=reason)
    return asyncio.ensure_future(closing) if has_asyncio() else deferred_from_coro(closing)
