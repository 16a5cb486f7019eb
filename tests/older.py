"""Lets spiders of the tests run on Scrapy before 2.13, which asks for no `start`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scrapy import Spider, version_info

IS_OLDER = version_info < (2, 13)
needs_2_13 = pytest.mark.skipif(IS_OLDER, reason="came with Scrapy 2.13")
SETTINGS: dict[str, Any] = (
    {
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    }
    if IS_OLDER
    else {}
)
"""What newer releases have as defaults."""


def _start_requests(spider: Any) -> Iterator[Any]:
    """Yield what *spider* starts with, which must not wait for anything."""
    start = spider.start()
    while True:
        try:
            start.__anext__().send(None)
        except StopIteration as found:
            yield found.value
        except StopAsyncIteration:
            return
        else:
            raise RuntimeError("before Scrapy 2.13 `start` cannot wait")


def teach() -> None:
    """Have spiders with a `start` begin with it."""
    if IS_OLDER:
        kind: Any = Spider
        begin = kind.start_requests
        kind.start_requests = lambda spider: (
            _start_requests(spider) if hasattr(spider, "start") else begin(spider)
        )


teach()
