"""The judge of one crawl: asks the index for both doors, settles what it kept, and counts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from dedup.front.settings import DedupSettings
from dedup.front.shares import DOUBTFUL, Shares
from dedup.front.summary import summary
from dedup.index import Index, Run, Sighting, SQLiteIndex, Withheld
from dedup.index.detector import Detector
from dedup.plugin.errors import CannotBegin
from dedup.plugin.jobs import job_of
from dedup.plugin.settings import index_path
from dedup.plugin.waiting import Seat, WaitingRoom, waiting_room
from dedup.reading.page import Page
from dedup.reading.sighting import sighting_of
from dedup.recipes.fingerprinter import fingerprint
from dedup.values.errors import IndexUnavailable
from dedup.values.hashes import digest
from dedup.values.limits import MAX_ATTRIBUTES, Excess
from dedup.values.printable import printable
from dedup.values.run import DRY_RUN
from dedup.values.urls import host_of
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# So many failures of the index at a time, each of which may take as long as it waits for a lock.
_PATIENCE = 2
# What a page over a limit has, for the log.
_EXCESSES = {
    Excess.BYTES: "more than DEDUP_MAX_BYTES ({:,}) bytes",
    Excess.TEXT: "text of more than DEDUP_MAX_BYTES ({:,}) bytes in Unicode's normal form",
    Excess.ATTRIBUTES: f"a tag of more than {MAX_ATTRIBUTES:,} attributes",
}


# The reactor waits so many seconds for a lock of another process, and so much of a crawl in all.
_LONGEST_WAIT = 2.0
_WAITING_SHARE = 0.01
# A shorter wait is not counted; after one that was in vain the index is not asked for ten times as long.
_NOTABLE = 0.5
_PAUSE = 10
# Hosts that are remembered as visited; others are recorded again.
_MAX_HOSTS = 20_000


@dataclass(frozen=True, slots=True)
class Question:
    """A page and its sighting.

    What *is_wanted* is kept, whatever it repeats.
    """

    page: Page
    sighting: Sighting
    is_wanted: bool = False

    @property
    def name(self) -> str:
        """What to call it beside its URL, or in its place: its key, or without a URL its first text."""
        if self.page.item_key or self.page.url:
            return self.page.item_key
        return next((line.strip() for line in self.page.text.splitlines() if line.strip()), "")


class Judge:
    """One crawl's run of the index.

    A page that cannot be judged is kept by its door; here it is None instead of a verdict.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self.verdicts: WeakKeyDictionary[Response, Verdict] = WeakKeyDictionary()
        """The verdicts on responses that were judged before their callback."""
        self.given: WeakSet[Response] = WeakSet()
        """Responses that reached their callback, and whose callback has not failed."""
        self._crawler = crawler
        self._detector: Detector | None = None
        self._room = WaitingRoom()
        self._shares = Shares(settings.cluster_share)
        self._reported: set[str] = set()
        # Rows whose fate is known and not yet in the index, which failed when it was to be told.
        self._unsettled: dict[int, bool] = {}
        # The index is not asked before this moment: it was locked for too long.
        self._asks_again = 0.0
        self._waited = 0.0
        self._opened = monotonic()
        self._hosts: dict[str, None] = {}

    def check(self) -> None:
        """Raise `CannotBegin` if the index cannot be used; when `open` finds out, Scrapy fails twice."""
        try:
            with SQLiteIndex(index_path(self.settings)) as index:
                index.expect(self.settings.config)
                _ = index.secret  # which may be damaged
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def open(self) -> Run:
        """Open the index and begin a run, or go on with that of the same ``JOBDIR``."""
        assert self._crawler.spider is not None
        index = SQLiteIndex(index_path(self.settings))
        try:
            detector = Detector(
                index,
                self.settings.config,
                self._crawler.spider.name,
                job=job_of(self._crawler.settings.get("JOBDIR")),
                settings=digest(repr(self.settings).encode()).hex(),
                action=DRY_RUN if self.settings.dry_run else self.settings.action,
                crawl=self.settings.crawl,
            )
            run = detector.run
            detector.visit("")  # items of no response are met in every crawl
            index.store.wait_at_most(_LONGEST_WAIT)
        except BaseException:
            index.close()
            raise
        self._detector = detector
        self._room = waiting_room(str(index.path.resolve()))
        self._room.runs.add(run.id)
        return run

    # Asking

    def question(self, page: Page, kind: str, *, is_wanted: bool = False) -> Question:
        """Return what `ask` takes: *page* with its fingerprint."""
        if page.excess:
            self._note_excess(page.url, page.excess)
        with self.timed("fingerprint"):
            return Question(page, self._sighting(page, kind), is_wanted)

    def _sighting(self, page: Page, kind: str) -> Sighting:
        if self._detector is None:  # it is not asked about then
            return sighting_of(page, fingerprint(page, self.settings.config), kind=kind)
        return self._detector.sighting(page, kind=kind)

    def ask(self, question: Question) -> Verdict | None:
        """Judge and record; a verdict without row repeats what is pending in this process."""
        self._catch_up()
        verdict = self._attempt(partial(self._submit, question))
        if verdict is not None:
            self._note(question, verdict)
        return verdict

    def _submit(self, question: Question) -> Verdict:
        assert self._detector is not None
        self._visit(question.sighting.host)
        return self._detector.submit(
            question.sighting,
            question.page,
            is_wanted=question.is_wanted,
            wait_for=self._room.runs,
        )

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
        """Return the URLs, and the requests, of skipped pages that somebody wants back."""
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

    def _attempt(self, ask: Callable[[], _T]) -> _T | None:
        """Return what the index answers, None where it fails or was locked for too long just now."""
        if self._detector is None:
            return None
        if monotonic() < self._asks_again:
            self.count("not_asked")
            return None
        begin = monotonic()
        try:
            with self.timed("index"):
                found = ask()
        except Exception as error:  # whatever it is: to lose the page would be worse
            self._report(error)
            self._note_wait(begin, in_vain=True)
            return None
        self._note_wait(begin, in_vain=False)
        return found

    def _note_wait(self, begin: float, *, in_vain: bool) -> None:
        """Stop asking for a while when the reactor has waited too long for a lock of another process."""
        now = monotonic()
        seconds = now - begin
        if seconds < _NOTABLE:
            return
        self._waited += seconds
        if in_vain:
            self._asks_again = now + _PAUSE * seconds
        if in_vain or self._waited > _LONGEST_WAIT:
            self._asks_again = max(self._asks_again, self._opened + self._waited / _WAITING_SHARE)

    # Settling

    def seat(self, verdict: Verdict) -> Seat:
        """Return a seat to wait in for the row that *verdict*, which has none, leans on."""
        assert verdict.standing is not None
        return self._room.enter(verdict.standing.row)

    async def ask_again(self, question: Question, seat: Seat) -> Verdict | None:
        """Wait in *seat*, ask again, and so on, until there is a verdict with a row.

        Raises `TimeoutError` when ``DEDUP_WAIT`` is over.
        """
        deadline = monotonic() + self.settings.wait
        while await seat.wait(deadline - monotonic()):
            verdict = self.ask(question)
            if verdict is None or verdict.row is not None:
                return verdict
            seat = self.seat(verdict)
        raise TimeoutError

    def settle(self, row: int, *, kept: bool) -> None:
        """Confirm a pending row, or release it; if the index fails now, before the next question."""
        if self._detector is None:
            return
        self._settle(row, kept=kept)
        if not kept:
            self.count("released")
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
        """Settle what could not be settled; a row that never can be does not hold up the others."""
        if not self._unsettled or monotonic() < self._asks_again:
            return
        failures = 0
        for row, kept in list(self._unsettled.items()):
            del self._unsettled[row]  # back behind the others, if it fails again
            failures += not self._settle(row, kept=kept)
            if failures == _PATIENCE or monotonic() < self._asks_again:
                return

    # Counting

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``dedup/`` *name*."""
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"dedup/{name}", by)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the seconds that a step took to its stat."""
        assert self._crawler.stats is not None
        begin = perf_counter()
        try:
            yield
        finally:
            seconds: Any = perf_counter() - begin  # Scrapy annotates counts as whole numbers
            self._crawler.stats.inc_value(f"dedup/seconds/{step}", seconds)

    def is_of_another_run(self, verdict: Verdict) -> bool:
        """Whether what *verdict* names was kept by another run than this one."""
        return self._detector is not None and verdict.canonical_run != self._detector.run.id

    def _note(self, question: Question, verdict: Verdict) -> None:
        assert self._crawler.stats is not None
        url = question.page.url
        self.count("lookups")
        self.count("candidates", verdict.candidates)
        self._crawler.stats.max_value("dedup/candidates_max", verdict.candidates)
        if verdict.candidates >= self.settings.config.max_candidates:
            self._note_flood(url)
        if verdict.row is None:
            return
        self._shares.page(url)
        self._note_doubts(url, verdict)
        if verdict.represents:
            self.count("canonical_not_met")
        if verdict.repeats_another and verdict.canonical is not None:
            found = self._shares.copy(url, verdict.canonical, verdict.canonical_url)
            if found:
                self.count("large_clusters")
                logger.warning(
                    "%d of %d pages of %s (%.0f%%) so far are copies of <%s>: a trap, or pages of one "
                    "template that only look alike? See `dedup report`; DEDUP_CLUSTER_SHARE is %g",
                    *(found.copies, found.seen, printable(found.host), 100 * found.share),
                    *(printable(found.canonical_url), self.settings.cluster_share),
                )

    def _note_doubts(self, url: str, verdict: Verdict) -> None:
        """Warn where many pages are dropped that share little with what they repeat."""
        if not verdict.repeats_another or (verdict.similarity or 0.0) >= DOUBTFUL:
            return
        for found in self._shares.doubt(url):
            self.count("doubtful_shares")
            logger.warning(
                "%d of %d pages of %s (%.0f%%) so far were dropped for pages that they share less than "
                "%.0f%% with: are they really copies? See `dedup report`, and raise "
                "DEDUP_MIN_SIMILARITY if they are not; DEDUP_CLUSTER_SHARE is %g",
                *(found.copies, found.seen, printable(found.host) or "this crawl", 100 * found.share),
                *(100 * DOUBTFUL, self.settings.cluster_share),
            )

    def _note_flood(self, url: str) -> None:
        self.count("candidates_capped")
        if "cap" not in self._reported:
            self._reported.add("cap")
            logger.warning(
                "<%s> is near more than DEDUP_MAX_CANDIDATES (%d) pages; only the nearest were "
                "looked at, here and wherever dedup/candidates_capped counts it",
                printable(url),
                self.settings.config.max_candidates,
            )

    def _note_excess(self, url: str, excess: Excess) -> None:
        self.count(f"over_limit/{excess}")
        if excess not in self._reported:
            self._reported.add(excess)
            logger.warning(
                "<%s> has %s: such pages are not read, and kept unless all their bytes are those of "
                "another one; dedup/over_limit/%s counts them",
                *(printable(url), _EXCESSES[excess].format(self.settings.config.max_bytes), excess),
            )

    def _report(self, error: Exception) -> None:
        self.count("index_errors")
        if str(error) not in self._reported:
            self._reported.add(str(error))
            trace = None if isinstance(error, IndexUnavailable) else error
            logger.error(
                "Pages are kept without being judged: %s", str(error) or repr(error), exc_info=trace
            )

    # The end

    def close(self, reason: str) -> None:
        """End the run, log its summary, close the index."""
        if self._detector is None:
            return
        self._asks_again = 0.0
        self._catch_up()
        detector, self._detector = self._detector, None
        run, index = detector.run, detector.index
        assert self._crawler.stats is not None
        try:
            detector.close(reason)
            self._take_stock(index)
            logger.info("%s", summary(self._counts(), index, run, self._shares.noticed()))
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

    def _counts(self) -> dict[str, int]:
        """Return our stats without the beginning that tells them from those of others."""
        assert self._crawler.stats is not None
        stats: dict[str, Any] = self._crawler.stats.get_stats()
        return {
            name.removeprefix("dedup/"): value
            for name, value in stats.items()
            if name.startswith("dedup/")
        }

    def _take_stock(self, index: Index) -> None:
        stats = self._crawler.stats
        assert stats is not None
        found = index.views.statistics()
        stats.set_value("dedup/index/rows", found.rows)
        stats.set_value("dedup/index/bytes", found.bytes)
        stats.set_value("dedup/index/orphans", found.orphans)
        if lookups := stats.get_value("dedup/lookups"):
            mean = stats.get_value("dedup/candidates", 0) / lookups
            stats.set_value("dedup/candidates_per_lookup", round(mean, 3))
