"""The spider middleware, which sees a response together with all that its callback yields."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, MutableMapping
from contextlib import suppress
from functools import cached_property
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import arg_to_iter
from twisted.internet.defer import Deferred

from dedup.front.settings import DedupSettings
from dedup.plugin.older import item_pipeline, spider_middleware
from dedup.plugin.pages import key_of
from dedup.plugin.pipeline import DedupPipeline
from dedup.plugin.restored import restored_requests
from dedup.plugin.settings import only_looks, read_settings
from dedup.plugin.tracking import Delivery, Handed, Tracker, TrackingPipeline

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedup.plugin.judge import Judge
    from dedup.values.verdict import Verdict


class DedupSpiderMiddleware:
    """Tells the pipeline which items are exempt, and hands it the response that gave an item.

    With ``DEDUP_SOURCE = "response"`` an item stands for its response if it is the only one that the
    callback gave, so the first is held back until the callback yields a second item or ends; requests
    pass at once.  A verdict given on the response before its callback is settled here, when the callback
    has ended.  Pages that were restored are requested when the crawl starts.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._judges_responses = settings.source == "response"
        self._skips = settings.skip != "nothing"
        self._fields = settings.fields

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if only_looks():
            raise NotConfigured
        return cls(crawler, read_settings(crawler.settings))

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield requests for the pages that were restored, then what the spider starts with."""
        if self._judge:
            for request in restored_requests(self._judge, self._crawler):
                yield request
            for request in self._judge.rules.again():
                yield request
        async for output in start:
            yield output

    def process_start_requests(self, start: Iterable[Any], spider: Any = None) -> Iterator[Any]:
        """Do what `process_start` does, before Scrapy 2.13."""
        if self._judge:
            yield from restored_requests(self._judge, self._crawler)
            yield from self._judge.rules.again()
        yield from start

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        delivery: Delivery | None = None
        rules = self._judge.rules if self._judge else None
        watch = rules.watch(response) if rules and not is_exempt(response) else None
        has_ended = False
        try:
            if self._skips and self._judge and self._judge.is_remote:
                result = await begun(result)  # there is no verdict before
            delivery = self._delivery(response)
            async for output in self._handed_over(result, response, delivery):
                if rules and isinstance(output, Request):
                    rules.link(watch, output)
                yield output
            has_ended = True
        finally:  # the callback may have failed, or another middleware
            self._settle(response, delivery, kept=has_ended)
            if rules and watch:
                rules.ended(watch, is_whole=has_ended)

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Any = None
    ) -> None:
        """Note a page whose callback has failed before it gave anything."""
        if self._judge and response.request:
            self._judge.rules.gone(response.request)

    def _hand_over(self, tracker: Tracker, handed: Handed, response: Response) -> None:
        if self._judge and not handed.is_exempt:
            handed.watch = self._judge.rules.watch(response)
        tracker.hand_over(handed, response)

    def _handed_over(
        self, result: AsyncIterator[Any], response: Response, delivery: Delivery | None
    ) -> AsyncIterator[Any]:
        """Return *result*, and tell the tracker of its items."""
        tracker = self._tracker
        if tracker is None:
            return result
        if not is_exempt(response) and self._judges_responses and self._was_given(response):
            return self._with_page(result, response, tracker, delivery)
        return self._with_items(result, response, tracker, delivery)

    async def _with_items(
        self, result: AsyncIterator[Any], response: Response, tracker: Tracker, delivery: Delivery | None
    ) -> AsyncIterator[Any]:
        is_restored, exempt = self._is_restored(response), is_exempt(response)
        async for output in result:
            if _is_item(output):
                handed = Handed(output, is_exempt=exempt, is_restored=is_restored, delivery=delivery)
                self._hand_over(tracker, handed, response)
            yield output

    @cached_property
    def _tracker(self) -> Tracker | None:
        """What follows the items of this crawl, None in one that has switched it off."""
        tracking = item_pipeline(self._crawler, TrackingPipeline)
        return tracking.tracker if tracking else None

    @cached_property
    def _pipeline(self) -> DedupPipeline | None:
        """The pipeline of this crawl, None in one that has switched it off."""
        return item_pipeline(self._crawler, DedupPipeline)

    @property
    def _judge(self) -> Judge | None:
        return self._pipeline.judge if self._pipeline else None

    @cached_property
    def _has_page_door(self) -> bool:
        from dedup.plugin.responses import DedupResponseMiddleware

        return spider_middleware(self._crawler, DedupResponseMiddleware) is not None

    def _was_given(self, response: Response) -> bool:
        """Return whether *response* reached its callback; otherwise the output is that of an errback."""
        judge = self._judge
        return judge is None or not self._has_page_door or response in judge.given

    def _is_restored(self, response: Response) -> bool:
        verdict = self._verdicts().get(response)
        return verdict is not None and verdict.is_restored

    def _delivery(self, response: Response) -> Delivery | None:
        """Return the fate that a page shares with its items, None where it has one of its own.

        Where links or callbacks of its copies are skipped, everything is lost if its own items are.
        """
        verdict = self._verdicts().get(response)
        if not (self._skips and verdict and verdict.kept and verdict.row is not None):
            return None
        return Delivery(verdict.row)

    async def _with_page(
        self, result: AsyncIterator[Any], response: Response, tracker: Tracker, delivery: Delivery | None
    ) -> AsyncIterator[Any]:
        """Yield all of *result*; if there is only one item, it comes last and stands for *response*."""
        held: list[Any] = []
        is_only = True
        is_restored = self._is_restored(response)
        outputs = aiter(result)
        while True:
            try:
                output = await anext(outputs)
            except StopAsyncIteration:
                break
            except BaseException:  # even a cancelled callback: what it yielded before is not lost
                for item in held:
                    self._hand_over(
                        tracker, Handed(item, delivery=delivery, is_restored=is_restored), response
                    )
                    yield item
                raise
            if not _is_item(output):
                yield output
            elif is_only and not held:
                # A callback may fill the same dict again while this one waits; of other types nothing is
                # known, so they are not copied.
                held.append(dict(output) if type(output) is dict else output)
            else:
                is_only = False
                for item in [*held, output]:
                    self._hand_over(
                        tracker, Handed(item, delivery=delivery, is_restored=is_restored), response
                    )
                    yield item
                held.clear()
        for item in held:
            self._hand_over(tracker, self._only(item, response, delivery), response)
            yield item

    def _only(self, item: Any, response: Response, delivery: Delivery | None) -> Handed:
        if key_of(item, self._fields):  # the verdict on the response was given without the key
            return Handed(item, is_only=True, delivery=delivery)
        verdict = self._verdicts().pop(response, None)
        if verdict is None or verdict.row is None:
            return Handed(item, is_only=True)
        return Handed(item, verdict=verdict, url=response.url)

    def _settle(self, response: Response, delivery: Delivery | None, *, kept: bool) -> None:
        """Settle a response that was judged before its callback, unless its items decide later."""
        verdict = self._verdicts().pop(response, None)
        pipeline = self._pipeline
        if pipeline and verdict and (watch := pipeline.judge.rules.watch(response)):
            pipeline.judge.rules.judged_page(watch, verdict)
        if pipeline is None or verdict is None or not verdict.kept or verdict.row is None:
            return
        if delivery and kept:
            delivery.has_ended = True
            pipeline.settle_page(delivery)
        else:
            pipeline.judge.settle(verdict.row, kept=kept)

    def _verdicts(self) -> MutableMapping[Response, Verdict]:
        """Return the verdicts on responses, none where nothing is skipped: they are not judged then."""
        return self._judge.verdicts if self._skips and self._judge else {}


def is_exempt(response: Response) -> bool:
    """Return whether the request of *response* has ``meta={"dedup": False}``."""
    return response.request is not None and response.request.meta.get("dedup") is False


def _is_item(output: Any) -> bool:
    return output is not None and not isinstance(output, Request)


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
