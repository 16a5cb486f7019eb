"""The item door, a pipeline: judge, then keep, drop or mark."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured

from dedup.front.settings import DedupSettings
from dedup.index import Sighting
from dedup.index.index import is_address, shown_place
from dedup.plugin.errors import DropReason, DuplicatePage, close_spider
from dedup.plugin.exchange import Delivery
from dedup.plugin.feeds import (
    CannotMark,
    DroppedFeed,
    known_item_classes,
    mark_of_copies,
    marker_of,
)
from dedup.plugin.judge import Answered, Judge
from dedup.plugin.older import item_pipeline
from dedup.plugin.pages import ItemReader, name_of
from dedup.plugin.records import RecordNotice
from dedup.plugin.settings import index_path, only_looks, read_settings
from dedup.plugin.storing import FeedWatch
from dedup.plugin.tracking import Token, Tracker, TrackingPipeline, rows_of
from dedup.plugin.unread import Copy, Net
from dedup.plugin.waiting import Future, Waiter
from dedup.reading.fields import NoHtml
from dedup.reading.page import Page
from dedup.values.urls import url_key
from dedup.values.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

# Asks once more about one page.
_Ask = partial[Coroutine[Any, Any, Answered]]


class DedupPipeline:
    """Drops items that repeat a page kept before, in this crawl or an earlier one.

    An item that cannot be judged is kept and counted.  The pages of one crawl are one run of the
    index; a crawl resumed from its JOBDIR goes on with its run.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.judge = Judge(crawler, settings)
        """What judges the items and responses of this crawl."""
        self._counts = self.judge.counts
        self._crawler = crawler
        self._settings = settings
        self.reader = ItemReader(crawler, settings)
        """What makes pages of the items of this crawl."""
        self._tracker = Tracker()
        self._feeds = FeedWatch(crawler, self.judge)
        self._marker = marker_of(settings)
        self._marks_copies = settings.action == "mark"
        self._dropped = self._dropped_feed()
        self._records = RecordNotice(settings)
        self._before = ""
        self._net = Net()
        self._ending: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if only_looks():
            raise NotConfigured("nothing is judged: this command stores no items")
        pipeline = cls(crawler, read_settings(crawler.settings))
        pipeline.judge.check()
        if pipeline._marker:
            pipeline._marker.require(known_item_classes(crawler.settings))
        for signal, receiver in (
            (signals.item_scraped, pipeline._item_scraped),
            (signals.item_dropped, pipeline._item_dropped),
            (signals.item_error, pipeline._item_failed),
            (signals.request_reached_downloader, pipeline._request_sent),
            # Not `close_spider`, which does not know how the crawl ended.
            (signals.spider_closed, pipeline._spider_closed),
        ):
            crawler.signals.connect(receiver, signal)
        return pipeline

    def open_spider(self, spider: Any = None) -> None:
        if tracking := item_pipeline(self._crawler, TrackingPipeline):
            self._tracker = tracking.tracker
        self._before = self._predecessors()
        run = self.judge.open()
        self._feeds.begin()
        logger.info(
            "Deduplicating into %s, run %d%s%s: %s",
            *(shown_place(index_path(self._settings)), run.id),
            "" if run.action == "drop" else f" ({run.action}: nothing is dropped)",
            self._before,
            "items as the spider says" if self.reader.own else self._settings.judged,
        )

    def _predecessors(self) -> str:
        assert self._crawler.engine is not None
        pipelines = list(self._crawler.engine.scraper.itemproc.middlewares)
        before = [
            type(pipeline).__name__
            for pipeline in pipelines[: pipelines.index(self)]
            if not isinstance(pipeline, TrackingPipeline)
        ]
        return f", after {', '.join(before)}" if before else ""

    # Not a coroutine function: nothing else may run between the verdict on a copy and the moment when it
    # waits, and an item that need not wait costs no task.
    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Return *item*, an awaitable of it if it must wait, or raise `DuplicatePage`."""
        token = self._tracker.judged(item)
        self._counts.add("seen")
        if verdict := token.verdict:
            return self._act(item, token, verdict)
        if (sighted := self._sighted(item, token)) is None:
            return self._keep_unjudged(item)
        judge, is_restored = self.judge, token.is_restored
        siblings = rows_of(token.response, sighted[1].url)
        ask = partial(judge.answer, *sighted, is_restored=is_restored, siblings=siblings)
        if judge.is_remote:  # asked now, as items are judged in the order in which they come
            later = judge.ask_later(*sighted, is_restored=is_restored, siblings=siblings)
            return self._await(item, token, ask, later)
        verdict = judge.ask(*sighted, is_restored=is_restored, siblings=siblings)
        if verdict is None:
            return self._keep_unjudged(item)
        if verdict.row is None:
            return self._wait(item, token, sighted[1], ask, judge.waiter(verdict))
        if self._is_unread(item, token, verdict, sighted[1]):
            verdict = judge.ask(*sighted, is_restored=True) or verdict
        return self._act(item, token, verdict, sighted[1])

    async def _await(self, item: Any, token: Token, ask: _Ask, later: Future[Answered]) -> Any:
        verdict, waiter = await later
        page: Page = ask.args[1]
        if waiter:
            return await self._wait(item, token, page, ask, waiter)
        return await self._act_later(item, token, verdict, page, ask)

    async def _act_later(
        self, item: Any, token: Token, verdict: Verdict | None, page: Page, ask: _Ask
    ) -> Any:
        if verdict is not None and self._is_unread(item, token, verdict, page):
            again, _ = await ask(is_restored=True)
            verdict = again or verdict
        return self._keep_unjudged(item) if verdict is None else self._act(item, token, verdict, page)

    def _sighted(self, item: Any, token: Token) -> tuple[Sighting, Page] | None:
        """Return what to ask about *item*, None where it is not to be judged, or cannot be."""
        try:
            if token.is_exempt:
                self._records.unjudged(is_exempt=True)
                return None
            response, is_only = token.response, token.is_only
            page, kind = self._counts.timed("parse", self.reader.read, item, response, is_only=is_only)
            self._records.seen(item, page, self._before)
            return (self.judge.sighting(page, kind), page) if page else None
        except NoHtml as error:
            self._records.note(error.record, token.response)
        except Exception:
            self._records.unjudged(is_exempt=False)
            # A page that we cannot read is our error: a traceback is logged, and the item is kept.
            logger.exception("An item could not be judged and is kept")
        return None

    async def _wait(self, item: Any, token: Token, page: Page, ask: _Ask, waiter: Waiter) -> Any:
        """Hold a copy back until the fate of the item that it repeats is known."""
        try:
            verdict = await self.judge.ask_again(ask, waiter)
        except TimeoutError:
            self._counts.add("wait_timeout")
            return self._keep_unjudged(item)
        return await self._act_later(item, token, verdict, page, ask)

    def _is_unread(self, item: Any, token: Token, verdict: Verdict, page: Page) -> bool:
        """Return whether *item*, a copy by its *verdict*, is to be kept because of what was not read.

        The copies before it are given back: they are requested again, and kept.
        """
        if not self._drops(verdict) or verdict.canonical is None or verdict.row is None:
            return False
        if self._settings.config.exceptions.originals(url_key(page.url)):
            return False  # somebody has said what it is a copy of
        response = token.response
        markup = self.reader.markup(item, response, is_only=token.is_only)
        copy = Copy(verdict.row, page.url, response.request if response else None)
        if not (markup and self._net.swallows(verdict.canonical, markup, page.text, copy)):
            return False
        before = [one for one in self._net.copies(verdict.canonical) if one.row != verdict.row]
        self.judge.restore([one.row for one in before] + [verdict.row])
        self._counts.add("unread", len(before) + 1)
        if before:
            again = sum(self._request_again(one) for one in before)
            self.judge.swallowing(page.url, verdict, before[-1].url, again)
        return True

    def _drops(self, verdict: Verdict) -> bool:
        # A page that was a copy in an earlier crawl too (UNCHANGED) counts among the copies of its
        # canonical.
        is_near = verdict.reason in (Reason.NEAR_DUPLICATE, Reason.UNCHANGED) and verdict.repeats_another
        is_let_go = verdict.is_rehearsed or self._settings.dry_run or self._marks_copies
        return is_near and not is_let_go

    def _request_again(self, copy: Copy) -> bool:
        request, engine = copy.request, self._crawler.engine
        if request is None or request.method != "GET" or engine is None:
            return False
        engine.crawl(request.replace(dont_filter=True))
        self._counts.add("requested_again")
        return True

    def _act(self, item: Any, token: Token, verdict: Verdict, page: Page | None = None) -> Any:
        """Keep, mark or drop *item*; *page* is None where the verdict was given on its response."""
        self._counts.add(verdict.reason)
        if watch := token.watch:
            self.judge.rules.judged(watch, verdict)
        url, name = (page.url, name_of(page)) if page else (token.url, "")
        if verdict.kept:
            token.row = verdict.row
            self._counts.add("kept")
            return self._marked(item, verdict)
        if verdict.is_rehearsed and not self._marks_copies:
            self._counts.add("rehearsed")
            self._counts.add("kept")
        elif self.judge.is_of_another_run(verdict):
            self._counts.add("dropped_for_earlier_run")
        if verdict.is_rehearsed or self._settings.dry_run or self._marks_copies:
            return self._let_go(item, DropReason(url, verdict, name), verdict)
        self._counts.add("dropped")
        copy = DuplicatePage(url, verdict, name)
        logger.info("Dropped %s", copy)
        self._write_dropped(item, verdict)
        raise copy

    def _write_dropped(self, item: Any, verdict: Verdict) -> None:
        assert self._crawler.spider is not None
        if self._dropped:
            try:
                self._dropped.write(item, verdict, self._crawler.spider)
            except Exception:  # an exporter or a disk may raise anything
                self._counts.add("dropped_feed_errors")
                logger.exception("A dropped item could not be written to DEDUP_DROPPED_FEED")

    def _dropped_feed(self) -> DroppedFeed | None:
        if not self._settings.dropped_feed:
            return None
        place = index_path(self._settings)
        index = None if is_address(place) else Path(place)
        return DroppedFeed(self._crawler, self._settings.dropped_feed, mark_of_copies(), index)

    def _let_go(self, item: Any, copy: DropReason, verdict: Verdict) -> Any:
        if verdict.is_rehearsed and not self._marks_copies:
            logger.info("Would drop, after the dry run, %s", copy)
            return self._marked(item, verdict)
        self._counts.add("would_drop" if self._settings.dry_run else "marked")
        done = "Would drop" if self._settings.dry_run else "Marked"
        logger.info("%s %s", done, copy)
        return self._marked(item, verdict)

    def _marked(self, item: Any, verdict: Verdict) -> Any:
        if self._marker and not self._settings.dry_run:
            try:
                self._marker.mark(item, verdict)
            except CannotMark as error:
                self._end_crawl(error)
        return item

    def _end_crawl(self, error: CannotMark) -> None:
        """Close the spider: a crawl that should mark its items must not go on without marks."""
        self._counts.add("mark_errors")
        if self._ending is None:
            logger.error("The crawl is ended, items are kept unmarked: %s", error)
            self._ending = close_spider(self._crawler, "dedup_cannot_mark")

    def _keep_unjudged(self, item: Any) -> Any:
        self._counts.add(Reason.NOT_JUDGED)
        self._counts.add("kept")
        return item

    def _request_sent(self, request: Request) -> None:
        self.judge.visit(request.url)

    def _item_scraped(self, item: Any) -> None:
        self._settle(item, kept=True, delivered=True)

    def _item_dropped(self, item: Any, exception: Exception | None = None) -> None:
        self._settle(item, kept=False, delivered=isinstance(exception, DuplicatePage))

    def _item_failed(self, item: Any) -> None:
        self._settle(item, kept=False, delivered=False)

    def _settle(self, item: Any, *, kept: bool, delivered: bool) -> None:
        token = self._tracker.settle(item)
        is_lost = kept and not self._feeds.scraped(item, token.rows if token else ())
        if token is None:
            return
        delivered = delivered and not is_lost
        token.response = None
        if token.row is not None and not is_lost:
            self.judge.settle(token.row, kept=kept)
        if watch := token.watch:
            self.judge.rules.settled(watch, is_delivered=delivered)
        if delivery := token.delivery:
            delivery.settled += 1
            delivery.delivered += delivered
            self.settle_page(delivery)

    def settle_page(self, delivery: Delivery) -> None:
        """Settle a page that shares the fate of its items, if that fate is known."""
        if not delivery.is_open:
            self.judge.settle(delivery.row, kept=not delivery.is_lost)

    def close_spider(self, spider: Any = None) -> None:
        """Write the stats, which extensions read when the spider is closed, before the run ends."""
        self._counts.write()

    def _spider_closed(self, reason: str) -> Any:
        for said in self._records.closing():
            logger.warning("%s", said)
        if feeds := self._feeds.closing():
            return self._closing(feeds, partial(self._close, reason))
        return self._close(reason)

    def _close(self, reason: str) -> Any:
        closing = self.judge.close(reason, unjudged=self._records.reason(), lost=self._feeds.lost)
        self._counts.write()
        return self._closing(closing, self._counts.write) if closing else None

    async def _closing(self, first: Awaitable[None], then: Callable[[], Any]) -> None:
        await first
        if closing := then():
            await closing
