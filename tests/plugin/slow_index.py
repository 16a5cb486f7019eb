"""An index that takes its time: an extension that makes every question of a crawl slower."""

from __future__ import annotations

import time
from functools import wraps
from typing import Any

from scrapy.crawler import Crawler

from dedup.index.ledger import Ledger


class SlowIndex:
    """Adds ``SLOW_INDEX`` seconds to each question about a page and each confirmation."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SlowIndex:
        seconds = crawler.settings.getfloat("SLOW_INDEX")
        for name in ("find_or_add", "confirm"):
            setattr(Ledger, name, _slow(getattr(Ledger, name), seconds))
        return cls()


def _slow(ask: Any, seconds: float) -> Any:
    @wraps(ask)
    def slow(*arguments: Any, **choices: Any) -> Any:
        time.sleep(seconds)
        return ask(*arguments, **choices)

    return slow
