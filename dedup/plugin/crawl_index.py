"""The index of one crawl, a file or a server that may be away; and what becomes of pages that were kept.

Copies in this process wait for that, the index hears of it, and copies of those that are lost are asked
for again.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from scrapy import Request
from scrapy.crawler import Crawler

from dedup.index import Index, Run
from dedup.index.index import Detector, Draft, SQLiteIndex, open_index
from dedup.model.address import address_of, is_address
from dedup.model.errors import DedupError, IndexUnavailable, NoSuchRow, ServerAway, printable
from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin.addon import index_path
from dedup.plugin.requests import once_more
from dedup.plugin.server_thread import Answer, ServerThread
from dedup.plugin.stats import CrawlStats
from dedup.plugin.tracking import Ask
from dedup.settings import DedupSettings

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that the server has for one statement, and that one question may wait for the lock of a file.
LONGEST_ANSWER, LONGEST_WAIT = 10.0, 2.0
# After a wait in vain of so many seconds or more a file is not asked for so many times as long.
_NOTABLE, _PAUSE_TIMES = 0.5, 20
# The index hears of the fate of rows with the next question, at the latest when there are so many of
# them, and after so many seconds.  If the process is killed before, their pages are new again.
MOST_GATHERED, GATHERED_FOR = 16, 0.25
_TOGETHER = 200  # so many rows are settled in one transaction
MOST_AGAIN = 1_000  # so many pages are asked for once more in a crawl
# The file in a JOBDIR whose text, of at most so many characters, names the job.
TOKEN, _LONGEST = "dedup.job", 100


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""


def _try(index: Index) -> None:
    """Close the *index* after raising `IndexUnavailable` where it cannot be used."""
    with index:
        index.expect()
        with index.store.transaction(writing=True):  # or another process holds it
            pass


class CrawlIndex:
    """The index of the crawl of *crawler*, and its run there.

    A file is asked at once, but not for a while after waiting in vain: pages are kept unjudged then.  A
    server is asked by a thread, one question after the other; while it is away, a draft of it is.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings, counts: CrawlStats) -> None:
        self.crawler, self.settings, self.counts = crawler, settings, counts
        self._path = index_path(settings)
        self.is_remote = is_address(self._path)  # on a server, whose answers come later
        self.run = Run(0, "", "", 0.0)
        self.goes_on = False  # whether the same job has begun the run before
        self.detector: Detector | None = None  # what judges pages, None before and after the crawl
        self._follow: Callable[[int], object] = lambda _: None
        self._server: ServerThread | None = None
        self.resumes = 0.0  # when a file is asked again

    def check(self) -> None:
        """Raise `CannotBegin` if the crawl cannot begin; an error in `open` would be logged twice."""
        if not is_asyncio_available():
            raise CannotBegin(
                "scrapy-dedup needs asyncio, as Scrapy has it by default: set TWISTED_REACTOR to "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor, or do not set it"
            )
        try:
            self._first(_try)
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def _first(self, ask: Callable[[Index], _T]) -> _T:
        """Return what *ask* does, of a draft while the server is away; it closes what it fails on."""
        try:
            index = open_index(self._path)
            if self.is_remote:
                index.store.wait_at_most(LONGEST_ANSWER)
            return ask(index)
        except ServerAway as error:
            from dedup.index.server import last_replica

            if self.counts.is_first("away"):
                logger.error(
                    "The crawl begins without its server: pages are judged by what this machine knows "
                    "until it is back: %s",
                    error,
                )
            address = address_of(self._path)
            return ask(Draft(address, last_replica(address)))

    def open(self, follow: Callable[[int], object]) -> Detector:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``.

        *follow* is called when another run goes on in the place of the one of that number.
        """
        before, detector = self._first(lambda index: (index.runs.all(), self._detector_on(index)))
        self.detector, self.run, self._follow = detector, detector.run, follow
        self.goes_on = any(run.id == self.run.id for run in before)
        if self.is_remote:
            self._server = ServerThread(detector, self._path, self._detector_on)
        return detector

    def _detector_on(self, index: Index, run: Run | None = None) -> Detector:
        """Return a detector whose run has begun, or goes on as *run*; close *index* where that fails."""
        assert self.crawler.spider is not None
        try:
            detector = Detector(
                *(index, self.settings.config, self.crawler.spider.name),
                job=job_of(self.crawler.settings.get("JOBDIR")),
                action=self.settings.action,
                crawl=self.settings.crawl,
                run=run,
            )
            detector.visit("")  # items without a response are met in every crawl
            index.store.wait_at_most(LONGEST_ANSWER if self.is_remote else LONGEST_WAIT)
        except BaseException:
            index.close()
            raise
        return detector

    def do(self, ask: Ask[_T], then: Callable[[_T | None], object] = lambda _: None) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if (detector := self.detector) is None:
            then(None)
        elif self._server:
            self._server.ask(ask, lambda answer: then(self._taken(answer)))
        else:
            then(self._asked(ask, detector))

    def _asked(self, ask: Ask[_T], detector: Detector) -> _T | None:
        begin = monotonic()
        if begin < self.resumes:
            self.counts.add("not_asked")
            return None
        try:
            return self.counts.timed("index", ask, detector)
        except Exception as error:  # whatever it is, losing the page would be worse
            self.counts.failed(error)
        if (seconds := monotonic() - begin) >= _NOTABLE:
            self.resumes = begin + (1 + _PAUSE_TIMES) * seconds
        return None

    def _taken(self, answer: Answer) -> Any:
        self.counts.add("seconds/index", answer.seconds)
        if answer.error:
            self.counts.failed(answer.error)
        elif answer.is_away and isinstance(answer.value, Verdict):
            self.counts.add("server_away")
        if answer.run:
            self._go_on_in(answer.run)
        return answer.value

    def _go_on_in(self, run: Run) -> None:
        before, self.run = self.run.id, run
        if before != run.id:
            self._follow(before)

    async def close(self, reason: str, sum_up: Callable[[Detector], object]) -> None:
        if server := self._server:
            answered = asyncio.get_running_loop().create_future()
            server.ask(lambda _: None, answered.set_result)
            await answered
            self.detector = None  # nothing is asked from now on
            await asyncio.to_thread(server.close)
            self._go_on_in(server.detector.run)
            if server.kept_twice:
                self.counts.add("kept_twice", server.kept_twice)
            if server.unknown:
                self.counts.add("not_recorded", server.unknown)
            await asyncio.to_thread(_end, server.detector, reason, sum_up)
        elif detector := self.detector:
            self.detector = None
            _end(detector, reason, sum_up)


def _end(detector: Detector, reason: str, sum_up: Callable[[Detector], object]) -> None:
    index = detector.index
    try:
        with suppress(ServerAway):  # a connection that was cut is made anew
            detector.close(reason)
        detector.close(reason)
        sum_up(detector)
    except IndexUnavailable as error:
        logger.error("The run could not be ended; the next crawl may deliver its pages again: %s", error)
    except Exception:  # which is our error: the index is closed all the same
        logger.exception("The crawl could not be summed up")
    if isinstance(index, SQLiteIndex) and not index.store.is_in_place:
        logger.error(
            "%s was moved, deleted or replaced during the crawl: what this run saw is not in the file "
            "that is there now",
            index.name,
        )
    with suppress(IndexUnavailable):
        index.close()


def job_of(folder: str | None) -> str:
    """Return the name of the job in *folder*, "" for none; a new folder gets a new name."""
    if not folder:
        return ""
    path = Path(folder, TOKEN)
    try:
        if path.exists() and (name := path.read_text("utf-8", "replace").strip()):
            return name[:_LONGEST]
        path.parent.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        path.write_text(name + "\n", "utf-8")
    except OSError as error:
        logger.warning(
            "%s cannot be written (%s): a crawl that is resumed in this JOBDIR will be another run",
            *(printable(str(path)), error.strerror),
        )
        return ""
    return name


# What becomes of pages that were kept


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

    def settle(self, row: int, *, kept: bool) -> None:
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

    def settle(self, row: int, *, kept: bool, is_loss: bool = True) -> None:
        """Confirm a pending row, or release it, which counts as a loss unless nothing was to be had."""
        if is_loss := is_loss and not kept:
            self._counts.add("released")
        self._settle((row,), kept=kept, at_once=is_loss)

    def take_back(self, rows: Sequence[int]) -> None:
        """Let *rows*, which a feed has lost, count as never seen, even if they were confirmed."""
        self._counts.add("lost_in_feeds", len(rows))
        self._settle(rows, kept=False, at_once=True)

    def _settle(self, rows: Sequence[int], *, kept: bool, at_once: bool) -> None:
        if self._index.detector is None:
            return
        for row in rows:
            self.pending.settle(row, kept=kept)
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
            self.again(request, "what it repeats was lost")

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
                self.again(copy, why)

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
                self.again(request, "what was left out may tell it from other pages", is_loss=False)

        self._index.do(lambda at: at.index.ledger.restore(at.rows(rows)), restored)

    def again(self, request: Request, why: str, *, is_loss: bool = True) -> None:
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
