"""What becomes of pages that were kept, until their items came through all pipelines or are lost.

Copies in this process wait for that, the index hears of it, and copies of those that are lost are asked
for again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request

from dedup.index import Index
from dedup.index.index import Detector, SQLiteIndex
from dedup.model.errors import NoSuchRow, printable
from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin.crawl_index import CrawlIndex
from dedup.plugin.requests import once_more

logger = logging.getLogger(__name__)

# The index hears of the fate of rows with the next question, at the latest when there are so many of
# them, and after so many seconds.  If the process is killed before, their pages are new again.
MOST_GATHERED, GATHERED_FOR = 16, 0.25
_TOGETHER = 200  # so many rows are settled in one transaction
MOST_AGAIN = 1_000  # so many pages are asked for once more in a crawl


class Fates(NamedTuple):
    """What became of rows, and of the copies that were dropped for those that were not kept."""

    kept: dict[int, bool]
    copies: list[tuple[int, Request]]  # their rows, and what gets them again

    def tell(self, at: Detector) -> bool:
        """Confirm or release the rows; the copies of lost ones are wanted back."""
        ledger = at.index.ledger
        if kept := sorted(row for row, is_kept in self.kept.items() if is_kept):
            with suppress(NoSuchRow):  # the others are confirmed all the same
                ledger.confirm(*at.rows(kept))
        if lost := [row for row, is_kept in self.kept.items() if not is_kept]:
            with at.index.store.transaction(writing=True):
                ledger.release(*at.rows(lost))
                ledger.restore(at.rows(row for row, _ in self.copies))
        return True


class PendingRows:
    """The rows that this process has under way in one index, by their runs: *runs*.

    Each has an event, which is set as soon as its fate is known.  *fates* says of rows whether they
    were kept where that is not in the index yet; it is recorded in the transaction of the next
    question, so nobody hears that such a row is pending.
    """

    def __init__(self) -> None:
        self.runs: dict[int, dict[int, asyncio.Event]] = {}
        self.fates: dict[int, bool] = {}
        self._copies: defaultdict[int, list[tuple[int, Request]]] = defaultdict(list)
        self._has_failed = False

    def begin(self, run: int, row: int) -> None:
        if (rows := self.runs.get(run)) is not None:
            rows[row] = asyncio.Event()

    def note_copy(self, standing: Standing, row: int, request: Request) -> None:
        """Note that a copy was dropped as *row*, if what it repeats is pending here."""
        if standing.row in self.runs.get(standing.run, ()):
            self._copies[standing.row].append((row, request))

    async def wait(self, standing: Standing, seconds: float) -> None:
        """Wait until the fate of the row of *standing* is known, for so many seconds at most."""
        if event := self.runs.get(standing.run, {}).get(standing.row):
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)

    def set_fate(self, row: int, *, kept: bool) -> None:
        """Note the fate of *row*, and wake the copies that wait for it."""
        self.fates[row] = kept
        for rows in self.runs.values():
            if event := rows.pop(row, None):
                event.set()

    def take(self) -> Fates:
        """Return the fates that are to be recorded now, only one after a failure."""
        rows = list(islice(self.fates, 1 if self._has_failed else _TOGETHER))
        kept = {row: self.fates.pop(row) for row in rows}
        return Fates(kept, [one for row in rows if not kept[row] for one in self._copies.get(row, ())])

    def recorded(self, fates: Fates, *, is_done: bool) -> None:
        """Forget *fates*, or if they are not in the index, keep them for later, after the others."""
        for row, kept in fates.kept.items():
            if is_done:
                self._copies.pop(row, None)
            else:
                self.fates.setdefault(row, kept)
        self._has_failed = bool(self.fates) and (self._has_failed or not is_done)

    def leave(self, run: int) -> None:
        """Wake all copies that wait for rows of *run*: it is over, and nothing of it is pending."""
        for event in self.runs.pop(run, {}).values():
            event.set()


# Crawlers of one process that share an index share this, and have no other place for it.
_of_indexes: WeakValueDictionary[str, PendingRows] = WeakValueDictionary()


def pending_of(index: Index) -> PendingRows:
    """Return the rows of *index* that are under way, the same for all crawlers of this process."""
    name = str(index.path.resolve()) if isinstance(index, SQLiteIndex) else index.name
    return _of_indexes.setdefault(name, PendingRows())


class Settler:
    """Settles the rows of a crawl in its *index*; *pending* are those of this process there."""

    def __init__(self, index: CrawlIndex) -> None:
        self._index, self._counts = index, index.counts
        self._crawler, self._settings = index.crawler, index.settings
        self.pending = PendingRows()
        self._timer: asyncio.TimerHandle | None = None
        self._again = 0
        # The first copy of each page that was dropped for one which this crawl had not met.
        self._of_earlier: dict[int, Request] = {}
        self.holds = False  # feeds hold what is kept until they are stored
        self._noted = 0

    def note_fate(self, row: int, *, kept: bool, is_loss: bool = True) -> None:
        """Confirm a pending row, or release it, which counts as a loss unless nothing was to be had."""
        if is_loss := is_loss and not kept:
            self._counts.add("released")
        self._note((row,), kept=kept, at_once=is_loss)

    def take_back(self, rows: Sequence[int]) -> None:
        """Let *rows*, which a feed has lost, count as never seen, even if they were confirmed."""
        self._counts.add("lost_in_feeds", len(rows))
        self._note(rows, kept=False, at_once=True)

    def _note(self, rows: Sequence[int], *, kept: bool, at_once: bool) -> None:
        if self._index.detector is None:
            return
        for row in rows:
            self.pending.set_fate(row, kept=kept)
        if at_once or len(self.pending.fates) >= MOST_GATHERED:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHERED_FOR, self.flush)

    def flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._index.detector and self.pending.fates:
            fates = self.pending.take()
            self._index.do(fates.tell, lambda is_done: self.recorded(fates, is_done=bool(is_done)))

    def recorded(self, fates: Fates, *, is_done: bool) -> None:
        """Note that *fates* are in the index, or not; ask for copies of what was lost."""
        self.pending.recorded(fates, is_done=is_done)
        for _, request in fates.copies if is_done else ():
            self.request_again(request, "what it repeats was lost")

    def close(self) -> None:
        """Tell the index of all fates; what is lost from now on, the next crawl asks for."""
        self._again = MOST_AGAIN
        self._index.resumes = 0.0
        fates = self.pending.fates
        self.flush()
        for _ in list(fates):  # one after the other, if together they could not be recorded
            self.flush()
        if self.holds and False not in fates.values():
            self._index.do(lambda at: at.index.runs.let_go(at.run))

    def note_copy(self, verdict: Verdict, request: Request | None) -> None:
        """Note that a page was dropped by *verdict*; it is made again if what it repeats is lost."""
        if request is None:
            return
        if verdict.standing and verdict.row:
            self.pending.note_copy(verdict.standing, verdict.row, request)
        elif not verdict.standing and verdict.repeats_another and len(self._of_earlier) < MOST_AGAIN:
            self._of_earlier.setdefault(verdict.canonical or 0, request)

    def note_change(self, url: str, verdict: Verdict) -> None:
        """Ask for what was dropped for the text that *url* shows no more."""

        def noted(canonicals: list[int] | None) -> None:
            self._ask_for_copies(canonicals or (), "the address of what it repeats shows another page")

        if self._of_earlier and verdict.reason is not Reason.UNCHANGED:
            self._index.do(lambda at: [row.id for row in at.index.history(url)], noted)

    def _ask_for_copies(self, canonicals: Iterable[int], why: str) -> None:
        for canonical in canonicals:
            if copy := self._of_earlier.pop(canonical, None):
                self.request_again(copy, why)

    def note_gone(self, url: str, status: int) -> None:
        """Note that a page may be gone: its address *url* has answered *status*, or led there.

        What was dropped for it, as it was delivered by an earlier crawl, is asked for again, and kept.
        """

        def noted(canonicals: list[int] | None) -> None:
            self._ask_for_copies(canonicals or (), "the address of the page that it repeats is gone")

        if not self._settings.is_dry:
            self._index.do(lambda at: at.index.runs.note_gone(at.run, url, status), noted)

    def give_back(self, rows: Sequence[int], requests: Sequence[Request]) -> None:
        """Restore *rows*, which were dropped wrongly, and ask for their pages by *requests*."""
        self._counts.add("given_back", len(rows))

        def restored(found: Any) -> None:
            for request in requests if found is not None and self._settings.drops else ():
                self.request_again(
                    request, "what was left out may tell it from other pages", is_loss=False
                )

        self._index.do(lambda at: at.index.ledger.restore(at.rows(rows)), restored)

    def request_again(self, request: Request, why: str, *, is_loss: bool = True) -> None:
        """Ask for a page once more, past all filters, unless that would be the second time."""
        made, engine = once_more(request), self._crawler.engine
        if made is None or engine is None or self._again >= MOST_AGAIN:
            return
        self._again += 1
        if is_loss:
            self._counts.add("requested_again")
        logger.info("Asking once more for <%s>: %s", printable(request.url), why)
        engine.crawl(made)

    def hold(self) -> None:
        """Note that feeds hold what is kept from now on."""
        self.holds = True
        self._index.do(lambda at: at.hold())

    def note_stored(self, rows: Iterable[int]) -> None:
        """Note that no feed holds *rows* any more."""
        self._noted += 1
        number, stored = self._noted, tuple(rows)
        self._index.do(lambda at: at.index.runs.note_stored(at.run, number, at.rows(stored)))
