"""The judge of one crawl: asks the index for both doors, and settles what was kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

from dedup.front.settings import DedupSettings
from dedup.front.summary import LostFeed, summary
from dedup.index import Index, Run, Sighting
from dedup.index.address import is_address
from dedup.index.detector import Detector
from dedup.index.index import SQLiteIndex, open_index
from dedup.index.notes import SiteNoise, gaps_of, noise_of, notes_by_host, put_noise
from dedup.index.rows import Note, StoredPage
from dedup.plugin import garbage
from dedup.plugin.changes import ChangesFeed
from dedup.plugin.index_writer import (
    LONGEST_ANSWER,
    LONGEST_WAIT,
    PAUSE,
    Answer,
    CircuitBreaker,
    IndexWriter,
)
from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.pending import Copy, Pending, pending_of
from dedup.plugin.probes import Probes
from dedup.plugin.requests import once_more
from dedup.plugin.rules import CrawlRules
from dedup.plugin.settings import index_path, job_of
from dedup.reading.marked import MarkedPlaces
from dedup.reading.noise import Evidence, Gap, Noise
from dedup.reading.page import Page
from dedup.reading.stored import pack
from dedup.rule.keys import MAX_CANDIDATES
from dedup.values.errors import DedupError, IndexUnavailable, ServerAway
from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import digest
from dedup.values.printable import printable
from dedup.values.row import NoSuchRow, Statistics, Withheld
from dedup.values.urls import host_of
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that a copy waits for the fate of the item that it repeats.
WAIT = 30.0
# The index hears of the fate of rows with the next question, at the latest when there are so many of
# them, and after so many seconds.  If the process is killed before, their pages are new again.
MOST_GATHERED, GATHERED_FOR = 16, 0.25
# So many pages are asked for once more in a crawl.
MOST_AGAIN = 1_000
# Hosts that are remembered as visited; others are recorded again.
_MAX_HOSTS = 20_000
# Pages kept whose other fields are remembered, to count the copies that differ in them.
_MAX_FIELDS = 100_000

_NO_RUN = Run(0, "", "", "", 0.0)


@dataclass(slots=True, eq=False)
class Question:
    """What is asked of the index about one *page*, of a *kind*: "page" or "item".

    If it *is_restored*, it is kept, whatever it repeats.  *siblings* are the rows of the same response,
    to which its own is added; None where that was not requested by the URL of the page.  *sighting* is
    made when it is asked.  If it *waits*, it is not recorded as a copy of a row that is pending here.
    *response* is what the page came with, *raw* the page before the *gaps* were left out of it, when
    those *acting* were known; None where nothing can be left out.
    """

    page: Page
    kind: str
    is_restored: bool = False
    siblings: set[int] | None = None
    sighting: Sighting | None = None
    waits: bool = True
    response: Response | None = None
    raw: Page | None = None
    gaps: frozenset[Gap] = frozenset()
    acting: frozenset[Gap] = frozenset()


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""

    # Scrapy logs it with its traceback, which tells a user nothing.
    __traceback__ = None


class Judge:
    """One crawl's run of the index.

    A page that cannot be judged gets None instead of a verdict, and its door keeps it.  An index in a
    file is asked at once (`ask`); one on a server is asked by an `IndexWriter`, and the door awaits the
    answer (`asked`).
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self.counts = CrawlStats(crawler)
        """The stats of the crawl."""
        self._crawler = crawler
        self._index_path = index_path(settings)
        self.is_remote = is_address(self._index_path)
        """Whether the index is on a server: its answers come later."""
        self._detector: Detector | None = None
        self._run = _NO_RUN
        self._writer: IndexWriter | None = None
        # What was known, before the crawl, of the noise of hosts; a file is asked when it is needed.
        self._noise: Mapping[str, Note] = {}
        self._pending = Pending()
        self.notices = Notices(settings, self.counts)
        """The warnings of the crawl."""
        self._breaker = CircuitBreaker(self.counts, self.notices)
        self.rules = CrawlRules(crawler, settings, self.counts)
        """The rules for URLs of this crawl."""
        self.changes = ChangesFeed(crawler, settings.changes_feed)
        """What has changed since the last crawl, known at the end."""
        self.probes = Probes(crawler, settings.probes / 100, self)
        """What asks for addresses twice, and leaves out what moves."""
        self._marked = MarkedPlaces(settings.config.exceptions)
        self._goes_on = False
        self._again = 0
        # Whether feeds hold pages until they are stored, and how often it was noted that some are.
        self._holds = False
        self._noted = 0
        self._lost: Sequence[LostFeed] = ()
        self._left_out: Sequence[str] = ()
        self._hosts: dict[str, None] = {}
        self._fields: dict[int, int] = {}
        # The first copy of each page that was dropped for one which this crawl had not met.
        self._leaning: dict[int, Request] = {}
        self._visiting: set[str] = set()
        self._ending: Any = None
        self._opening: asyncio.Future[None] | None = None
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
                with index.store.transaction(writing=True):  # or another process holds it
                    pass
        except ServerAway as error:
            logger.error("The crawl begins without its index, and asks for it again: %s", error)
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def open(self) -> Run:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``.

        While its server is away nothing is judged; it is asked for again.
        """
        try:
            self._begin(self._opened())
        except ServerAway as error:
            self.notices.failed(error)
            self._opening = asyncio.ensure_future(self._open_later())
        return self._run

    async def _open_later(self) -> None:
        while self._detector is None:
            await asyncio.sleep(PAUSE)
            try:
                self._begin(await asyncio.to_thread(self._opened))
            except ServerAway:
                continue
            except IndexUnavailable as error:
                self.notices.failed(error)
                return
            logger.info("The index has come back: pages are judged from now on")

    def _opened(self) -> tuple[Detector, bool]:
        """Open the index; return the detector of a run, and whether that was begun before."""
        index = open_index(self._index_path)
        try:
            before = {run.id for run in index.book.all()}
            detector = self._detector_on(index)
            detector.visit("")  # items without a response are met in every crawl
            index.store.wait_at_most(LONGEST_ANSWER if self.is_remote else LONGEST_WAIT)
            self._noise = notes_by_host(index.store, self._noise_scope) if self.is_remote else {}
        except BaseException:
            index.close()
            raise
        return detector, detector.run.id in before

    def _begin(self, opened: tuple[Detector, bool]) -> None:
        detector, self._goes_on = opened
        index, run = detector.index, detector.run
        self.rules.open(index, run, self._do, goes_on=self._goes_on)
        self._detector, self._run = detector, run
        if self.is_remote:
            self._writer = IndexWriter(index.store.together)
        self._pending = pending_of(index)
        self._pending.runs[run.id] = {}
        if self._holds:
            self.hold()
        garbage.begin()

    def _detector_on(self, index: Index) -> Detector:
        assert self._crawler.spider is not None
        settings = self.settings
        return Detector(
            index,
            settings.config,
            self._crawler.spider.name,
            job=job_of(self._crawler.settings.get("JOBDIR")),
            settings=digest(repr(settings).encode()).hex(),
            action=settings.action,
            crawl=settings.crawl,
        )

    def close(self, reason: str, *, unjudged: str = "", lost: Sequence[LostFeed] = ()) -> Any:
        """End the run, log its summary, close the index; return what to await, None for nothing.

        *unjudged* says why nothing was judged, if that is so, *lost* which feeds have lost pages.
        """
        self._unjudged, self._lost = unjudged, lost
        if self._opening:
            self._opening.cancel()
        if self._detector is None:
            return None
        garbage.end()
        self._again = MOST_AGAIN  # what is lost now, the next crawl asks for
        self._breaker.renew()
        self._flush()
        for _ in list(self._pending.fates):  # one after the other, if together they could not be told
            self._flush()
        if self._holds and False not in self._pending.fates.values():
            self._do(partial(_done, self._detector.index.book.let_go, self._detector.run), _nothing)
        self.rules.close()
        self._left_out = self.probes.close()
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
        """Let *writer* answer what was asked, and end the run."""
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
            writer.close()
            self._pending.leave(self._run.id)

    def _report(self, index: Index, run: Run, counts: Mapping[str, int]) -> tuple[str, Statistics]:
        """Return the summary of *run*, and what the index holds at its end."""
        notices = self.notices
        text = summary(
            *(counts, index, run),
            unjudged=self._unjudged,
            leant_on=notices.leant_on(self._hosts),
            lost=self._lost,
            left_out=self._left_out,
            changed=self.changes.read(index, run),
            losses=list(notices.losses(index)),
        )
        return text, index.store.statistics()

    def _sum_up(self, report: tuple[str, Statistics]) -> None:
        text, statistics = report
        self.counts.index(statistics)
        logger.info("%s", text)

    def _leave(self, index: Index) -> None:
        self._pending.leave(self._run.id)
        if isinstance(index, SQLiteIndex) and not index.store.is_in_place:
            logger.error(
                "%s was moved, deleted or replaced during the crawl: what this run saw is not in "
                "the file that is there now",
                index.name,
            )
        with suppress(IndexUnavailable):
            index.close()

    # Asking

    def wants_places(self, url: str) -> bool:
        """Return whether the places of a page are of use: for noise, marks, and reports."""
        config = self.settings.config
        is_stored = config.store_pages or len(self._fields) < config.store_first
        return is_stored or host_of(url) in self._marked or self.probes.wants(url)

    def question(
        self,
        page: Page,
        kind: str,
        *,
        is_restored: bool = False,
        siblings: set[int] | None = None,
        response: Response | None = None,
    ) -> Question:
        """Return the question about *page* that `ask` takes; *kind* is "page" or "item"."""
        if page.excess:
            self.notices.over_limit(page.url, page.excess)
        page = self._marked.obeyed(page)
        question = Question(page, kind, is_restored, siblings, response=response)
        self.probes.mask(question)
        return question

    def ask(self, question: Question) -> Verdict | None:
        """Judge and record, in a file; a verdict without a row repeats a page that is pending here."""
        answers: list[Verdict | None] = []
        tells = bool(self._pending.fates)
        self._ask(question, answers.append)
        if tells and answers[0] is None:  # which may be because of what it was to tell
            self._ask(question, answers.append)
        return answers[-1]

    async def asked(self, question: Question) -> Verdict | None:
        """Do what `ask` does; a server is waited for, in the turn of the question."""
        if not self.is_remote:
            return self.ask(question)
        later: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()

        def came(verdict: Verdict | None) -> None:
            if not later.done():  # it may be cancelled
                later.set_result(verdict)

        self._ask(question, came)
        return await later

    async def answer(self, question: Question, *, can_repeat: bool) -> Verdict | None:
        """Return the verdict on *question* when the fate of the row that it leans on is known.

        After `WAIT` seconds it is asked once more, and is a copy of a pending row if that can be
        mended: if its page *can_repeat*, see `again`; otherwise there is no verdict.
        """
        left = WAIT
        while (verdict := await self.asked(question)) is not None and verdict.row is None:
            assert verdict.standing is not None
            begin = monotonic()
            await self._pending.wait(verdict.standing, left)
            # A moment more, as nothing was waited for where its fate is already known.
            left -= monotonic() - begin + WAIT / 100
            if left <= 0:
                self.counts.add("wait_timeout")
                if not can_repeat:
                    return None
                question.waits = False
        return verdict

    def _ask(self, question: Question, then: Callable[[Verdict | None], None]) -> None:
        if (sighting := self._sighted(question)) is None:
            then(None)
            return
        fates = self._pending.take()
        copies = self._pending.copies(fates)

        def answered(verdict: Verdict | None) -> None:
            if verdict is not None:
                self.counts.timed("index", self._note, sighting, verdict)
                self.probes.judged(question, verdict)
            self._told(fates, copies, is_done=verdict is not None)
            then(verdict)

        self._do(partial(self._submit, self._detector, question, sighting, fates, copies), answered)

    def _sighted(self, question: Question) -> Sighting | None:
        """Return the sighting that *question* is about, None if there is no index or no fingerprint."""
        if question.sighting is None and self._detector:
            sight = partial(self._detector.sighting, question.page, kind=question.kind)
            try:
                question.sighting = self.counts.timed("fingerprint", sight)
                if question.gaps:
                    left = replace(question.sighting.fingerprint, left_out=True)
                    question.sighting = replace(question.sighting, fingerprint=left)
            except Exception:  # which is our error: the page is kept
                logger.exception("<%s> could not be judged and is kept", printable(question.page.url))
        return question.sighting

    def _submit(
        self,
        detector: Detector | None,
        question: Question,
        sighting: Sighting,
        fates: Mapping[int, bool],
        copies: Sequence[Copy],
    ) -> Verdict:
        assert detector is not None
        # A file commits both at once; on a server others would wait for the lock.
        both = nullcontext() if self.is_remote else detector.index.store.transaction(writing=True)
        with both:
            _tell(detector.index, fates, copies)
            if (host := sighting.host) not in self._hosts:
                detector.visit(host)
            verdict = detector.submit(
                sighting,
                question.page,
                is_restored=question.is_restored,
                siblings=question.siblings,
                wait_for=frozenset(self._pending.runs) if question.waits else (),
            )
        if question.siblings is not None and verdict.row is not None:
            question.siblings.add(verdict.row)
        return verdict

    def _note(self, sighting: Sighting, verdict: Verdict) -> None:
        self._follow_run()
        self._visited(sighting.host)
        url = sighting.url
        self.counts.lookup(verdict)
        if verdict.candidates >= MAX_CANDIDATES:
            self.notices.capped(url)
        if verdict.row is None:
            return
        self._note_fields(sighting, verdict)
        if verdict.kept:
            self._pending.begin(self._run.id, verdict.row)
        if verdict.represents:
            self.counts.add("canonical_not_met")
        self.notices.judged(verdict)

    def _note_fields(self, sighting: Sighting, verdict: Verdict) -> None:
        """Count a copy with the text of the page kept whose other fields are not the same."""
        fields = hash(sighting.unjudged)
        if verdict.kept and verdict.row is not None and len(self._fields) < _MAX_FIELDS:
            self._fields[verdict.row] = fields
        elif self._fields.get(verdict.canonical or 0, fields) != fields:
            self.notices.other_fields(verdict)
            if not verdict.lost:
                self.counts.add("other_fields")

    def _follow_run(self) -> None:
        """Go on in the run that replaced ours, if others have ended it; record its visits again."""
        if self._detector is None or self._detector.run.id == self._run.id:
            return
        self._pending.leave(self._run.id)
        self._run = self._detector.run
        self._pending.runs[self._run.id] = {}
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

    def _do(self, ask: Callable[[], _T], then: Callable[[_T | None], None]) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if self._writer is None:
            then(self._attempt(ask))
        else:
            self._writer.put(ask, lambda answer: then(self._taken(answer)))

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
        return answer[0] if answer else None

    def _taken(self, answer: Answer[_T]) -> _T | None:
        """Count an answer of the server, and return its value."""
        self.counts.add("seconds/index", answer.seconds)
        if not answer.is_asked:
            self.counts.add("not_asked")
        if answer.error:
            self.notices.failed(answer.error)
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

    def settle(self, row: int, *, kept: bool, is_loss: bool = True) -> None:
        """Confirm a pending row, or release it, which counts as a loss unless nothing was to be had."""
        if not kept and is_loss:
            self.counts.add("released")
        self._settle((row,), kept=kept, at_once=not kept and is_loss)

    def take_back(self, rows: Sequence[int]) -> None:
        """Let *rows*, which a feed has lost, count as never seen, even if they were confirmed."""
        self.counts.add("lost_in_feeds", len(rows))
        self._settle(rows, kept=False, at_once=True)

    def _settle(self, rows: Sequence[int], *, kept: bool, at_once: bool) -> None:
        if self._detector is None:
            return
        for row in rows:
            self._pending.settle(row, kept=kept)
        if at_once or len(self._pending.fates) >= MOST_GATHERED:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHERED_FOR, self._flush)

    def _flush(self) -> None:
        """Tell the index of rows whose fate is known."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._detector and (fates := self._pending.take()):
            copies = self._pending.copies(fates)

            def told(is_done: bool | None) -> None:
                self._told(fates, copies, is_done=bool(is_done))

            self._do(partial(_done, _tell, self._detector.index, fates, copies), told)

    def _told(self, fates: Mapping[int, bool], copies: Iterable[Copy], *, is_done: bool) -> None:
        self._pending.told(fates, is_done=is_done)
        for copy in copies if is_done else ():
            self.again(copy.request, "what it repeats was lost")

    def note_copy(self, verdict: Verdict, request: Request | None) -> None:
        """Note that a page was dropped by *verdict*: if that leans on what is lost, it is made again."""
        standing = verdict.standing
        if request and verdict.row and standing and self._pending.is_open(standing):
            self._pending.note_copy(standing, Copy(verdict.row, request))
        elif request and not standing and verdict.repeats_another and len(self._leaning) < MOST_AGAIN:
            self._leaning.setdefault(verdict.canonical or 0, request)

    def answered(self, url: str, status: int) -> None:
        """Note that a page may be gone: its address *url* has answered *status*, or led there.

        What was dropped for it, as it was delivered by an earlier crawl, is asked for again, and kept.
        """

        def noted(canonicals: list[int] | None) -> None:
            for canonical in canonicals or ():
                if copy := self._leaning.pop(canonical, None):
                    self.again(copy, "the address of the page that it repeats is gone")

        if self._detector and not self.settings.is_dry:
            index, run = self._detector.index, self._detector.run
            self._do(partial(index.book.note_gone, run, url, status), noted)

    def again(self, request: Request, why: str) -> bool:
        """Ask for a page once more, past all filters; return whether that is done."""
        made, engine = once_more(request), self._crawler.engine
        if made is None or engine is None or self._again >= MOST_AGAIN:
            return False
        self._again += 1
        self.counts.add("requested_again")
        logger.info("Asking once more for <%s>: %s", printable(request.url), why)
        engine.crawl(made)
        return True

    # What is left out of pages

    @property
    def _noise_scope(self) -> str:
        is_of_spider = self.settings.config.scope == "spider" and self._crawler.spider is not None
        return self._crawler.spider.name if is_of_spider and self._crawler.spider else ""

    def load_noise(self, host: str, then: Callable[[Mapping[Gap, Evidence] | None], None]) -> None:
        """Call *then* with what the index knows of the noise of *host*."""
        if self._writer:  # no page waits for it
            then(gaps_of([self._noise[host]] if host in self._noise else []))
        elif self._detector:
            store = self._detector.index.store
            self._do(partial(noise_of, store, self._noise_scope, host), then)

    def save_noise(self, host: str, noise: Noise) -> None:
        """Store what is known of the noise of *host*."""
        if self._detector:
            site = SiteNoise(self._noise_scope, host, self._run.id, noise.aged())
            self._do(partial(_done, put_noise, self._detector.index.store, site), _nothing)

    def reprint(self, pages: Mapping[int, Page]) -> None:
        """Give rows the fingerprints of what is left of their *pages*."""
        if self._detector:
            prints = {row: self._detector.fingerprint(page) for row, page in pages.items()}
            self._do(partial(_done, _reprint, self._detector.index, prints, pages), _nothing)

    def wait_for_audit(self, host: str, rows: Sequence[int]) -> None:
        """Note which *rows* of *host* wait for an audit."""
        if self._detector:
            index, run = self._detector.index, self._detector.run
            self._do(partial(_done, index.book.note_unaudited, run, host, rows), _nothing)

    def give_back(self, rows: Sequence[int], requests: Sequence[Request]) -> None:
        """Restore *rows*, and ask for their pages once more by *requests*."""
        if self._detector:
            self.counts.add("given_back", len(rows))

            def restored(is_done: bool | None) -> None:
                for request in requests if is_done and self.settings.drops else ():
                    self.again(request, "it was dropped for what was left out of it, wrongly")

            ledger = self._detector.index.ledger
            self._do(partial(_done, ledger.restore_copies, list(rows)), restored)

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


