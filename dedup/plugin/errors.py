"""What the pipeline raises, and how it ends a crawl."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_from_coro

from dedup.plugin.older import HAS_LOG_LEVEL, log_in_one_line
from dedup.plugin.waiting import has_asyncio
from dedup.rule.loss import loses
from dedup.values.errors import DedupError
from dedup.values.printable import printable
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_LONGEST_NAME = 80


class DuplicatePage(DropItem):
    """The item repeats one that was kept; *verdict* names it.

    The pipeline logs a line of its own, so Scrapy, which logs the whole item, is to log none.
    """

    def __init__(self, url: str, verdict: Verdict, name: str = "") -> None:
        message: Any = DropReason(url, verdict, name)
        super().__init__(message, **({"log_level": "NOTSET"} if HAS_LOG_LEVEL else {}))
        self.verdict = verdict


log_in_one_line(DuplicatePage)


@dataclass(frozen=True, slots=True)
class DropReason:
    """What `explained` returns, built only when somebody reads it: most logs leave it out."""

    url: str
    verdict: Verdict
    name: str = ""

    def __str__(self) -> str:
        return explained(self.url, self.verdict, self.name)


def explained(url: str, verdict: Verdict, name: str = "") -> str:
    """Return one line on a dropped page: URL, reason, canonical, loss, distances in bits, similarity.

    *name* stands for an item without URL: its key, or its first line.
    """
    similarity = "-" if verdict.similarity is None else f"{verdict.similarity:.2f}"
    lost = "" if verdict.lost is None else f": loses {loses(verdict.lost, verdict.words)}"
    return (
        f"{verdict.reason}: {_shown(url, name)} repeats {_shown(verdict.canonical_url)}{lost} "
        f"(content distance {_number(verdict.content_distance)}, "
        f"structure distance {_number(verdict.structure_distance)}, similarity {similarity})"
    )


def _shown(url: str, name: str = "") -> str:
    if url:
        return f"<{printable(url)}>" + (f" {printable(name, _LONGEST_NAME)}" if name else "")
    return f'"{printable(name, _LONGEST_NAME)}"' if name else "an item without URL"


def _number(distance: int | None) -> str:
    return "-" if distance is None else str(distance)


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index, before any feed was opened."""

    # Scrapy logs it with its traceback, which tells a user nothing.
    __traceback__ = None


def close_spider(crawler: Crawler, reason: str) -> Any:
    """Begin to close the spider; return what must be kept alive until it is closed."""
    engine: Any = crawler.engine
    if not hasattr(engine, "close_spider_async"):  # before Scrapy 2.14
        return engine.close_spider(crawler.spider, reason)
    closing = engine.close_spider_async(reason=reason)
    return asyncio.ensure_future(closing) if has_asyncio() else deferred_from_coro(closing)
