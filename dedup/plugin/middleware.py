"""The place where a response and its items are seen together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request

from dedup.plugin.pages import page_from_response
from dedup.plugin.settings import PluginSettings, read_settings
from dedup.plugin.tracking import Handed, Tracker, TrackingPipeline

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class DedupSpiderMiddleware:
    """Tells the pipeline which items are exempt and, with ``DEDUP_SOURCE = "response"``, their pages.

    An item stands for its response only if it is the only one, so the first is held back until
    the callback yields a second item or ends; requests pass at once.
    """

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        self._crawler = crawler
        self._judges_responses = settings.source == "response"

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, read_settings(crawler.settings))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        tracker = self._tracker()
        if tracker is None or not (self._judges_responses or _is_exempt(response)):
            handled = result
        elif _is_exempt(response):
            handled = _exempted(result, tracker)
        else:
            handled = _with_page(result, response, tracker)
        async for output in handled:
            yield output

    def _tracker(self) -> Tracker | None:
        pipeline = self._crawler.get_item_pipeline(TrackingPipeline)
        return pipeline.tracker if pipeline else None


async def _exempted(result: AsyncIterator[Any], tracker: Tracker) -> AsyncIterator[Any]:
    async for output in result:
        if _is_item(output):
            tracker.hand_over(Handed(output, is_exempt=True))
        yield output


async def _with_page(
    result: AsyncIterator[Any], response: Response, tracker: Tracker
) -> AsyncIterator[Any]:
    """Yield all of *result*, the only item of it last and with the page of *response*."""
    held: list[Any] = []
    is_only = True
    try:
        async for output in result:
            if not _is_item(output):
                yield output
            elif is_only and not held:
                held.append(output)
            else:
                is_only = False
                while held:
                    yield held.pop()
                yield output
    except Exception:
        while held:  # what the callback yielded before it failed is not lost
            yield held.pop()
        raise
    for item in held:
        if page := page_from_response(response):
            tracker.hand_over(Handed(item, page=page))
        yield item


def _is_item(output: Any) -> bool:
    return output is not None and not isinstance(output, Request)


def _is_exempt(response: Response) -> bool:
    return response.request is not None and response.request.meta.get("dedup") is False
