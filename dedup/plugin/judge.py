"""The judge of one crawl: asks the index for both doors, and settles what was kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

from dedup.front.settings import DedupSettings
from dedup.front.summary import LostFeed, summary
from dedup.index import Index, Run, Sighting
from dedup.index.detector import Detector
from dedup.index.index import SQLiteIndex, is_address, open_index
from dedup.plugin import garbage
from dedup.plugin.index_writer import (
    LONGEST_ANSWER,
    LONGEST_WAIT,
    Answer,
    CircuitBreaker,
    Confirmations,
    IndexWriter,
)
from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.rules import CrawlRules
from dedup.plugin.settings import index_path, job_of
from dedup.plugin.waiting import Future, Waiter, WaitingRoom, waiting_room
from dedup.reading.page import Page
from dedup.values.errors import DedupError, IndexUnavailable, ServerAway
from dedup.values.hashes import digest
from dedup.values.printable import printable
from dedup.values.row import NoSuchRow, Statistics, Withheld
from dedup.values.run import DRY_RUN
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that a copy waits for the fate of the item that it repeats.
WAIT = 30.0
# How many rows may fail to be settled, each after a wait for a lock, before the next question is asked.
_MOST_FAILURES = 2
# So many rows are taken back in one transaction, for which others wait.
_TOGETHER = 1_000
# So many pages are asked about together, at the latest after so many seconds: between two of them a
# crawl does so much else that the processor has forgotten what asking needs.
MOST_GATHERED, ASKED_WITHIN = 16, 0.1
# As many records of pages are confirmed and committed together, at the latest after so many seconds.  If
# the process is killed before, their pages are unknown, as if this crawl had not met them.
GATHERED_FOR = 0.25
# Or when so many are confirmed: as one transaction confirms many, their number is no bound.
_MOST_UNCOMMITTED = 2 * MOST_GATHERED
# Hosts that are remembered as visited; others are recorded again.
_MAX_HOSTS = 20_000
# Seconds that a server has, when a crawl ends, to answer what is still to be asked.
_LONGEST_CLOSING = 30.0

_NO_RUN = Run(0, "", "", "", 0.0)


@dataclass(slots=True, eq=False)
class Question:
    """What is asked of the index about one *page*, of a *kind*: "page" or "item".

    If it *is_restored*, it is kept, whatever it repeats.  *siblings* are the rows of the same response,
    to which its own is added; None where that was not requested by the URL of the page.  *sighting* is
    made when it is asked.
    """

    page: Page
    kind: str
    is_restored: bool = False
    siblings: set[int] | None = None
    sighting: Sighting | None = None


Answered = tuple[Verdict | None, Waiter | None]
"""A verdict or None, and a waiter if the verdict leans on a row that is still pending."""


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""

    # Scrapy logs it with its traceback, which tells a user nothing.
    __traceback__ = None


class Judge:
    """One crawl's run of the index.

    A page that cannot be judged gets None instead of a verdict, and its door keeps it.  An index in a
    file is asked at once (`ask`), or about several pages in one go (`ask_later`); one on a server is
    asked by an `IndexWriter`, and the door awaits the answer.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self.counts = CrawlStats(crawler)
        """The stats of the crawl."""
        self._crawler = crawler
        self._index_path = index_path(settings)
        self.is_remote = is_address(self._index_path)
        """Whether the index is on a server: its answers come later."""
        # How many pages are asked about together, which wait for it, and what prevents that it is done.
        self._most_asked = 1
        self._asked: list[tuple[Question, Future[Answered]]] = []
        self._cancel: Callable[[], object] = lambda: None
        self._came = 0.0
        self._detector: Detector | None = None
        self._run = _NO_RUN
        self._writer: IndexWriter | None = None
        self._confirmations: Confirmations | None = None
        self._room = WaitingRoom()
        self.notices = Notices(settings, self.counts)
        """The warnings of the crawl."""
        self._breaker = CircuitBreaker(self.counts, self.notices)
        self.rules = CrawlRules(crawler, settings, self.counts)
        """The rules for URLs of this crawl."""
        # Rows whose fate is known but not yet in the index, because storing it failed.
        self._unsettled: dict[int, bool] = {}
        # Rows whose fate is in the index, but perhaps not committed.
        self._settled: dict[int, bool] = {}
        # Rows that are to be confirmed together; only where a clock sees to it that they are.
        self._kept: list[int] = []
        self._gathers = self._goes_on = False
        self._untaken: list[int] = []
        # Whether feeds hold pages until they are stored, and how often it was noted that some are.
        self._holds = False
        self._noted = 0
        self._lost: Sequence[LostFeed] = ()
        self._hosts: dict[str, None] = {}
        self._visiting: set[str] = set()
        self._ending: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._unjudged = ""

    # The run

    def check(self) -> None:
        """Raise `CannotBegin` if the crawl cannot begin; an error in `open` would be logged twice."""
        if not is_asyncio_available():
            raise CannotBegin(
                "scrapy-dedup needs asyncio, as Scrapy has it by default: set TWISTED_REACTOR to "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor, or do not set it"
            )
        try:
            with open_index(self._index_path) as index:
                index.expect(self.settings.config)
                _ = index.secret  # which may be damaged
                with index.store.transaction(writing=True):  # or another process holds it
                    pass
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def open(self) -> Run:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``."""
        index = open_index(self._index_path)
        try:
            before = {run.id for run in index.runs()}
            detector = self._detector_on(index)
            run = detector.run
            detector.visit("")  # items without a response are met in every crawl
            self._goes_on = run.id in before
            self.rules.open(index, run, self._do, goes_on=self._goes_on)
            index.store.wait_at_most(LONGEST_ANSWER if self.is_remote else LONGEST_WAIT)
            index.store.gather(MOST_GATHERED)
            self._gathers = not self.is_remote
            # No more than Scrapy takes of one response before they are through.
            self._most_asked = min(MOST_GATHERED, self._crawler.settings.getint("CONCURRENT_ITEMS"))
        except BaseException:
            index.close()
            raise
        self._detector, self._run = detector, run
        if self.is_remote:
            self._writer = IndexWriter(
                waits=self.settings.unavailable == "wait", tell=self.notices.failed
            )
            self._confirmations = Confirmations(index.ledger)
        self._room = waiting_room(index)
        self._room.runs.add(run.id)
        garbage.begin()
        return run

    def _detector_on(self, index: Index) -> Detector:
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

    def close(self, reason: str, *, unjudged: str = "", lost: Sequence[LostFeed] = ()) -> Any:
        """End the run, log its summary, close the index; return what to await, None for nothing.

        *unjudged* says why nothing was judged, if that is so, *lost* which feeds have lost pages.
        """
        self._unjudged, self._lost = unjudged, lost
        if self._detector is None:
            return None
        garbage.end()
        self._ask_gathered()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._breaker.renew()
        self._catch_up()
        if self._holds and not self._untaken:
            self._do(partial(_done, self._detector.index.book.let_go, self._detector.run), _nothing)
        self.rules.close(reason)
        detector, self._detector = self._detector, None
        writer, self._writer = self._writer, None
        if writer:
            return self._close_later(writer, detector, reason)
        try:
            detector.close(reason)
            self._sum_up(self._report(detector.index, self._run, self.counts.own()))
        except IndexUnavailable as error:
            logger.error("The run could not be ended: %s", error)
        finally:
            self._leave(detector.index)
        return None

    async def _close_later(self, writer: IndexWriter, detector: Detector, reason: str) -> None:
        """Let *writer* answer what was asked, and end the run; wait for the server for a while only."""
        timer = Timer(_LONGEST_CLOSING, writer.hurry)
        timer.start()
        try:
            ended = await _answer(writer, partial(_done, detector.close, reason))
            ask = partial(self._report, detector.index, self._run, self.counts.own())
            report = await _answer(writer, ask)
            if ended.value and report.value:
                self._sum_up(report.value)
            else:
                logger.error("The run could not be ended: %s", ended.error or report.error)
            await _answer(writer, detector.index.close)
        finally:
            timer.cancel()
            writer.close()
            self._room.leave(self._run.id)

    def _report(self, index: Index, run: Run, counts: Mapping[str, int]) -> tuple[str, Statistics]:
        """Return the summary of *run*, and what the index holds at its end."""
        notices = self.notices
        text = summary(
            *(counts, index, run),
            swallowed=notices.swallowed(),
            unjudged=self._unjudged,
            leant_on=notices.leant_on(self._hosts),
            lost=self._lost,
        )
        return text, index.views.statistics()

    def _sum_up(self, report: tuple[str, Statistics]) -> None:
        text, statistics = report
        self.counts.index(statistics)
        logger.info("%s", text)

    def _leave(self, index: Index) -> None:
        self._room.leave(self._run.id)
        if isinstance(index, SQLiteIndex) and not index.store.is_in_place:
            logger.error(
                "%s was moved, deleted or replaced during the crawl: what this run saw is not in "
                "the file that is there now",
                index.name,
            )
        with suppress(IndexUnavailable):
            index.close()

    # Asking

    def question(
        self, page: Page, kind: str, *, is_restored: bool = False, siblings: set[int] | None = None
    ) -> Question:
        """Return the question about *page* that `ask` takes; *kind* is "page" or "item"."""
        if page.excess:
            self.notices.over_limit(page.url, page.excess)
        return Question(page, kind, is_restored, siblings)

    def ask(self, question: Question) -> Verdict | None:
        """Judge and record; a verdict without a row repeats a page that is pending in this process."""
        self._catch_up()
        if (sighting := self._sighted(question)) is None:
            return None
        verdict = self._attempt(partial(self._submit, self._detector, question, sighting))
        if verdict is not None:
            self.counts.timed("index", self._note, sighting, verdict)
            if verdict.row is None and verdict.standing and verdict.standing.row in self._unsettled:
                return None  # nobody knows when that can be settled
        return verdict

    def _sighted(self, question: Question) -> Sighting | None:
        """Return the sighting that *question* is about, None if there is no index or no fingerprint."""
        if question.sighting is None and self._detector:
            sight = partial(self._detector.sighting, question.page, kind=question.kind)
            try:
                question.sighting = self.counts.timed("fingerprint", sight)
            except Exception:  # which is our error: the page is kept
                logger.exception("<%s> could not be judged and is kept", printable(question.page.url))
        return question.sighting

    def may_wait(self, *, is_whole: bool) -> bool:
        """Note that a page has come; return whether it is to wait for its answer (`ask_later`).

        With an index in a file, one that *is_whole* waits for others if pages come that fast.
        """
        before, self._came = self._came, monotonic()
        is_fast = self._most_asked > 1 and self._came - before < ASKED_WITHIN
        return self.is_remote or (is_whole and is_fast)

    def ask_later(self, question: Question) -> Future[Answered]:
        """Judge and record as `ask` does, in its turn; a verdict without a row comes with a waiter.

        A file is asked when `MOST_GATHERED` pages wait for it, and after `ASKED_WITHIN` seconds.
        """
        later: Future[Answered] = Future()
        if not self.is_remote:
            self._asked.append((question, later))
            if (waiting := len(self._asked)) in (1, self._most_asked):
                self._cancel()
                # Not at once: all doors must wait for their answers, or the last one would go on first.
                within = 0 if waiting == self._most_asked else ASKED_WITHIN
                self._cancel = asyncio.get_running_loop().call_later(within, self._ask_gathered).cancel
            return later
        self._catch_up()
        if (sighting := self._sighted(question)) is None:
            later.come((None, None))
            return later

        def answered(verdict: Verdict | None) -> None:
            if verdict is not None:
                self._note(sighting, verdict)
            # Taken now: the row that it leans on may be settled before the door goes on.
            later.come((verdict, self.waiter(verdict)))

        self._do(partial(self._submit, self._detector, question, sighting), answered)
        return later

    def _ask_gathered(self) -> None:
        """Ask about all pages that wait for it, and give their doors the answers."""
        self._cancel()
        asked, self._asked = self._asked, []
        for question, later in asked:
            verdict = self.ask(question)
            later.come((verdict, self.waiter(verdict)))

    async def answer(self, question: Question) -> Answered:
        """Return the verdict, and a waiter if it has no row; a file is asked without a pause."""
        if self.is_remote:
            return await self.ask_later(question)
        verdict = self.ask(question)
        return verdict, self.waiter(verdict)

    def _submit(self, detector: Detector | None, question: Question, sighting: Sighting) -> Verdict:
        assert detector is not None
        if (host := sighting.host) not in self._hosts:
            detector.visit(host)
        siblings = question.siblings
        verdict = detector.submit(
            sighting,
            question.page,
            is_restored=question.is_restored,
            siblings=siblings,
            wait_for=frozenset(self._room.runs),
        )
        if siblings is not None and verdict.row is not None:
            siblings.add(verdict.row)
        return verdict

    def _note(self, sighting: Sighting, verdict: Verdict) -> None:
        self._follow_run()
        self._visited(sighting.host)
        url = sighting.url
        if sighting.canonical_link:
            self.rules.declared(url, sighting.canonical_link)
        self.counts.lookup(verdict)
        if verdict.candidates >= self.settings.config.max_candidates:
            self.notices.capped(url)
        if verdict.row is None:
            return
        if verdict.represents:
            self.counts.add("canonical_not_met")
        self.notices.judged(url, verdict)

    def _follow_run(self) -> None:
        """Go on in the run that replaced ours, if others have ended it; record its visits again."""
        if self._detector is None or self._detector.run.id in self._room.runs:
            return
        self._run = self._detector.run
        self._room.runs.add(self._run.id)
        self.rules.follow_run(self._run)
        logger.warning(
            "The server had not heard of this crawl for too long and has ended its run; it goes on as "
            "run %d. What it was told and not confirmed by then counts as lost, and is delivered again "
            "by the next crawl",
            self._run.id,
        )
        if self._holds:
            self.hold()
        hosts, self._hosts = self._hosts, {}
        for host in ("", *hosts):
            self.visit(host)

    def is_of_another_run(self, verdict: Verdict) -> bool:
        """Whether the page that *verdict* names was kept by another run."""
        return self._detector is not None and verdict.canonical_run != self._detector.run.id

    def _do(
        self, ask: Callable[[], _T], then: Callable[[_T | None], None], *, is_urgent: bool = False
    ) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if self._writer is None:
            self._confirm_kept()
            then(self._attempt(ask))
        else:
            self._writer.put(ask, lambda answer: then(self._taken(answer)), is_urgent=is_urgent)

    @property
    def is_behind(self) -> bool:
        """Whether pages come faster than an index on a server answers."""
        return self._writer is not None and self._writer.is_behind

    async def wait_for_room(self) -> None:
        """Wait until the index has caught up, or for long enough."""
        if self._writer:
            await self._writer.wait_for_room()

    def _attempt(self, ask: Callable[[], _T]) -> _T | None:
        if self._detector is None:
            return None
        answer = self._breaker.attempt(lambda: (ask(),))
        if self._detector.index.store.is_gathering:
            self._flush_soon()
        else:  # all of it is committed now, or none ever was
            settled, self._settled = self._settled, {}
            if answer is None:
                self._unsettled.update(settled)
        return answer[0] if answer else None

    def _flush_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHERED_FOR, self._flush)

    def _flush(self) -> None:
        """Confirm and commit what was gathered."""
        self._confirm_kept()
        self._timer = None
        if self._detector:
            self._attempt(self._detector.index.store.flush)

    def _taken(self, answer: Answer[_T]) -> _T | None:
        """Count an answer of the server, and return its value."""
        self.counts.add("seconds/index", answer.seconds)
        if not answer.is_asked:
            self.counts.add("not_asked")
        if answer.error:
            self.notices.failed(answer.error)
            if isinstance(answer.error, ServerAway) and self.settings.unavailable == "stop":
                self.stop(
                    "dedup_index_unavailable",
                    "The crawl is ended: the index does not answer (DEDUP_UNAVAILABLE)",
                )
        return answer.value

    def stop(self, reason: str, why: str) -> None:
        """Begin to close the spider, once, and log *why*."""
        if self._ending is not None:
            return
        logger.error("%s", why)
        engine: Any = self._crawler.engine
        if hasattr(engine, "close_spider_async"):
            self._ending = asyncio.ensure_future(engine.close_spider_async(reason=reason))
        else:  # Scrapy 2.13
            self._ending = engine.close_spider(self._crawler.spider, reason)

    # Visits, and what was withheld

    def visit(self, host: str) -> None:
        """Record that this crawl is on *host*."""
        if self._detector is None or host in self._hosts or host in self._visiting:
            return

        def visited(is_done: bool | None) -> None:
            self._visiting.discard(host)
            if is_done:
                self._visited(host)

        self._visiting.add(host)
        self._do(partial(_done, self._detector.visit, host), visited)

    def _visited(self, host: str) -> None:
        if host not in self._hosts:
            if len(self._hosts) >= _MAX_HOSTS:
                del self._hosts[next(iter(self._hosts))]
            self._hosts[host] = None

    def withhold(self, row: int, links: Sequence[str]) -> None:
        """Record *links* that were not requested because the page of *row* is a copy."""
        requests = [Withheld(row, url, "link") for url in links if url.startswith(("http:", "https:"))]
        if requests and self._detector:
            index, run = self._detector.index, self._detector.run
            self._do(partial(index.book.withhold, run, requests), _nothing)

    # Settling

    def waiter(self, verdict: Verdict | None) -> Waiter | None:
        """Return a waiter for the row that *verdict* leans on, None if it has a row of its own."""
        if verdict is None or verdict.row is not None:
            return None
        assert verdict.standing is not None
        return self._room.enter(verdict.standing.row)

    async def ask_again(self, question: Question, waiter: Waiter) -> Verdict | None:
        """Wait with *waiter*, ask *question* again, and so on, until there is a verdict with a row.

        Raises `TimeoutError` after `WAIT` seconds, without those in which the index is asked.
        """
        left = WAIT
        taken: Waiter | None = waiter
        while taken is not None:
            begin = monotonic()
            if not await taken.wait(left):
                raise TimeoutError
            left -= monotonic() - begin
            verdict, taken = await self.answer(question)
        return verdict

    def settle(self, row: int, *, kept: bool, is_loss: bool = True) -> None:
        """Confirm a pending row, or release it, which counts as a loss unless nothing was to be had.

        If the index fails, it is done before the next question.
        """
        if self._detector is None:
            return
        if not kept:
            if is_loss:
                self.counts.add("released")
        elif self._gathers:
            self._kept.append(row)
            self._flush_soon()
            if self._room.is_awaited(row) or len(self._kept) >= MOST_GATHERED:
                self._confirm_kept()
            return
        self._settle(row, kept=kept)

    def _confirm_kept(self) -> None:
        """Confirm the rows that wait for it; before anything else is asked, which may lean on them."""
        rows, self._kept = self._kept, []
        if not rows or self._detector is None:
            return
        done = self._attempt(partial(_settled, self._detector.index.ledger.confirm, *rows))
        (self._settled if done else self._unsettled).update(dict.fromkeys(rows, True))
        for row in rows:
            self._room.settled(row)
        if len(self._settled) >= _MOST_UNCOMMITTED:
            self._attempt(self._detector.index.store.flush)

    def _settle(self, row: int, *, kept: bool) -> None:
        assert self._detector is not None
        index = self._detector.index

        def settled(is_settled: bool | None) -> None:
            if not is_settled:
                self._unsettled[row] = kept
            elif self._gathers:
                self._settled[row] = kept
            self._room.settled(row)

        if kept and self._confirmations:
            self._do(self._confirmations.add(row), settled, is_urgent=True)
        else:
            change = index.ledger.confirm if kept else index.ledger.release
            self._do(partial(_settled, change, row), settled, is_urgent=True)

    def take_back(self, rows: Sequence[int]) -> None:
        """Let *rows*, which a feed has lost, count as never seen, even if they were confirmed."""
        self.counts.add("lost_in_feeds", len(rows))
        for at in range(0, len(rows), _TOGETHER):
            self._take_back(rows[at : at + _TOGETHER])

    def _take_back(self, rows: Sequence[int]) -> None:
        if self._detector is None:
            return

        def taken(is_done: bool | None) -> None:
            if not is_done:
                self._untaken += rows
            for row in rows:
                self._room.settled(row)

        self._do(partial(_done, self._detector.index.ledger.take_back, rows), taken)

    def _catch_up(self) -> None:
        """Settle rows that could not be settled yet; one that never can be does not block the others."""
        self._confirm_kept()
        if not (self._unsettled or self._untaken) or self._is_pausing:
            return
        failures = 0
        for row, kept in list(self._unsettled.items()):
            del self._unsettled[row]  # if it fails again, it comes after the others
            self._settle(row, kept=kept)
            failures += row in self._unsettled
            if failures == _MOST_FAILURES or self._is_pausing:
                return
        untaken, self._untaken = self._untaken, []
        self._take_back(untaken)

    # Feeds that are stored when they are closed

    def hold(self) -> None:
        """Note that feeds hold what is kept from now on until they are stored."""
        self._holds = True
        if self._detector:
            self._do(partial(_done, self._detector.index.book.hold, self._detector.run), _nothing)

    def begin_anew(self) -> bool:
        """Let what this run has kept before it went on be new again; return whether it went on."""
        goes_on, self._goes_on = self._goes_on, False
        if goes_on and self._detector:
            self._do(partial(_done, self._detector.index.book.take_back, self._detector.run), _nothing)
        return goes_on

    def note_stored(self, rows: Iterable[int]) -> None:
        """Note that no feed holds *rows* any more."""
        if self._detector:
            self._noted += 1
            book, run = self._detector.index.book, self._detector.run
            self._do(partial(_done, book.note_stored, run, self._noted, tuple(rows)), _nothing)

    @property
    def _is_pausing(self) -> bool:
        return self._writer.is_pausing if self._writer else self._breaker.is_over


async def _answer(writer: IndexWriter, ask: Callable[[], _T]) -> Answer[_T]:
    later: Future[Answer[_T]] = Future()
    writer.put(ask, later.come)
    return await later


def _nothing(_: object) -> None:
    """Take an answer that nobody waits for."""


def _done(change: Callable[..., object], *args: Any) -> bool:
    """Do *change*, and return True."""
    change(*args)
    return True


def _settled(change: Callable[..., None], *rows: int) -> bool:
    """Settle those of *rows* that were not lost with what could not be committed; return True."""
    with suppress(NoSuchRow):
        change(*rows)
    return True
