"""What became of pages that were kept: the index hears of it; copies of lost ones are asked for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler

from dedup.model.printable import printable
from dedup.model.verdict import Verdict
from dedup.plugin.again import once_more
from dedup.plugin.crawl_index import CrawlIndex
from dedup.plugin.notices import CrawlStats
from dedup.plugin.pending import Copy, Fates
from dedup.settings import DedupSettings

logger = logging.getLogger(__name__)

# The index hears of the fate of rows with the next question, at the latest when there are so many of
# them, and after so many seconds.  If the process is killed before, their pages are new again.
MOST_GATHERED, GATHERED_FOR = 16, 0.25
# So many pages are asked for once more in a crawl.
MOST_AGAIN = 1_000


class Settler:
    """Settles the rows of the crawl of *crawler* in its *index*."""

    def __init__(
        self, crawler: Crawler, settings: DedupSettings, index: CrawlIndex, counts: CrawlStats
    ) -> None:
        self._crawler, self._settings = crawler, settings
        self._index, self._counts = index, counts
        self._timer: asyncio.TimerHandle | None = None
        self._again = 0
        # The first copy of each page that was dropped for one which this crawl had not met.
        self._of_earlier: dict[int, Request] = {}
        self._holds = False
        self._noted = 0

    def settle(self, row: int, *, kept: bool, is_loss: bool = True) -> None:
        """Confirm a pending row, or release it, which counts as a loss unless nothing was to be had."""
        if not kept and is_loss:
            self._counts.add("released")
        self._settle((row,), kept=kept, at_once=not kept and is_loss)

    def take_back(self, rows: Sequence[int]) -> None:
        """Let *rows*, which a feed has lost, count as never seen, even if they were confirmed."""
        self._counts.add("lost_in_feeds", len(rows))
        self._settle(rows, kept=False, at_once=True)

    def _settle(self, rows: Sequence[int], *, kept: bool, at_once: bool) -> None:
        if self._index.detector is None:
            return
        for row in rows:
            self._index.pending.settle(row, kept=kept)
        if at_once or len(self._index.pending.fates) >= MOST_GATHERED:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHERED_FOR, self.flush)

    def flush(self) -> None:
        """Tell the index of rows whose fate is known."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._index.detector and self._index.pending.fates:
            fates = self._index.pending.take()
            self._index.do(fates, lambda is_done: self.recorded(fates, is_done=bool(is_done)))

    def recorded(self, fates: Fates, *, is_done: bool) -> None:
        """Note that *fates* are in the index, or not; ask for copies of what was lost."""
        self._index.pending.recorded(fates, is_done=is_done)
        for copy in fates.copies if is_done else ():
            self.again(copy.request, "what it repeats was lost")

    def close(self) -> None:
        """Tell the index of all fates; what is lost from now on, the next crawl asks for."""
        self._again = MOST_AGAIN
        self._index.breaker.renew()
        fates = self._index.pending.fates
        self.flush()
        for _ in list(fates):  # one after the other, if together they could not be recorded
            self.flush()
        if self._holds and False not in fates.values():
            self._index.do(lambda at: at.index.runs.let_go(at.run))

    # Pages that are asked for once more

    def note_copy(self, verdict: Verdict, request: Request | None) -> None:
        """Note that a page was dropped by *verdict*; it is made again if what it repeats is lost."""
        if request is None or len(self._of_earlier) >= MOST_AGAIN:
            return
        if verdict.standing and verdict.row:
            self._index.pending.note_copy(verdict.standing, Copy(verdict.row, request))
        elif verdict.standing is None and verdict.repeats_another:
            self._of_earlier.setdefault(verdict.canonical or 0, request)

    def note_gone(self, url: str, status: int) -> None:
        """Note that a page may be gone: its address *url* has answered *status*, or led there.

        What was dropped for it, as it was delivered by an earlier crawl, is asked for again, and kept.
        """

        def noted(canonicals: list[int] | None) -> None:
            for canonical in canonicals or ():
                if copy := self._of_earlier.pop(canonical, None):
                    self.again(copy, "the address of the page that it repeats is gone")

        if self._index.detector and not self._settings.is_dry:
            self._index.do(lambda at: at.index.runs.note_gone(at.run, url, status), noted)

    def give_back(self, rows: Sequence[int], requests: Sequence[Request]) -> None:
        """Restore *rows*, which were dropped wrongly, and ask for their pages by *requests*."""
        self._counts.add("given_back", len(rows))

        def restored(found: Any) -> None:
            for request in requests if found is not None and self._settings.drops else ():
                self.again(request, "it was dropped for what was left out of it, wrongly")

        self._index.do(lambda at: at.index.ledger.restore_copies(at.numbers.rows(rows)), restored)

    def again(self, request: Request, why: str) -> bool:
        """Ask for a page once more, past all filters; return whether that is done."""
        made, engine = once_more(request), self._crawler.engine
        if made is None or engine is None or self._again >= MOST_AGAIN:
            return False
        self._again += 1
        self._counts.add("requested_again")
        logger.info("Asking once more for <%s>: %s", printable(request.url), why)
        engine.crawl(made)
        return True

    # Feeds that are stored when they are closed

    def hold(self) -> None:
        """Note that feeds hold what is kept from now on until they are stored."""
        self._holds = True
        self._index.do(lambda at: at.detector.hold())

    def begin_anew(self) -> bool:
        """Let what this run has kept before it went on be new again; return whether it went on."""
        goes_on, self._index.goes_on = self._index.goes_on, False
        if goes_on:
            self._index.do(lambda at: at.index.runs.take_back(at.run))
        return goes_on

    def note_stored(self, rows: Iterable[int]) -> None:
        """Note that no feed holds *rows* any more."""
        self._noted += 1
        number, stored = self._noted, tuple(rows)
        self._index.do(lambda at: at.index.runs.note_stored(at.run, number, at.numbers.rows(stored)))
