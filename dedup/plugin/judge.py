"""The judge of one crawl: asks the index for both doors, and settles what was kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from dedup.front.settings import DedupSettings
from dedup.front.summary import summary
from dedup.index import Run, Sighting, SQLiteIndex, Withheld, open_index
from dedup.index.detector import Detector
from dedup.plugin.counting import Counts
from dedup.plugin.errors import CannotBegin
from dedup.plugin.jobs import job_of
from dedup.plugin.notices import Notices
from dedup.plugin.patience import LONGEST_WAIT, Patience
from dedup.plugin.settings import index_path
from dedup.plugin.waiting import Seat, WaitingRoom, waiting_room
from dedup.reading.page import Page
from dedup.reading.sighting import sighting_of
from dedup.recipes.fingerprinter import fingerprint
from dedup.values.errors import IndexUnavailable
from dedup.values.hashes import digest
from dedup.values.run import DRY_RUN
from dedup.values.urls import host_of
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# How many rows may fail to be settled before the next question, each after a wait for a lock.
_MOST_FAILURES = 2
# Hosts that are remembered as visited; others are recorded again.
_MAX_HOSTS = 20_000


class Judge:
    """One crawl's run of the index.

    Of a page that cannot be judged there is None instead of a verdict; its door keeps it.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self.counts = Counts(crawler)
        """The stats of the crawl."""
        self.verdicts: WeakKeyDictionary[Response, Verdict] = WeakKeyDictionary()
        """The verdicts on responses that were judged before their callback."""
        self.given: WeakSet[Response] = WeakSet()
        """Responses that reached their callback, and whose callback has not failed."""
        self._crawler = crawler
        self._index_path = index_path(settings)
        self._detector: Detector | None = None
        self._room = WaitingRoom()
        self._notices = Notices(settings, self.counts)
        self._patience = Patience(self.counts, self._notices)
        # Rows whose fate is known but not yet in the index, which failed when it was to be stored.
        self._unsettled: dict[int, bool] = {}
        self._hosts: dict[str, None] = {}

    # The run

    def check(self) -> None:
        """Raise `CannotBegin` if the index cannot be used; an error in `open` would be logged twice."""
        try:
            with open_index(self._index_path) as index:
                index.expect(self.settings.config)
                _ = index.secret  # which may be damaged
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def open(self) -> Run:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``."""
        index = open_index(self._index_path)
        try:
            detector = self._detector_on(index)
            run = detector.run
            detector.visit("")  # items without a response are met in every crawl
            index.store.wait_at_most(LONGEST_WAIT)
        except BaseException:
            index.close()
            raise
        self._detector = detector
        self._room = waiting_room(str(index.path.resolve()))
        self._room.runs.add(run.id)
        return run

    def _detector_on(self, index: SQLiteIndex) -> Detector:
        assert self._crawler.spider is not None
        settings = self.settings
        return Detector(
            index,
            settings.config,
            self._crawler.spider.name,
            job=job_of(self._crawler.settings.get("JOBDIR")),
            settings=digest(repr(settings).encode()).hex(),
            action=DRY_RUN if settings.dry_run else settings.action,
            crawl=settings.crawl,
        )

    def close(self, reason: str) -> None:
        """End the run, log its summary, close the index."""
        if self._detector is None:
            return
        self._patience.renew()
        self._catch_up()
        detector, self._detector = self._detector, None
        run, index = detector.run, detector.index
        try:
            detector.close(reason)
            self.counts.index(index.views.statistics())
            logger.info("%s", summary(self.counts.own(), index, run, self._notices.swallowed()))
            if isinstance(index, SQLiteIndex) and not index.store.is_in_place:
                logger.error(
                    "%s was moved, deleted or replaced during the crawl: what this run saw is not in "
                    "the file that is there now",
                    index.name,
                )
        except IndexUnavailable as error:
            logger.error("The run could not be ended: %s", error)
        finally:
            self._room.leave(run.id)
            index.close()

    # Asking

    def sighting(self, page: Page, kind: str) -> Sighting:
        """Return the sighting of *page*, "page" or "item" by *kind*, as `ask` takes it."""
        if page.excess:
            self._notices.over_limit(page.url, page.excess)
        if self._detector is None:  # no index will be asked
            return sighting_of(page, fingerprint(page, self.settings.config), kind=kind)
        return self.counts.timed("fingerprint", self._detector.sighting, page, kind=kind)

    def ask(
        self, sighting: Sighting, page: Page | None = None, *, is_wanted: bool = False
    ) -> Verdict | None:
        """Judge and record; a verdict without row repeats what is pending in this process.

        *page* is what was sighted, for an index that stores pages; what *is_wanted* is kept, whatever
        it repeats.
        """
        self._catch_up()
        verdict = self._attempt(partial(self._submit, sighting, page, is_wanted=is_wanted))
        if verdict is not None:
            self._note(sighting.url, verdict)
        return verdict

    def _submit(self, sighting: Sighting, page: Page | None, *, is_wanted: bool) -> Verdict:
        assert self._detector is not None
        self._visit(sighting.host)
        return self._detector.submit(sighting, page, is_wanted=is_wanted, wait_for=self._room.runs)

    def _note(self, url: str, verdict: Verdict) -> None:
        self.counts.lookup(verdict)
        if verdict.candidates >= self.settings.config.max_candidates:
            self._notices.capped(url)
        if verdict.row is None:
            return
        if verdict.represents:
            self.counts.add("canonical_not_met")
        self._notices.judged(url, verdict)

    def is_of_another_run(self, verdict: Verdict) -> bool:
        """Whether what *verdict* names was kept by another run than this one."""
        return self._detector is not None and verdict.canonical_run != self._detector.run.id

    def _attempt(self, ask: Callable[[], _T]) -> _T | None:
        return self._patience.attempt(ask) if self._detector else None

    # Visits, and what was withheld

    def visit(self, url: str) -> None:
        """Record that this crawl is on the host of *url*."""
        if (host := host_of(url)) not in self._hosts:
            self._attempt(partial(self._visit, host))

    def _visit(self, host: str) -> None:
        assert self._detector is not None
        if host in self._hosts:
            return
        self._detector.visit(host)
        if len(self._hosts) >= _MAX_HOSTS:
            del self._hosts[next(iter(self._hosts))]
        self._hosts[host] = None

    def withhold(self, row: int, links: Sequence[str], own: tuple[str, str] | None = None) -> None:
        """Record *links* that were not requested because the page of *row* is a copy.

        *own* is the URL and the request of that page, where its callback was skipped.
        """
        requests = [Withheld(row, url, "link") for url in links if url.startswith(("http:", "https:"))]
        if own:
            requests.append(Withheld(row, own[0], "callback", own[1]))
        if requests and self._detector:
            index, run = self._detector.index, self._detector.run
            self._attempt(partial(index.book.withhold, run, requests))

    def wanted(self) -> list[tuple[str, str]]:
        """Return the URLs, and the requests, of skipped pages that were restored."""
        if self._detector is None:
            return []
        index, spider = self._detector.index, self._detector.run.spider
        own = {run.id for run in index.runs() if run.spider == spider}
        wanted = {row.id for row in index.views.wanted() if row.sighting.run in own}
        return [
            (one.url, one.request)
            for one in index.book.withheld()
            if one.what == "callback" and one.row in wanted
        ]

    # Settling

    def seat(self, verdict: Verdict) -> Seat:
        """Return a seat to wait in for the row that *verdict*, which has none, leans on."""
        assert verdict.standing is not None
        return self._room.enter(verdict.standing.row)

    async def ask_again(self, ask: Callable[[], Verdict | None], seat: Seat) -> Verdict | None:
        """Wait in *seat*, call *ask* again, and so on, until there is a verdict with a row.

        Raises `TimeoutError` when ``DEDUP_WAIT`` is over.
        """
        deadline = monotonic() + self.settings.wait
        while await seat.wait(deadline - monotonic()):
            verdict = ask()
            if verdict is None or verdict.row is not None:
                return verdict
            seat = self.seat(verdict)
        raise TimeoutError

    def settle(self, row: int, *, kept: bool) -> None:
        """Confirm a pending row, or release it; if the index fails, do so before the next question."""
        if self._detector is None:
            return
        self._settle(row, kept=kept)
        if not kept:
            self.counts.add("released")
        self._room.settled(row)

    def _settle(self, row: int, *, kept: bool) -> bool:
        assert self._detector is not None
        index = self._detector.index
        self._unsettled[row] = kept
        is_settled = self._attempt(lambda: (index.confirm if kept else index.release)(row) or True)
        if is_settled:
            del self._unsettled[row]
        return bool(is_settled)

    def _catch_up(self) -> None:
        """Settle what could not be settled; a row that never can be does not block the others."""
        if not self._unsettled or self._patience.is_over:
            return
        failures = 0
        for row, kept in list(self._unsettled.items()):
            del self._unsettled[row]  # if it fails again, it comes after the others
            failures += not self._settle(row, kept=kept)
            if failures == _MOST_FAILURES or self._patience.is_over:
                return