async def _answer(writer: IndexWriter, ask: Callable[[], _T]) -> Answer[_T]:
    later: asyncio.Future[Answer[_T]] = asyncio.get_running_loop().create_future()
    writer.put(ask, later.set_result)
    return await later


def _nothing(_: object) -> None:
    """Take an answer that nobody waits for."""


def _done(change: Callable[..., object], *args: Any) -> bool:
    """Do *change*, and return True."""
    change(*args)
    return True


def _reprint(index: Index, prints: Mapping[int, Fingerprint], pages: Mapping[int, Page]) -> None:
    """Give rows other fingerprints, and other pages where theirs are stored."""
    with index.store.transaction(writing=True):
        index.ledger.reprint(prints)
        for row, _ in index.store.select(StoredPage, row=list(pages)):
            index.store.put(StoredPage(row, pack(pages[row])))


def _tell(index: Index, fates: Mapping[int, bool], copies: Sequence[Copy]) -> None:
    """Confirm or release rows, as their *fates* are; the *copies* of lost ones are wanted back."""
    if kept := [row for row, is_kept in fates.items() if is_kept]:
        with suppress(NoSuchRow):  # the others are confirmed all the same
            index.ledger.confirm(*sorted(kept))
    if lost := [row for row, is_kept in fates.items() if not is_kept]:
        with index.store.transaction(writing=True):
            index.ledger.take_back(lost)
            index.ledger.restore_copies([copy.row for copy in copies])
