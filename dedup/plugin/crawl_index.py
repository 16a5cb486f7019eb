"""The index of one crawl: opened, asked in turn, and closed; a file, or a server that may be away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

from scrapy.crawler import Crawler

from dedup.index import Index, Run
from dedup.index.address import address_of, is_address
from dedup.index.detector import Detector
from dedup.index.draft import Draft
from dedup.index.index import SQLiteIndex, open_index
from dedup.model.errors import DedupError, IndexUnavailable, ServerAway
from dedup.model.verdict import Verdict
from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.outage import Answer, Ask, OpenIndex, ServerIndex
from dedup.plugin.project import index_path, job_of
from dedup.settings import DedupSettings

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available


logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that the server has for one statement.
LONGEST_ANSWER = 10.0
# So many questions wait for the disk of the server at once.
_TOGETHER = 16
# Seconds that one question may wait for a lock.
LONGEST_WAIT = 2.0
# After a wait in vain of so many seconds or more the index is not asked for so many times as long.
_NOTABLE, _PAUSE_TIMES = 0.5, 20

_Question = tuple[Ask[Any], Callable[[Answer[Any]], object]]


class IndexWriter:
    """Asks in a thread of its own, one question after the other; answers come in the same order.

    Questions that wait get their *answers* together.  Callbacks run in the event loop of the thread that
    made the writer.
    """

    def __init__(self, answers: Callable[[Sequence[Ask[Any]]], Sequence[Answer[Any]]]) -> None:
        self._answers = answers
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()  # None is the end
        self._call: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
        self._thread = Thread(target=self._work, name="dedup writer", daemon=True)
        self._thread.start()

    def put(self, ask: Ask[_T], then: Callable[[Answer[_T]], object] = lambda _: None) -> None:
        """Ask when all earlier questions are answered, and call *then* with the answer."""
        self._questions.put((ask, then))

    def call(self, function: Callable[..., object], *given: Any) -> None:
        """Call *function* in the event loop; any thread may call this."""
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._call(function, *given)

    def close(self) -> None:
        """End the thread when all that was put is answered, and wait for that."""
        self._questions.put(None)
        self._thread.join()

    def _work(self) -> None:
        ends = False
        while not ends:
            waiting = [self._questions.get()]
            while waiting[-1] and len(waiting) < _TOGETHER and not self._questions.empty():
                waiting.append(self._questions.get())
            ends = waiting[-1] is None
            questions = [question for question in waiting if question]
            try:
                answers = self._answers([ask for ask, _ in questions]) if questions else ()
            except Exception as error:  # which is our error: the pages are kept
                answers = [Answer[Any](error=error)] * len(questions)
            for (_, then), answer in zip(questions, answers, strict=True):
                self.call(then, answer)


class CircuitBreaker:
    """Asks the index, but not for a while after waiting in vain: pages are kept unjudged then."""

    def __init__(self, counts: CrawlStats, notices: Notices) -> None:
        self._counts, self._notices = counts, notices
        self._resumes = 0.0

    def renew(self) -> None:
        """Ask again at once."""
        self._resumes = 0.0

    def attempt(self, ask: Callable[[], _T]) -> _T | None:
        """Return what *ask* returns, None where it fails, or where the index is not asked now."""
        begin = monotonic()
        if begin < self._resumes:
            self._counts.add("not_asked")
            return None
        try:
            return self._counts.timed("index", ask)
        except Exception as error:  # whatever it is, losing the page would be worse
            self._notices.failed(error)
        now = monotonic()
        if (seconds := now - begin) >= _NOTABLE:
            self._resumes = now + _PAUSE_TIMES * seconds
        return None


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""


class CrawlIndex:
    """The index of the crawl of *crawler*, and its run there.

    A file is asked at once.  A server is asked by a thread, one question after the other; while it is
    away, a draft of it is.
    """

    def __init__(
        self, crawler: Crawler, settings: DedupSettings, counts: CrawlStats, notices: Notices
    ) -> None:
        self.crawler, self.settings, self.counts = crawler, settings, counts
        self._notices = notices
        self._path = index_path(settings)
        self.is_remote = is_address(self._path)
        """Whether the index is on a server: its answers come later."""
        self.run = Run(0, "", "", 0.0)
        self.goes_on = False
        """Whether the run was begun before, by the same job."""
        self._follow: Callable[[int], object] = lambda _: None
        self._file: OpenIndex | None = None
        self._server: ServerIndex | None = None
        self._writer: IndexWriter | None = None
        self.breaker = CircuitBreaker(counts, notices)
        """What asks a file."""

    # Beginning

    def check(self) -> None:
        """Raise `CannotBegin` if the crawl cannot begin; an error in `open` would be logged twice."""
        if not is_asyncio_available():
            raise CannotBegin(
                "scrapy-dedup needs asyncio, as Scrapy has it by default: set TWISTED_REACTOR to "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor, or do not set it"
            )
        try:
            with self._found() as index:
                index.expect()
                with index.store.transaction(writing=True):  # or another process holds it
                    pass
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def _found(self) -> Index:
        """Return the index, a draft of it while its server is away."""
        try:
            return open_index(self._path)
        except ServerAway as error:
            if self._notices.is_first("away"):
                logger.error("The crawl begins without its index, and asks for it again: %s", error)
            return Draft(address_of(self._path))

    def open(self, follow: Callable[[int], object]) -> OpenIndex:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``.

        *follow* is called when another run goes on in the place of the one of that number.
        """
        index = self._found()
        before = {run.id for run in index.runs.all()}
        opened = OpenIndex(self._detector_on(index))
        self.goes_on = opened.run.id in before
        if self.is_remote:
            self._server = ServerIndex(
                *(opened, self._path, self._detector_on),
                poke=lambda: writer.put(lambda _: None),
                is_back=lambda *back: writer.call(self._came_back, *back),
            )
            self._writer = writer = IndexWriter(self._server.answers)
        else:
            self._file = opened
        self.run, self._follow = opened.run, follow
        return opened

    def _detector_on(self, index: Index, run: Run | None = None) -> Detector:
        """Return a detector whose run has begun, or goes on as *run*; close *index* where that fails."""
        assert self.crawler.spider is not None
        settings = self.settings
        try:
            detector = Detector(
                index,
                settings.config,
                self.crawler.spider.name,
                job=job_of(self.crawler.settings.get("JOBDIR")),
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

    def _came_back(self, run: Run, twice: int) -> None:
        if twice:
            self.counts.add("kept_twice", twice)
        self._go_on_in(run)

    def _go_on_in(self, run: Run) -> None:
        """Go on with the *run* that the server has of this crawl by now."""
        if run.id != self.run.id:
            before, self.run = self.run.id, run
            self._follow(before)

    # Asking

    @property
    def detector(self) -> Detector | None:
        """What judges pages now, None before and after the crawl."""
        opened = self._server.now if self._server else self._file
        return opened.detector if opened else None

    def do(self, ask: Ask[_T], then: Callable[[_T | None], object] = lambda _: None) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if (file := self._file) is not None:
            answer = self.breaker.attempt(lambda: (ask(file),))
            then(answer[0] if answer else None)
        elif self._server and self._writer:
            self._writer.put(ask, lambda answer: then(self._taken(answer)))
        else:
            then(None)

    def _taken(self, answer: Answer[_T]) -> _T | None:
        self.counts.add("seconds/index", answer.seconds)
        if answer.is_away and isinstance(answer.value, Verdict):
            self.counts.add("server_away")
        if not answer.is_asked:
            self.counts.add("not_asked")
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

    # The end

    async def close(self, reason: str, report: Callable[[OpenIndex], _T]) -> _T | None:
        """End the run and close the index; return the *report* on it, None where that cannot be had."""
        found = None
        if (writer := self._writer) and (server := self._server):
            answered = asyncio.get_running_loop().create_future()
            writer.put(lambda _: None, answered.set_result)
            await answered
            self._server = None  # nothing is asked from now on
            writer.close()
            await asyncio.to_thread(server.finish)
            found = await asyncio.to_thread(_ended, server.now, reason, report)
            await asyncio.to_thread(server.close)
        elif file := self._file:
            self._file = None
            found = _ended(file, reason, report)
            if isinstance(file.index, SQLiteIndex) and not file.index.store.is_in_place:
                logger.error(
                    "%s was moved, deleted or replaced during the crawl: what this run saw is not in "
                    "the file that is there now",
                    file.index.name,
                )
            with suppress(IndexUnavailable):
                file.index.close()
        return found


def _ended(opened: OpenIndex, reason: str, report: Callable[[OpenIndex], _T]) -> _T | None:
    """End the run, and return the report on it, None where that cannot be done."""
    try:
        opened.detector.close(reason)
        return report(opened)
    except IndexUnavailable as error:
        logger.error("The run could not be ended: %s", error)
    except Exception:  # which is our error: the index is closed all the same
        logger.exception("The crawl could not be summed up")
    return None
