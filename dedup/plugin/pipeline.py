"""The item pipeline: ask the judge about each item, then keep, drop or mark it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from contextlib import suppress
from copy import copy as shallow_copy
from functools import cached_property
from typing import Any, Self

from scrapy import Item, Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.http import Response
from scrapy.pipelines.media import MediaPipeline

from dedup.index.notes import GONE
from dedup.model.address import shown_place
from dedup.model.urls import host_of
from dedup.model.verdict import FATE_OF, Reason, Verdict
from dedup.plugin.addon import index_path, only_looks, read_settings
from dedup.plugin.feeds import FeedWatch, mark
from dedup.plugin.judge import Judge
from dedup.plugin.pages import ItemReader, item_name
from dedup.plugin.question import Question
from dedup.plugin.requests import once_more, parked
from dedup.plugin.stats import DuplicatePage, RecordNotice
from dedup.plugin.tracking import Exchange, Token, TrackingPipeline, rows_of
from dedup.reading.fields import NoHtml
from dedup.settings import DedupSettings

logger = logging.getLogger(__name__)


class DedupPipeline:
    """Drops items that repeat a page kept before, in this crawl or an earlier one.

    An item that cannot be judged is kept and counted.  The pages of one crawl are one run of the
    index; a crawl resumed from its JOBDIR goes on with its run.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.judge, self.reader = Judge(crawler, settings), ItemReader(crawler, settings)
        self._crawler, self._settings, self._counts = crawler, settings, self.judge.counts
        self.tracker = TrackingPipeline()
        self._feeds = FeedWatch(crawler, self.judge.settler)
        self._records = RecordNotice(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if only_looks():
            raise NotConfigured("nothing is judged: this command stores no items")
        pipeline = cls(crawler, read_settings(crawler.settings))
        pipeline.judge.index.check()
        parked(crawler)  # its numbers are known when the pipeline sums up
        for signal, receiver in (
            (signals.item_scraped, pipeline._item_scraped),
            (signals.item_dropped, pipeline._item_lost),
            (signals.item_error, pipeline._item_lost),
            (signals.request_reached_downloader, pipeline._request_sent),
            (signals.response_downloaded, pipeline._response_came),
            # Not `open_spider`, before which no feed is open, and not `close_spider`, which does not
            # know how the crawl ended.
            (signals.spider_opened, pipeline._feeds.begin),
            (signals.spider_idle, pipeline._spider_idle),
            (signals.spider_closed, pipeline._spider_closed),
        ):
            crawler.signals.connect(receiver, signal)
        return pipeline

    # The life of an item

    # Not a coroutine function: an item that need not wait costs no task.
    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Return *item*, an awaitable of it if it must wait, or raise `DuplicatePage`.

        Unless its response was judged in its place, the index is asked about its page.  By the verdict
        it is kept, dropped or marked.  If it is kept, its page is pending until Scrapy tells its fate:
        `_item_scraped` confirms the page, `_item_lost` releases it.
        """
        self._counts.add("seen")
        token = self.tracker.judged(item)
        verdict = token.verdict
        if verdict is None and (question := self._question(item, token)):
            token.question = question
            if self.judge.index.is_remote:
                return self._later(item, token, question)
            verdict = self.judge.ask(question)
            if verdict and verdict.row is None:  # it repeats a page that is pending
                return self._later(item, token, question)
        return self._act(item, token, verdict)

    def _question(self, item: Any, token: Token) -> Question | None:
        """Return what is asked about the page of *item*, None where it has none that can be judged."""
        response = token.response
        if token.is_exempt:
            self._records.reasons["all requests are exempt (meta dedup=False)"] += 1
            return None
        try:
            page, kind = self._counts.timed(
                "parse", self.reader.read, item, response, is_only=token.is_only
            )
            self._records.seen(item, page)
            if page:
                siblings = rows_of(response, page.url)
                question = Question(page, kind, token.is_restored, siblings, response=response)
                return self.judge.prepared(question)
        except NoHtml as error:
            with suppress(Exception):  # a field may be of a type that cannot be written
                self._records.note(error.record)
        except Exception:
            self._records.reasons["all items failed to be read, see above"] += 1
            # A page that we cannot read is our error: a traceback is logged, and the item is kept.
            logger.exception("An item could not be judged and is kept")
        return None

    def _later(self, item: Any, token: Token, question: Question) -> Awaitable[Any]:
        """Act when there is an answer, and the fate of the item that this one repeats is known."""
        can_repeat = bool((request := _request_of(token)) and once_more(request))
        with suppress(Exception):  # a callback may fill it again; some types cannot be copied
            # Of an `Item` another copy would have the same fields, not copies of them.
            item = item.copy() if isinstance(item, Item) else shallow_copy(item)

        async def acted() -> Any:
            return self._act(item, token, await self.judge.answer(question, can_repeat=can_repeat))

        return acted()

    def _act(self, item: Any, token: Token, verdict: Verdict | None) -> Any:
        """Keep, drop or mark *item* by the *verdict* on its page; without one it is kept."""
        self._counts.add(verdict.reason if verdict else Reason.NOT_JUDGED)
        if verdict and token.exchange:
            self.judge.rules.judged(token.exchange, verdict)
        if verdict is None or verdict.kept:
            token.row = verdict.row if verdict else None
            self._counts.add("kept")
        else:
            self._drop(token, verdict)
        if verdict and self._settings.action == "mark" and (why_not := mark(item, verdict)):
            self._counts.add("mark_errors")
            if self._counts.is_first("unmarked"):
                logger.error("Items are kept unmarked: %s", why_not)
        return item

    def _drop(self, token: Token, verdict: Verdict) -> None:
        """Raise `DuplicatePage`; where nothing is dropped, only count and log the copy."""
        # Without a question, the verdict was given on its response.
        page = token.question.page if token.question else None
        url, name = (page.url, item_name(page)) if page else (getattr(token.response, "url", ""), "")
        copy = DuplicatePage(url, verdict, name)
        is_earlier = verdict.canonical_run != self.judge.index.run.id
        if verdict.repeats_another and is_earlier and self._settings.config.unchanged == "drop":
            self._counts.add("dropped_for_earlier_run")
        if verdict.repeats_another and verdict.reason is Reason.UNCHANGED:
            self._counts.add("as_before")
        fate = FATE_OF[self._settings.action]
        self._counts.add(fate)
        logger.info("%s %s", fate.replace("_", " ").capitalize(), copy)
        if self._settings.drops:
            self.judge.settler.note_copy(verdict, _request_of(token))
            raise copy

    def _item_scraped(self, item: Any) -> None:
        """Confirm a page: its item came through all pipelines."""
        self._item_done(item, kept=True, delivered=True)

    def _item_lost(self, item: Any, exception: Exception | None = None) -> None:
        """Release a page: its item was dropped, by us or others, or a pipeline failed."""
        self._item_done(item, kept=False, delivered=isinstance(exception, DuplicatePage))

    def _item_done(self, item: Any, *, kept: bool, delivered: bool) -> None:
        token = self.tracker.take(item)
        if kept and not self._feeds.scraped(item, token.rows if token else ()):
            delivered = False  # the feeds have taken its rows back
        elif token and token.row is not None:
            self.judge.settler.note_fate(token.row, kept=kept)
        if token and (exchange := token.exchange):
            exchange.settled += 1
            exchange.delivered += delivered
            self.judge.rules.settled(exchange, is_whole=delivered)
            self.settle_page(exchange)
        if token:
            token.response = token.exchange = token.question = None

    def settle_page(self, exchange: Exchange) -> None:
        """Settle a page that shares the fate of its items, if that fate is known.

        One that gave none does not stand for them where pages are judged in their place.
        """
        if exchange.row is not None and not exchange.is_open:
            is_bare = self._settings.source == "response" and not exchange.items
            kept = not is_bare and bool(exchange.delivered or not exchange.items)
            self.judge.settler.note_fate(exchange.row, kept=kept, is_loss=not is_bare)

    def open_spider(self, spider: Any = None) -> None:
        self.tracker = self._crawler.get_item_pipeline(TrackingPipeline) or self.tracker
        assert self._crawler.engine is not None
        pipelines = self._crawler.engine.scraper.itemproc.middlewares
        for before in pipelines[: pipelines.index(self)]:
            if isinstance(before, MediaPipeline):
                logger.warning(
                    "%s downloads the files of copies, too: it comes before DedupPipeline; give it a "
                    "higher number in ITEM_PIPELINES",
                    type(before).__name__,
                )
        run = self.judge.open()
        logger.info(
            "Deduplicating into %s, run %d%s: %s",
            *(shown_place(index_path(self._settings)), run.id),
            "" if self._settings.drops else f" ({run.action}: nothing is dropped)",
            "items as the spider says" if self.reader.own else self._settings.judged,
        )

    def _request_sent(self, request: Request) -> None:
        self.judge.visit(host_of(request.url))

    def _response_came(self, response: Response, request: Request) -> None:
        self.judge.collect(response)
        is_judged = request.method == "GET" and request.meta.get("dedup") is not False
        if is_judged and response.status in GONE:
            for url in (request.url, *request.meta.get("redirect_urls", ())):
                self.judge.settler.note_gone(url, response.status)

    def _spider_idle(self) -> None:
        if self.judge.probes.audit_all():
            raise DontCloseSpider

    async def _spider_closed(self, reason: str) -> None:
        for said in self._records.closing():
            logger.warning("%s", said)
        lost = await self._feeds.close()
        await self.judge.close(reason, unjudged=self._records.reason(), lost=lost)


def _request_of(token: Token) -> Request | None:
    return token.response.request if token.response else None


class Component:
    """A component of a crawl that works with its pipeline; a command that only looks has none."""

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler, self._settings = crawler, settings

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if only_looks():
            raise NotConfigured
        return cls(crawler, read_settings(crawler.settings))

    @cached_property
    def _pipeline(self) -> DedupPipeline | None:
        return self._crawler.get_item_pipeline(DedupPipeline)

    @property
    def _judge(self) -> Judge | None:
        return self._pipeline.judge if self._pipeline else None
