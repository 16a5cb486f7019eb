"""The item pipeline: judge, then keep or drop."""

from __future__ import annotations

import logging
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals

from dedup.detector import Detector
from dedup.errors import IndexUnavailable
from dedup.fingerprints import Fingerprint, fingerprint
from dedup.hashing import digest
from dedup.index import SQLiteIndex
from dedup.page import Page
from dedup.plugin.errors import DuplicatePage, explained
from dedup.plugin.pages import page_from_item
from dedup.plugin.settings import PluginSettings, read_settings
from dedup.plugin.summary import summary
from dedup.plugin.tracking import Token, Tracker, TrackingPipeline
from dedup.plugin.waiting import Seat, WaitingRoom
from dedup.printable import printable
from dedup.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class DedupPipeline:
    """Drops items that repeat a page kept before, in this crawl or an earlier one.

    An item that cannot be judged is kept and counted.  The pages of one crawl are one run of the
    index; a crawl resumed from its JOBDIR goes on with its run.
    """

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._tracker = Tracker()
        self._waiting = WaitingRoom()
        self._detector: Detector | None = None
        self._reported: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline = cls(crawler, read_settings(crawler.settings))
        for signal, receiver in (
            (signals.item_scraped, pipeline._item_scraped),
            (signals.item_dropped, pipeline._item_lost),
            (signals.item_error, pipeline._item_lost),
            (signals.spider_closed, pipeline._spider_closed),
        ):
            crawler.signals.connect(receiver, signal)
        return pipeline

    def open_spider(self, spider: Any = None) -> None:
        if tracking := self._crawler.get_item_pipeline(TrackingPipeline):
            self._tracker = tracking.tracker
        index = SQLiteIndex(self._settings.index_path)
        try:
            self._detector = Detector(
                index,
                self._settings.config,
                self._spider_name,
                job=self._job,
                settings=digest(repr(self._settings).encode()).hex(),
            )
            run = self._detector.run
        except BaseException:
            index.close()
            raise
        logger.info("Deduplicating into %s, run %d%s", index.name, run.id, self._predecessors())

    @property
    def _spider_name(self) -> str:
        assert self._crawler.spider is not None
        return self._crawler.spider.name

    @property
    def _job(self) -> str:
        folder = self._crawler.settings.get("JOBDIR")
        return str(Path(folder).resolve()) if folder else ""

    def _predecessors(self) -> str:
        assert self._crawler.engine is not None
        pipelines = list(self._crawler.engine.scraper.itemproc.middlewares)
        before = [
            type(pipeline).__name__
            for pipeline in pipelines[: pipelines.index(self)]
            if not isinstance(pipeline, TrackingPipeline)
        ]
        return f", after {', '.join(before)}" if before else ""

    # Not a coroutine function: between asking the index and adding to it nothing else may run,
    # and an item that need not wait costs no task.
    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Return *item*, an awaitable of it if it must wait, or raise `DuplicatePage`."""
        token = self._tracker.judged(item)
        self._count("seen")
        try:
            page = self._page(item, token)
            found = fingerprint(page, self._settings.config) if page else None
        except Exception:
            # A page that we cannot read is our fault: a traceback in the log, and the item goes on.
            logger.exception("An item could not be judged and is kept")
            return self._keep_unjudged(item)
        if page is None or found is None:
            return self._keep_unjudged(item)
        kind = "page" if token.handed.page else "item"
        verdict = self._ask(page, found, kind)
        if verdict is None:
            return self._keep_unjudged(item)
        if verdict.row is None:
            return self._wait(item, token, page, found, kind, self._seat(verdict))
        return self._act(item, token, page, verdict)

    def _page(self, item: Any, token: Token) -> Page | None:
        if token.handed.is_exempt:
            return None
        return token.handed.page or page_from_item(item, self._settings)

    def _ask(self, page: Page, found: Fingerprint, kind: str) -> Verdict | None:
        assert self._detector is not None
        try:
            verdict = self._detector.submit(page, found, kind=kind, wait=True)
        except IndexUnavailable as error:
            self._report(error)
            return None
        if verdict.candidates >= self._settings.config.max_candidates:
            self._count("candidates_capped")
            if "cap" not in self._reported:
                self._reported.add("cap")
                logger.warning(
                    "<%s> is near more than DEDUP_MAX_CANDIDATES (%d) pages; only the nearest were "
                    "looked at, here and wherever dedup/candidates_capped counts it",
                    printable(page.url),
                    self._settings.config.max_candidates,
                )
        return verdict

    def _seat(self, verdict: Verdict) -> Seat:
        assert verdict.canonical is not None
        return self._waiting.enter(verdict.canonical)

    async def _wait(  # noqa: PLR0917
        self, item: Any, token: Token, page: Page, found: Fingerprint, kind: str, seat: Seat
    ) -> Any:
        """Hold a copy back until the fate of the item that it repeats is known."""
        deadline = monotonic() + self._settings.wait
        while await seat.wait(deadline - monotonic()):
            verdict = self._ask(page, found, kind)
            if verdict is None:
                return self._keep_unjudged(item)
            if verdict.row is not None:
                return self._act(item, token, page, verdict)
            seat = self._seat(verdict)
        self._count("wait_timeout")
        return self._keep_unjudged(item)

    def _act(self, item: Any, token: Token, page: Page, verdict: Verdict) -> Any:
        self._count(verdict.reason)
        if verdict.kept:
            token.row = verdict.row
            self._count("kept")
            return item
        self._count("dropped")
        assert self._detector is not None
        if verdict.canonical_run != self._detector.run.id:
            self._count("dropped_for_earlier_run")
        logger.info("Dropped %s", explained(page.url, verdict))
        raise DuplicatePage(page.url, verdict)

    def _keep_unjudged(self, item: Any) -> Any:
        self._count(Reason.NOT_JUDGED)
        self._count("kept")
        return item

    def _item_scraped(self, item: Any) -> None:
        self._settle(item, kept=True)

    def _item_lost(self, item: Any) -> None:
        self._settle(item, kept=False)

    def _settle(self, item: Any, *, kept: bool) -> None:
        token = self._tracker.settle(item)
        if token is None or token.row is None or self._detector is None:
            return
        index = self._detector.index
        try:
            (index.confirm if kept else index.release)(token.row)
        except IndexUnavailable as error:
            self._report(error)
        if not kept:
            self._count("released")
        self._waiting.settled(token.row)

    def _report(self, error: IndexUnavailable) -> None:
        self._count("index_errors")
        if str(error) not in self._reported:
            self._reported.add(str(error))
            logger.error("Pages are kept without being judged: %s", error)

    def _count(self, name: str) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"dedup/{name}")

    def _spider_closed(self, reason: str) -> None:
        # Not in `close_spider`, which does not know how the crawl ended.
        if self._detector is None:
            return
        detector, self._detector = self._detector, None
        run, index = detector.run, detector.index
        assert self._crawler.stats is not None
        try:
            detector.close(reason)
            logger.info("%s", summary(self._crawler.stats.get_stats(), index, run))
        except IndexUnavailable as error:
            logger.error("The run could not be ended: %s", error)
        finally:
            index.close()
