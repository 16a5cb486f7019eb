"""The judge of one crawl: asks the index for both doors, settles what it kept, and counts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dedup.detector import Detector
from dedup.errors import IndexUnavailable
from dedup.fingerprints import Fingerprint, fingerprint
from dedup.hashing import digest
from dedup.index import Index, Run, SQLiteIndex
from dedup.limits import MAX_ATTRIBUTES, Excess
from dedup.page import Page
from dedup.plugin.settings import PluginSettings
from dedup.plugin.shares import Shares
from dedup.plugin.summary import summary
from dedup.plugin.waiting import Seat, WaitingRoom, waiting_room
from dedup.printable import printable
from dedup.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


# So many failures of the index at a time, each of which may take as long as it waits for a lock.
_PATIENCE = 2
# What a page over a limit has, for the log.
_EXCESSES = {
    Excess.BYTES: "more than DEDUP_MAX_BYTES ({:,}) bytes",
    Excess.TEXT: "text of more than DEDUP_MAX_BYTES ({:,}) bytes in Unicode's normal form",
    Excess.ATTRIBUTES: f"a tag of more than {MAX_ATTRIBUTES:,} attributes",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A page with its fingerprint; *kind* ("page" or "item") says what it is compared with."""

    page: Page
    fingerprint: Fingerprint
    kind: str


class Judge:
    """One crawl's run of the index.

    A page that cannot be judged is kept by its door; here it is None instead of a verdict.
    """

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        self.settings = settings
        self.verdicts: WeakKeyDictionary[Response, Verdict] = WeakKeyDictionary()
        """The verdicts on responses that were judged before their callback."""
        self._crawler = crawler
        self._detector: Detector | None = None
        self._room = WaitingRoom()
        self._shares = Shares(settings.cluster_share)
        self._reported: set[str] = set()
        # Rows whose fate is known and not yet in the index, which failed when it was to be told.
        self._unsettled: dict[int, bool] = {}

    def open(self) -> Run:
        """Open the index and begin a run, or go on with that of the same ``JOBDIR``."""
        assert self._crawler.spider is not None
        index = SQLiteIndex(self.settings.index_path)
        try:
            detector = Detector(
                index,
                self.settings.config,
                self._crawler.spider.name,
                job=self._job,
                settings=digest(repr(self.settings).encode()).hex(),
                action="dry run" if self.settings.dry_run else self.settings.action,
            )
            run = detector.run
        except BaseException:
            index.close()
            raise
        self._detector = detector
        self._room = waiting_room(str(index.path.resolve()))
        self._room.runs.add(run.id)
        return run

    @property
    def _job(self) -> str:
        folder = self._crawler.settings.get("JOBDIR")
        return str(Path(folder).resolve()) if folder else ""

    # Asking

    def question(self, page: Page, kind: str) -> Question:
        """Return what `ask` takes: *page* with its fingerprint."""
        if page.excess:
            self._note_excess(page.url, page.excess)
        with self.timed("fingerprint"):
            return Question(page, self._fingerprint(page), kind)

    def _fingerprint(self, page: Page) -> Fingerprint:
        if self._detector is None:  # it is not asked about then
            return fingerprint(page, self.settings.config)
        return self._detector.fingerprint(page)

    def ask(self, question: Question) -> Verdict | None:
        """Judge and record; a verdict without row repeats what is pending in this process."""
        if self._detector is None:
            return None
        page = question.page
        try:
            with self.timed("index"):
                self._catch_up()
                verdict = self._detector.submit(
                    page, question.fingerprint, kind=question.kind, wait_for=self._room.runs
                )
        except Exception as error:  # whatever it is: to lose the page would be worse
            self._report(error)
            return None
        self._note(page.url, verdict)
        return verdict

    def seat(self, verdict: Verdict) -> Seat:
        """Return a seat to wait in for the fate of what *verdict*, which has no row, names."""
        assert verdict.canonical is not None
        return self._room.enter(verdict.canonical)

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
        try:
            with self.timed("index"):
                self._settle(row, kept=kept)
        except Exception as error:
            self._unsettled[row] = kept
            self._report(error)
        if not kept:
            self.count("released")
        self._room.settled(row)

    def _settle(self, row: int, *, kept: bool) -> None:
        assert self._detector is not None
        index = self._detector.index
        (index.confirm if kept else index.release)(row)

    def _catch_up(self) -> None:
        """Settle what could not be settled; a row that never can be does not hold up the others."""
        failures = 0
        for row, kept in list(self._unsettled.items()):
            del self._unsettled[row]
            try:
                self._settle(row, kept=kept)
            except Exception:  # reported when it failed first
                self._unsettled[row] = kept  # behind the others
                failures += 1
                if failures == _PATIENCE:
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

    def _note(self, url: str, verdict: Verdict) -> None:
        assert self._crawler.stats is not None
        self.count("lookups")
        self.count("candidates", verdict.candidates)
        self._crawler.stats.max_value("dedup/candidates_max", verdict.candidates)
        if verdict.candidates >= self.settings.config.max_candidates:
            self._note_flood(url)
        if verdict.row is None:
            return
        self._shares.page(url)
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
        self._catch_up()
        detector, self._detector = self._detector, None
        run, index = detector.run, detector.index
        assert self._crawler.stats is not None
        try:
            detector.close(reason)
            self._take_stock(index)
            stats = self._crawler.stats.get_stats()
            logger.info("%s", summary(stats, index, run, self._shares.noticed()))
            if isinstance(index, SQLiteIndex) and not index.is_in_place:
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

    def _take_stock(self, index: Index) -> None:
        stats = self._crawler.stats
        assert stats is not None
        found = index.statistics()
        stats.set_value("dedup/index/rows", found.rows)
        stats.set_value("dedup/index/bytes", found.bytes)
        stats.set_value("dedup/index/orphans", found.orphans)
        if lookups := stats.get_value("dedup/lookups"):
            mean = stats.get_value("dedup/candidates", 0) / lookups
            stats.set_value("dedup/candidates_per_lookup", round(mean, 3))
