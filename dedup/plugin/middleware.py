"""The spider middleware, which sees a response together with all that its callback yields."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Protocol, Self

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import arg_to_iter
from twisted.internet.defer import Deferred

from dedup.front.settings import DedupSettings
from dedup.plugin.pages import key_of
from dedup.plugin.pipeline import BesidePipeline
from dedup.plugin.requests import mark_link
from dedup.plugin.settings import only_looks, read_settings
from dedup.plugin.tracking import Exchange, Token, Tracker, TrackingPipeline, exchange_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class HandOver(Protocol):
    """Tells of an item that comes next; one that *is_only* stands for its response."""

    def __call__(self, item: Any, *, is_only: bool = False) -> None: ...


class DedupSpiderMiddleware(BesidePipeline):
    """Tells the pipeline which items are exempt, and hands it the response that gave an item.

    With ``DEDUP_SOURCE = "response"`` an item stands for its response if it is the only one that the
    callback gave, so the first is held back until the callback yields a second item or ends; requests
    pass at once.  A verdict given on the response before its callback is settled here, when the callback
    has ended.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        super().__init__(crawler)
        self._judges_responses = settings.source == "response"
        self._skips = settings.skips_links
        self._fields = settings.fields

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if only_looks():
            raise NotConfigured
        return cls(crawler, read_settings(crawler.settings))

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the requests that rules gave back, then what the spider starts with."""
        for request in self._again():
            yield request
        async for output in start:
            yield output

    def _again(self) -> Iterator[Request]:
        if self._judge:
            yield from self._judge.rules.again()

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        judge, exempt, exchange = self._judge, is_exempt(response), exchange_of(response)
        rules = judge.rules if judge else None
        watch = rules.watch(response) if rules and not exempt else None
        marks = rules is not None and rules.marks
        links: list[str] = []
        has_ended = False
        try:
            if self._skips and judge and judge.index.is_remote:
                result = await begun(result)  # there is no verdict before
            if (verdict := exchange.verdict) and verdict.kept:
                exchange.row = verdict.row
            hand_over = self._hand_over(response, exchange, is_exempt=exempt)
            if hand_over and not exempt and self._judges_responses and self._was_given(exchange):
                result = one_held_back(result, hand_over)
                hand_over = None
            async for output in result:
                if isinstance(output, Request):
                    links.append(output.url)
                    if marks:
                        mark_link(output)
                elif hand_over and output is not None:
                    hand_over(output)
                yield output
            has_ended = True
        finally:  # the callback may have failed, or another middleware
            exchange.has_ended = True
            self._settle(exchange, kept=has_ended)
            if rules:
                rules.links(watch, links + exchange.links)
                rules.settled(exchange, is_whole=has_ended)
            if self._pipeline and not exchange.is_open:
                self._pipeline.used.add(response)

    @staticmethod
    def note_links(response: Response, urls: Iterable[str]) -> None:
        """Note that the page of *response* leads to *urls*, for which its callback makes no requests.

        They were requested before.  A spider that leaves such requests to Scrapy need not say so.
        """
        exchange_of(response).links += urls

    def _hand_over(self, response: Response, exchange: Exchange, *, is_exempt: bool) -> HandOver | None:
        """Return what tells the tracker of an item of *response*, None in a crawl without one."""
        if (tracker := self._tracker) is None:
            return None
        is_restored = exchange.verdict is not None and exchange.verdict.is_restored

        def hand_over(item: Any, *, is_only: bool = False) -> None:
            token = Token(item, exchange, is_only, is_exempt, is_restored)
            if is_only:
                self._stand_for(token, response, exchange)
            tracker.hand_over(token, response)

        return hand_over

    def _stand_for(self, token: Token, response: Response, exchange: Exchange) -> None:
        """Give *token* the verdict on its response, unless that was given without the item's key."""
        if key_of(token.item, self._fields):
            return
        verdict, exchange.verdict, exchange.row = exchange.verdict, None, None
        if verdict and verdict.row is not None:
            token.is_only, token.verdict, token.url = False, verdict, response.url

    @cached_property
    def _tracker(self) -> Tracker | None:
        """What follows the items of this crawl, None in one that has switched it off."""
        tracking = self._crawler.get_item_pipeline(TrackingPipeline)
        return tracking.tracker if tracking else None

    @cached_property
    def _page_door(self) -> object:
        """What marks the responses that reach their callback, None where it is switched off."""
        from dedup.plugin.responses import DedupResponseMiddleware

        return self._crawler.get_spider_middleware(DedupResponseMiddleware)

    def _was_given(self, exchange: Exchange) -> bool:
        """Return whether a response reached its callback; otherwise the output is that of an errback."""
        return self._judge is None or self._page_door is None or exchange.is_given

    def _settle(self, exchange: Exchange, *, kept: bool) -> None:
        """Settle a response that was judged before its callback, unless its items decide later.

        Where the links of its copies are skipped, everything is lost if its own items are.
        """
        verdict, exchange.verdict = exchange.verdict, None
        pipeline = self._pipeline
        if pipeline is None or verdict is None:
            return
        pipeline.judge.rules.judged(exchange, verdict, is_page=True)
        if not kept and verdict.kept and verdict.row is not None:
            pipeline.judge.settler.settle(verdict.row, kept=False)
            exchange.row = None
        pipeline.settle_page(exchange)


async def one_held_back(result: AsyncIterator[Any], hand_over: HandOver) -> AsyncIterator[Any]:
    """Yield all of *result*, and hand over its items; a single one comes last, as the only one."""
    held: list[Any] = []
    is_only = True
    outputs = aiter(result)
    while True:
        try:
            output = await anext(outputs)
        except StopAsyncIteration:
            break
        except BaseException:  # even a cancelled callback: what it yielded before is not lost
            for item in held:
                hand_over(item)
                yield item
            raise
        if output is None or isinstance(output, Request):
            yield output
        elif is_only and not held:
            # A callback may fill the same dict again while this one waits; of other types nothing is
            # known, so they are not copied.
            held.append(dict(output) if type(output) is dict else output)
        else:
            is_only = False
            for item in [*held, output]:
                hand_over(item)
                yield item
            held.clear()
    for item in held:
        hand_over(item, is_only=True)
        yield item


def is_exempt(response: Response) -> bool:
    """Return whether the request of *response* has ``meta={"dedup": False}``."""
    return response.request is not None and response.request.meta.get("dedup") is False


async def outputs_of(result: Any) -> AsyncIterator[Any]:
    """Yield all that a callback gives, whatever kind of function it is."""
    if isinstance(result, Deferred):
        result = maybe_deferred_to_future(result)
    if isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterable):
        async for output in result:
            yield output
    else:
        for output in arg_to_iter(result):
            yield output


async def begun(result: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Advance *result* to its first output, or its end; return it with that output."""
    outputs = aiter(result)
    first = []
    with suppress(StopAsyncIteration):
        first.append(await anext(outputs))
    return _chained(first, outputs)


async def _chained(first: list[Any], outputs: AsyncIterator[Any]) -> AsyncIterator[Any]:
    for output in first:
        yield output
    async for output in outputs:
        yield output
