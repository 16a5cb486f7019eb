"""A pipeline for projects without asyncio: it answers later, by a Deferred."""

from __future__ import annotations

from typing import Any

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater


class Deferring:
    async def process_item(self, item: Any, spider: Any = None) -> Any:
        from twisted.internet import reactor

        later: Deferred[None] = Deferred()
        reactor.callLater(0.2, later.callback, None)  # type: ignore[arg-type]
        await maybe_deferred_to_future(later)
        return dict(item)


class Replacing:
    """The same, as pipelines were written before coroutines."""

    def process_item(self, item: Any, spider: Any = None) -> Any:
        from twisted.internet import reactor

        return deferLater(reactor, 0.05 * (1 + item["number"] % 3), dict, item)
