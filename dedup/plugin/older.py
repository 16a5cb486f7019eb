"""What Scrapy 2.11 and 2.12 do not have; each part goes with the last release that lacks it."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import version_info
from scrapy.utils.defer import deferred_from_coro

from dedup.plugin.waiting import has_asyncio

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_T = TypeVar("_T")

HAS_LOG_LEVEL = version_info >= (2, 13)
"""Whether `DropItem` can set the level at which the drop is logged."""


def log_in_one_line(kind: type[Exception]) -> None:
    """Leave the drop of an item by an exception of *kind* to the line that its pipeline logs.

    Scrapy itself would log it a second time, with the whole item, as it cannot be told a level.
    """
    if not HAS_LOG_LEVEL:
        logging.getLogger("scrapy.core.scraper").addFilter(
            lambda line: (
                not (isinstance(line.args, dict) and isinstance(line.args.get("exception"), kind))
            )
        )


def item_pipeline(crawler: Crawler, kind: type[_T]) -> _T | None:
    """Return the pipeline of *kind* that *crawler* has, None for none."""
    if hasattr(crawler, "get_item_pipeline"):
        return crawler.get_item_pipeline(kind)
    return _first(crawler.engine.scraper.itemproc, kind)


def spider_middleware(crawler: Crawler, kind: type[_T]) -> _T | None:
    """Return the spider middleware of *kind* that *crawler* has, None for none."""
    if hasattr(crawler, "get_spider_middleware"):
        return crawler.get_spider_middleware(kind)
    return _first(crawler.engine.scraper.spidermw, kind)


def _first(manager: Any, kind: type[_T]) -> _T | None:
    return next((one for one in manager.middlewares if isinstance(one, kind)), None)


def keep_contexts(crawler: Crawler, current: ContextVar[Any]) -> None:
    """Let the fate of each item be told with the value that *current* got in its pipelines."""
    if version_info >= (2, 13):  # which has a context for each item
        return
    itemproc: Any = crawler.engine.scraper.itemproc
    process = itemproc.process_item

    def process_item(item: Any, spider: Any) -> Any:
        context = copy_context()
        done = context.run(process, item, spider)
        return done.addBoth(lambda result: (current.set(context.get(current)), result)[1])

    itemproc.process_item = process_item


def put_component(settings: BaseSettings, name: str, component: type, priority: int) -> None:
    """Put *component* into the setting *name*, unless it is there."""
    if hasattr(settings, "setdefault_in_component_priority_dict"):
        settings.setdefault_in_component_priority_dict(name, component, priority)
        return
    there = settings.getdict(name)
    path = f"{component.__module__}.{component.__qualname__}"
    shorter = f"dedup.plugin.{component.__qualname__}"
    if not {component, path, shorter} & there.keys():
        settings.set(name, {**there, component: priority}, settings.getpriority(name) or 0)


def close_spider(crawler: Crawler, reason: str) -> Any:
    """Begin to close the spider; return what must be kept alive until it is closed."""
    engine: Any = crawler.engine
    if not hasattr(engine, "close_spider_async"):  # before Scrapy 2.14
        return engine.close_spider(crawler.spider, reason)
    closing = engine.close_spider_async(reason=reason)
    return asyncio.ensure_future(closing) if has_asyncio() else deferred_from_coro(closing)
