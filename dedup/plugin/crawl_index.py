"""The index of one crawl: opened, asked in turn, and closed; a file, or a server that may be away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

from dedup.front.settings import DedupSettings
from dedup.index import Index, Run
from dedup.index.address import address_of, is_address
from dedup.index.detector import Detector
from dedup.index.draft import Draft
from dedup.index.index import SQLiteIndex, is_reachable, open_index
from dedup.plugin.index_writer import LONGEST_ANSWER, LONGEST_WAIT, CircuitBreaker, IndexWriter
from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.outage import Answer, Ask, OpenIndex, ServerIndex
from dedup.plugin.pending import Pending, pending_of
from dedup.plugin.settings import index_path, job_of
from dedup.values.errors import DedupError, IndexUnavailable, ServerAway
from dedup.values.hashes import digest
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_NO_RUN = Run(0, "", "", "", 0.0)


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""

    # Scrapy logs it with its traceback, which tells a user nothing.
    __traceback__ = None


def ignore(_: object) -> None:
    """Take an answer that nobody waits for."""


class CrawlIndex:
    """The index of the crawl of *crawler*, and its run there.

    A file is asked at once.  A server is asked by a thread, one question after the other; while it is
    away, a draft of it is.
    """

    def __init__(
        self, crawler: Crawler, settings: DedupSettings, counts: CrawlStats, notices: Notices
    ) -> None:
        self._crawler, self._settings = crawler, settings
        self._counts, self._notices = counts, notices
        self._path = index_path(settings)
        self.is_remote = is_address(self._path)
        """Whether the index is on a server: its answers come later."""
        self.run = _NO_RUN
        """The run of this crawl."""
        self.pending = Pending()
        """The rows that this process has under way in this index."""
        self.follow: Callable[[Run], object] = ignore
        """Called when another run goes on in the place of this one."""
        self._file: OpenIndex | None = None
        self._server: ServerIndex | None = None
        self._writer: IndexWriter | None = None
        self._breaker = CircuitBreaker(counts, notices)

    # Beginning

    def check(self) -> None:
        """Raise `CannotBegin` if the crawl cannot begin; an error in `open` would be logged twice."""
        if not is_asyncio_available():
            raise CannotBegin(
                "scrapy-dedup needs asyncio, as Scrapy has it by default: set TWISTED_REACTOR to "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor, or do not set it"
            )
        try:
            try:
                self._expect(open_index(self._path))
            except ServerAway as error:
                logger.error("The crawl begins without its index, and asks for it again: %s", error)
                self._expect(Draft(address_of(str(self._path))))
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def _expect(self, index: Index) -> None:
        with index:
            index.expect(self._settings.config)
            with index.store.transaction(writing=True):  # or another process holds it
                pass

    def open(self) -> tuple[OpenIndex, bool]:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``: whether it goes on.

        While its server is away, a draft of it is opened.
        """
        try:
            opened, goes_on = self._begun(open_index(self._path))
        except ServerAway:
            opened, goes_on = self._begun(Draft(address_of(str(self._path))))
        if self.is_remote:
            self._server = ServerIndex(
                opened,
                connect=lambda: self._detector_on(open_index(self._path)),
                make_draft=self._draft_of,
                is_reachable=lambda: is_reachable(str(self._path)),
                poke=lambda: writer.poke(),  # noqa: PLW0108 - it is made below
                is_back=lambda *back: writer.call(self._came_back, *back),
            )
            self._writer = writer = IndexWriter(self._server.answers)
        else:
            self._file = opened
        self.run, self.pending = opened.run, pending_of(opened.index)
        self.pending.runs[self.run.id] = {}
        return opened, goes_on

    def _begun(self, index: Index) -> tuple[OpenIndex, bool]:
        before = {run.id for run in index.runs.all()}
        detector = self._detector_on(index)
        return OpenIndex(detector), detector.run.id in before

    def _detector_on(self, index: Index, run: Run | None = None) -> Detector:
        """Return a detector whose run has begun, or goes on as *run*; close *index* where that fails."""
        assert self._crawler.spider is not None
        settings = self._settings
        try:
            detector = Detector(
                index,
                settings.config,
                self._crawler.spider.name,
                job=job_of(self._crawler.settings.get("JOBDIR")),
                settings=digest(repr(settings).encode()).hex(),
                action=settings.action,
                crawl=settings.crawl,
                run=run,
            )
            detector.visit("")  # items without a response are met in every crawl
            index.store.wait_at_most(LONGEST_ANSWER if self.is_remote else LONGEST_WAIT)
        except BaseException:
            index.close()
            raise
        return detector

    def _draft_of(self, server: OpenIndex) -> Detector:
        return self._detector_on(Draft(address_of(str(self._path)), server.index.store.path), server.run)

    def _came_back(self, run: Run, twice: int) -> None:
        """Go on with the *run* that the server has of this crawl."""
        if twice:
            self._counts.add("kept_twice", twice)
        self._go_on_in(run)

    def _go_on_in(self, run: Run) -> None:
        if run.id != self.run.id:
            self.pending.go_on(self.run.id, run.id)
            self.run = run
            self.follow(run)

    # Asking

    @property
    def detector(self) -> Detector | None:
        """What judges pages now, None before and after the crawl."""
        opened = self._server.now if self._server else self._file
        return opened.detector if opened else None

    def do(self, ask: Ask[_T], then: Callable[[_T | None], None] = ignore) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if self._writer:
            self._writer.put(ask, lambda answer: then(self._taken(answer)))
        else:
            then(self._attempt(ask))

    def _attempt(self, ask: Ask[_T]) -> _T | None:
        if (file := self._file) is None:
            return None
        answer = self._breaker.attempt(lambda: (ask(file),))
        return answer[0] if answer else None

    def _taken(self, answer: Answer[_T]) -> _T | None:
        """Count an answer of the server, and return its value."""
        self._counts.add("seconds/index", answer.seconds)
        if answer.is_away and isinstance(answer.value, Verdict):
            self._counts.add("server_away")
        if not answer.is_asked:
            self._counts.add("not_asked")
        if answer.error:
            self._notices.failed(answer.error)
        if answer.run and answer.run.id != self.run.id:
            logger.warning(
                "The server had not heard of this crawl for too long and has ended its run; it goes on "
                "as run %d. What it was told and not confirmed by then counts as lost, and is delivered "
                "again by the next crawl",
                answer.run.id,
            )
            self._go_on_in(answer.run)
        return answer.value

    @property
    def is_behind(self) -> bool:
        """Whether pages come faster than an index on a server answers."""
        return self._writer is not None and self._writer.is_behind

    async def wait_for_room(self) -> None:
        """Wait until the index has caught up, or for long enough."""
        if self._writer:
            await self._writer.wait_for_room()

    # The end

    def renew(self) -> None:
        """Ask at once, even where the index was locked for long."""
        self._breaker.renew()

    def close(self, reason: str, report: Callable[[OpenIndex], _T], then: Callable[[_T], None]) -> Any:
        """End the run and close the index; *then* gets the *report* on it.

        Returns what to await, None for nothing.
        """
        if self._writer and self._server:
            return self._close_later(self._writer, self._server, reason, report, then)
        file, self._file = self._file, None
        if file:
            if (found := _ended(file, reason, report)) is not None:
                then(found)
            self._leave(file.index)
        return None

    async def _close_later(
        self,
        writer: IndexWriter,
        server: ServerIndex,
        reason: str,
        report: Callable[[OpenIndex], _T],
        then: Callable[[_T], None],
    ) -> None:
        """Let *writer* answer what was asked, and end the run."""
        answered = asyncio.get_running_loop().create_future()
        writer.put(lambda _: None, answered.set_result)
        await answered
        self._server = None  # nothing is asked from now on
        writer.close()
        await asyncio.to_thread(server.finish)
        if (found := await asyncio.to_thread(_ended, server.now, reason, report)) is not None:
            then(found)
        await asyncio.to_thread(server.close)
        self.pending.leave(self.run.id)

    def _leave(self, index: Index) -> None:
        self.pending.leave(self.run.id)
        if isinstance(index, SQLiteIndex) and not index.store.is_in_place:
            logger.error(
                "%s was moved, deleted or replaced during the crawl: what this run saw is not in "
                "the file that is there now",
                index.name,
            )
        with suppress(IndexUnavailable):
            index.close()


def _ended(opened: OpenIndex, reason: str, report: Callable[[OpenIndex], _T]) -> _T | None:
    """End the run, and return the report on it, None where that cannot be done."""
    try:
        opened.detector.close(reason)
        return report(opened)
    except IndexUnavailable as error:
        logger.error("The run could not be ended: %s", error)
        return None
