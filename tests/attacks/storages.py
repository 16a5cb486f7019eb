"""Pipelines that do what pipelines do to items; the add-on stands before or after them."""

from __future__ import annotations

from typing import Any

from scrapy.exceptions import DropItem
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred


class Replacing:
    def process_item(self, item: Any) -> Any:
        return dict(item)


class Dropping:
    """Drops what some pages say, wherever they say it."""

    def process_item(self, item: Any) -> Any:
        if item["content"] in (2, 5):
            raise DropItem("not wanted", log_level="DEBUG")
        return item


class Failing:
    """Fails for some pages, but not for their copies."""

    def process_item(self, item: Any) -> Any:
        if item["content"] in (1, 6) and not item["is_copy"]:
            raise RuntimeError("storage is down")
        return item


class Deferring:
    async def process_item(self, item: Any) -> Any:
        from twisted.internet import reactor

        later: Deferred[None] = Deferred()
        reactor.callLater(0.01, later.callback, None)  # type: ignore[arg-type]
        await maybe_deferred_to_future(later)
        return item


PIPELINES = (None, Replacing, Dropping, Failing, Deferring)
