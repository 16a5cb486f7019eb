"""The item pipeline: judge, then keep, drop or mark; and the judge, who asks the index of the crawl."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy as shallow_copy
from dataclasses import replace
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from scrapy import Item, Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.http import Response
from scrapy.pipelines.media import MediaPipeline

from dedup.files.marks_file import marks_of
from dedup.index import Index, Run, Sighting
from dedup.index.index import Detector
from dedup.index.notes import GONE
from dedup.model.address import shown_place
from dedup.model.errors import counted, printable
from dedup.model.urls import host_of
from dedup.model.verdict import FATES, Reason, Verdict
from dedup.plugin.addon import index_path, only_looks, read_settings
from dedup.plugin.crawl_index import CrawlIndex, Settler, pending_of
from dedup.plugin.feeds import FeedWatch, mark
from dedup.plugin.pages import ItemReader, item_name
from dedup.plugin.probes import Probes, of_own
from dedup.plugin.requests import once_more, parked
from dedup.plugin.stats import CrawlStats, DuplicatePage, RecordNotice
from dedup.plugin.tracking import Exchange, Question, Token, TrackingPipeline, rows_of
from dedup.plugin.url_rules import CrawlRules
from dedup.prints.fingerprinter import DedupConfig
from dedup.reading.fields import NoHtml
from dedup.reading.noise import MarkedPlaces
from dedup.report.changes import in_a_line
from dedup.report.text import LostFeed, places, summary
from dedup.settings import DedupSettings

if TYPE_CHECKING:
    from dedup.report.clusters import Report

logger = logging.getLogger(__name__)

WAIT = 30.0  # seconds that a copy waits for the fate of the item that it repeats
_PLACES = 3  # places where copies differ from the pages kept that the summary names
_MAX_HOSTS = 20_000  # hosts that are remembered as visited; then all are recorded again
# Of garbage collection, which takes a fifth of a crawl by Python's own: after so many objects most are
# gone without it.  Also after so many bytes of pages, as large ones are few objects.
_THRESHOLDS, _BYTES = (50_000, 5, 3), 16_000_000


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
        fate = FATES[self._settings.action]
        self._counts.add(fate)
        logger.info("%s %s", fate.replace("_", " ").capitalize(), copy)
        if self._settings.drops:
            self.judge.settler.note_copy(verdict, _request_of(token))
            raise copy

    def _item_scraped(self, item: Any) -> None:
        """Confirm a page: its item came through all pipelines."""
        self._settle(item, kept=True, delivered=True)

    def _item_lost(self, item: Any, exception: Exception | None = None) -> None:
        """Release a page: its item was dropped, by us or others, or a pipeline failed."""
        self._settle(item, kept=False, delivered=isinstance(exception, DuplicatePage))

    def _settle(self, item: Any, *, kept: bool, delivered: bool) -> None:
        token = self.tracker.settle(item)
        if kept and not self._feeds.scraped(item, token.rows if token else ()):
            delivered = False  # the feeds have taken its rows back
        elif token and token.row is not None:
            self.judge.settler.settle(token.row, kept=kept)
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
            self.judge.settler.settle(exchange.row, kept=kept, is_loss=not is_bare)

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


class Judge:
    """Asks the index of one crawl about its items and responses.

    A page that cannot be judged gets None instead of a verdict, and is kept.  An index in a file is
    asked at once (`ask`), the answer of one on a server is awaited (`ask_in_turn`).
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self.counts = CrawlStats(crawler)
        self.index = CrawlIndex(crawler, settings, self.counts)
        self.settler = Settler(self.index)
        self.rules = CrawlRules(self.index)
        self.probes = Probes(self.index, self.settler)
        self._marked = MarkedPlaces(settings.config.exceptions)
        self._hosts: set[str] = set()
        self._bytes, self._thresholds = 0, (0, 0, 0)  # those of before, if they are ours now

    def open(self) -> Run:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``."""
        detector = self.index.open(self._follow_run)
        self.settler.pending = pending_of(detector.index)
        self.settler.pending.runs[self.index.run.id] = {}
        self.probes.open(detector)
        self.rules.open(detector)
        before = gc.get_threshold()
        # Python's own is 700 or 2,000: who has made it rarer is obeyed.
        if gc.isenabled() and gc.get_freeze_count() == 0 < before[0] < 10_000:
            gc.collect(1)  # what is old is hardly garbage, and looking at it takes longest
            gc.freeze()  # modules and what they hold are most of that
            gc.set_threshold(*_THRESHOLDS)
            self._thresholds = before
        return self.index.run

    def collect(self, response: Response) -> None:
        """Collect garbage if *response* is one too many since the last time."""
        self._bytes += len(response.body)
        if self._bytes > _BYTES and self._thresholds[0]:
            gc.collect(1)
            self._bytes = 0

    def _follow_run(self, before: int) -> None:
        runs = self.settler.pending.runs
        runs[self.index.run.id] = runs.pop(before, {})
        hosts, self._hosts = self._hosts, set()
        for host in ("", *hosts):
            self.visit(host)

    async def close(self, reason: str, *, unjudged: str = "", lost: Sequence[LostFeed] = ()) -> None:
        """End the run, log its summary, and close the index.

        *unjudged* says why nothing was judged, if that is so, *lost* which feeds have lost pages.
        """
        if self.index.detector is None:
            return
        if self._thresholds[0]:
            gc.unfreeze()
            gc.set_threshold(*self._thresholds)
        self.settler.close()
        self.rules.close()
        left_out = self.probes.close()

        def sum_up(at: Detector) -> None:
            run, config = self.index.run, self.settings.config
            report = _report(at.index, run.id, config)
            text = summary(
                *(self.counts.own(), at.index, run),
                unjudged=unjudged,
                elsewhere=self.counts.elsewhere(self._hosts),
                lost=lost,
                left_out=left_out,
                changed=in_a_line(at.index, run.id),
                said=[*_said(at.index, config, report)],
            )
            if report and report.is_alarm:
                if records := report.losses.records:
                    self.counts.add("may_be_records", len(records))
                if report.unchecked:
                    self.counts.add("unchecked", report.unchecked)
                logger.warning("%s", report.verdict)
            statistics = at.index.store.statistics()
            self.counts.add("index/rows", statistics.rows)
            self.counts.add("index/bytes", statistics.bytes)
            self.counts.add("index/orphans", statistics.orphans)
            logger.info("%s", text)

        await self.index.close(reason, sum_up)
        self.settler.pending.leave(self.index.run.id)

    def prepared(self, question: Question) -> Question:
        """Return *question* as `ask` takes it: marks are obeyed, and what is noise is left out."""
        if question.page.excess:
            self.counts.over_limit(question.page.url, question.page.excess)
        question.page = self._marked.obeyed(question.page)
        self.probes.mask(question)
        return question

    def ask(self, question: Question) -> Verdict | None:
        """Judge and record, in a file; a verdict without a row repeats a page that is pending here."""
        answers: list[Verdict | None] = []
        tells = bool(self.settler.pending.fates)
        self._ask(question, answers.append)
        if tells and answers[0] is None:  # which may be because of what it was to tell
            self._ask(question, answers.append)
        return answers[-1]

    async def ask_in_turn(self, question: Question) -> Verdict | None:
        """Do what `ask` does; a server is waited for, in the turn of the question."""
        if not self.index.is_remote:
            return self.ask(question)
        later: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()
        self._ask(question, lambda verdict: None if later.done() else later.set_result(verdict))
        return await later

    async def answer(self, question: Question, *, can_repeat: bool) -> Verdict | None:
        """Return the verdict on *question* when the fate of the row that it repeats is known.

        After `WAIT` seconds it is asked once more, and is a copy of a pending row if that can be
        mended: if its page *can_repeat*, see `again`; otherwise there is no verdict.
        """
        left = WAIT
        while (verdict := await self.ask_in_turn(question)) is not None and verdict.row is None:
            assert verdict.standing is not None
            begin = monotonic()
            await self.settler.pending.wait(verdict.standing, left)
            # A moment more, as nothing was waited for where its fate is already known.
            left -= monotonic() - begin + WAIT / 100
            if left <= 0:
                self.counts.add("wait_timeout")
                if not can_repeat:
                    return None
                question.waits = False
        return verdict

    def _ask(self, question: Question, then: Callable[[Verdict | None], None]) -> None:
        sighting, pending = self._sighted(question), self.settler.pending
        if sighting is None:
            then(None)
            return
        fates = pending.take()

        def answered(verdict: Verdict | None) -> None:
            if verdict is not None:
                self._note(sighting, verdict)
                self.probes.judged(question, verdict)
            self.settler.recorded(fates, is_done=verdict is not None)
            then(verdict)

        question.first, question.told_to = fates.tell, None
        question.host = None if sighting.host in self._hosts else sighting.host
        question.wait_for = frozenset(pending.runs if question.waits else ())
        self.probes.mask_earlier(question)
        self.index.do(question, answered)

    def _sighted(self, question: Question) -> Sighting | None:
        """Return the sighting that *question* is about, None if there is no index or no fingerprint."""
        detector = self.index.detector
        if question.sighting is None and detector:
            sight = partial(detector.sighting, question.page, kind=question.kind)
            try:
                question.sighting = self.counts.timed("fingerprint", sight)
                if question.gaps or question.of_site:
                    left = replace(question.sighting.fingerprint, left_out=bool(question.gaps))
                    if question.lists:
                        left = of_own(left, question.lists.own(question.page, question.of_site))
                    question.sighting = replace(question.sighting, fingerprint=left)
            except Exception:  # which is our error: the page is kept
                logger.exception("<%s> could not be judged and is kept", printable(question.page.url))
        return question.sighting

    def _note(self, sighting: Sighting, verdict: Verdict) -> None:
        # Of a run that was ended meanwhile another one goes on, and was not told of the host.
        (self._visited if sighting.run == self.index.run.id else self.visit)(sighting.host)
        if verdict.row is None:
            return
        if verdict.kept:
            self.settler.pending.begin(self.index.run.id, verdict.row)
        if verdict.represents:
            self.counts.add("canonical_not_met")
        self.counts.judged(verdict)
        self.settler.note_change(sighting.url, verdict)

    def visit(self, host: str) -> None:
        if self.index.detector is None or host in self._hosts:
            return

        def visited(at: Detector) -> bool:
            at.visit(host)
            return True

        self._visited(host)
        self.index.do(visited, lambda is_done: None if is_done else self._hosts.discard(host))

    def _visited(self, host: str) -> None:
        if len(self._hosts) >= _MAX_HOSTS:
            self._hosts.clear()
        self._hosts.add(host)

    def withhold(self, links: Sequence[str]) -> None:
        """Record *links* that were not requested because they stood on a copy."""
        urls = [url for url in links if url.startswith(("http:", "https:"))]
        if urls:
            self.index.do(lambda at: at.index.runs.withhold(at.run, urls))


def _report(index: Index, run: int, config: DedupConfig) -> Report | None:
    """Return the report on *run*, None where it has no copies: then no row is read."""
    if not index.store.clusters(run, 1):
        return None
    from dedup.report.clusters import Report

    report = Report(index, config, run)
    return report if report.counts.copies else None


def _said(index: Index, config: DedupConfig, report: Report | None) -> Iterator[str]:
    """Yield the marks, and what the *report* on the run says."""
    if exceptions := config.exceptions:
        marks = printable(str(marks_of(index.name)), 4096)  # a whole path
        yield f"{counted(len(exceptions), 'mark')} obeyed, of {marks}"
    if report:
        yield from [] if report.is_alarm else [report.verdict]
        yield from (line for _, line in places(report, _PLACES))


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
