"""The index of one crawl: opened, asked in turn, and closed; a file, or a server that may be away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

from scrapy.crawler import Crawler

from dedup.index import Run, Sighting
from dedup.index.address import is_address
from dedup.index.detector import Detector
from dedup.index.index import SQLiteIndex, open_index
from dedup.model.errors import DedupError, IndexUnavailable, ServerAway, ServerLost
from dedup.model.verdict import Verdict
from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.project import index_path, job_of
from dedup.reading.page import Page
from dedup.settings import DedupSettings

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available


logger = logging.getLogger(__name__)

_T = TypeVar("_T")
Ask = Callable[[Detector], _T]
"""What is asked of the index, by the detector of a crawl."""

# Seconds that the server has for one statement, that pages wait for it when it is away, and between two
# tries.
LONGEST_ANSWER, PATIENCE, RETRY = 10.0, 300.0, 1.0
# So many questions wait for the disk of the server at once.
_TOGETHER = 16
# Seconds that one question may wait for the lock of a file.
LONGEST_WAIT = 2.0
# After a wait in vain of so many seconds or more the index is not asked for so many times as long.
_NOTABLE, _PAUSE_TIMES = 0.5, 20


@dataclass(slots=True)
class Submission:
    """Records the page of *sighting*, after it did *first*, such as to tell the fates of other rows.

    *host* is one that the crawl was not on before, None for none.  *wait_for* are the runs of which a
    pending row is not repeated, see `Ledger.find_or_add`.
    """

    sighting: Sighting
    page: Page
    first: Ask[object]
    host: str | None
    is_restored: bool
    siblings: set[int] | None
    wait_for: frozenset[int]

    def __call__(self, at: Detector) -> Verdict:
        """Judge and record the page."""
        # A file commits all at once; on a server others would wait for the lock.
        with nullcontext() if at.index.store.is_shared else at.index.batch():
            self.first(at)
            if self.host is not None:
                at.visit(self.host)
            verdict = at.submit(
                *(self.sighting, self.page),
                is_restored=self.is_restored,
                siblings=self.siblings,
                wait_for=self.wait_for,
            )
        if verdict.row is not None and self.siblings is not None:
            self.siblings.add(verdict.row)
        return verdict


class Answer(NamedTuple):
    """What became of a question: its *value* and the *run* of the crawl by then, or an *error*.

    Without any of them the index was not asked.
    """

    value: Any = None
    run: Run | None = None
    error: Exception | None = None
    seconds: float = 0.0


_Question = tuple[Ask[Any], Callable[[Answer], object]]


class ServerThread:
    """Asks the index of *detector* on a server, one question after the other, in their order.

    Callbacks run in the event loop of the thread that made it.  While the server is away its questions
    wait; after `PATIENCE` seconds they have no answer, and it is asked only now and then.
    """

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()  # None is the end
        self._call: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
        self._away_since: float | None = None
        self._resumes = 0.0
        self._thread = Thread(target=self._work, name="dedup writer", daemon=True)
        self._thread.start()

    def ask(self, ask: Ask[Any], then: Callable[[Answer], object]) -> None:
        """Ask when all earlier questions are answered, and call *then* with the answer."""
        self._questions.put((ask, then))

    def close(self) -> None:
        """End the thread when all questions are answered, and wait for that."""
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
                answers = self._answers([ask for ask, _ in questions])
            except Exception as error:  # which is our error: the pages are kept
                answers = [Answer(error=error)] * len(questions)
            for (_, then), answer in zip(questions, answers, strict=True):
                with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                    self._call(then, answer)

    def _answers(self, asks: Sequence[Ask[Any]]) -> list[Answer]:
        if monotonic() < self._resumes:
            return [Answer()] * len(asks)
        found: list[Answer] = []
        safe = 0  # so many of these are known to be on the disk of the server
        while True:
            begin = monotonic()
            try:
                with self._detector.index.store.together():
                    safe = len(found)
                    for ask in asks[safe:]:
                        found += [self._answer(ask)]
            except ServerAway as error:
                if isinstance(error, ServerLost):
                    self._take_back(asks[safe:], found[safe:])
                    del found[safe:]
                if not self._waits(error, begin):
                    return found[:safe] + [Answer(error=error)] * (len(asks) - safe)
            else:
                if self._away_since is not None:
                    logger.warning("The server is back")
                    self._away_since = None
                return found

    def _answer(self, ask: Ask[Any]) -> Answer:
        begin = monotonic()
        try:
            value = ask(self._detector)
        except ServerAway:
            raise
        except Exception as error:  # whatever it is, losing the page would be worse
            return Answer(error=error, seconds=monotonic() - begin)
        return Answer(value, self._detector.run, seconds=monotonic() - begin)

    def _take_back(self, asks: Sequence[Ask[Any]], found: Sequence[Answer]) -> None:
        """Take back what was recorded, as it is asked about again: a part may be there all the same."""
        for ask, answer in zip(asks, found, strict=False):
            if isinstance(ask, Submission) and isinstance(answer.value, Verdict):
                self._detector.index.ledger.doubt(replace(ask.sighting, run=self._detector.run.id))
                if ask.siblings is not None:
                    ask.siblings.discard(answer.value.row or 0)

    def _waits(self, error: ServerAway, begin: float) -> bool:
        """Wait a moment before the next try; return False if pages have waited for too long."""
        now = monotonic()
        if self._away_since is None:
            self._away_since = now
            logger.warning("Pages wait for the server of the index: %s", error)
        if now - self._away_since < PATIENCE:
            sleep(RETRY)
            return True
        self._resumes = now + _PAUSE_TIMES * max(now - begin, RETRY)
        return False


class CircuitBreaker:
    """Asks a file, but not for a while after waiting in vain: pages are kept unjudged then."""

    def __init__(self, counts: CrawlStats, notices: Notices) -> None:
        self._counts, self._notices = counts, notices
        self.resumes = 0.0
        """When it is asked again."""

    def attempt(self, ask: Callable[[], _T]) -> _T | None:
        """Return what *ask* returns, None where it fails, or where the index is not asked now."""
        begin = monotonic()
        if begin < self.resumes:
            self._counts.add("not_asked")
            return None
        try:
            return self._counts.timed("index", ask)
        except Exception as error:  # whatever it is, losing the page would be worse
            self._notices.failed(error)
        if (seconds := monotonic() - begin) >= _NOTABLE:
            self.resumes = begin + (1 + _PAUSE_TIMES) * seconds
        return None


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""


class CrawlIndex:
    """The index of the crawl of *crawler*, and its run there.

    A file is asked at once.  A server is asked by a thread, one question after the other.
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
        self.detector: Detector | None = None
        """What judges pages, None before and after the crawl."""
        self._follow: Callable[[int], object] = lambda _: None
        self._server: ServerThread | None = None
        self.breaker = CircuitBreaker(counts, notices)

    def check(self) -> None:
        """Raise `CannotBegin` if the crawl cannot begin; an error in `open` would be logged twice."""
        if not is_asyncio_available():
            raise CannotBegin(
                "scrapy-dedup needs asyncio, as Scrapy has it by default: set TWISTED_REACTOR to "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor, or do not set it"
            )
        try:
            with open_index(self._path) as index:
                index.expect()
                with index.store.transaction(writing=True):  # or another process holds it
                    pass
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def open(self, follow: Callable[[int], object]) -> Detector:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``.

        *follow* is called when another run goes on in the place of the one of that number.
        """
        assert self.crawler.spider is not None
        index = open_index(self._path)
        try:
            before = {run.id for run in index.runs.all()}
            detector = Detector(
                *(index, self.settings.config, self.crawler.spider.name),
                job=job_of(self.crawler.settings.get("JOBDIR")),
                action=self.settings.action,
                crawl=self.settings.crawl,
            )
            detector.visit("")  # items without a response are met in every crawl
            index.store.wait_at_most(LONGEST_ANSWER if self.is_remote else LONGEST_WAIT)
        except BaseException:
            index.close()
            raise
        self.detector, self.run, self._follow = detector, detector.run, follow
        self.goes_on = self.run.id in before
        self._server = ServerThread(detector) if self.is_remote else None
        return detector

    def do(self, ask: Ask[_T], then: Callable[[_T | None], object] = lambda _: None) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if (detector := self.detector) is None:
            then(None)
        elif self._server:
            self._server.ask(ask, lambda answer: then(self._taken(answer)))
        else:
            answer = self.breaker.attempt(lambda: (ask(detector),))
            then(answer[0] if answer else None)

    def _taken(self, answer: Answer) -> Any:
        self.counts.add("seconds/index", answer.seconds)
        if answer.error:
            self._notices.failed(answer.error)
        elif answer.run is None:
            self.counts.add("not_asked")
        elif answer.run.id != self.run.id:
            logger.warning(
                "The server had not heard of this crawl for too long and has ended its run; it goes on "
                "as run %d. What it was told and not confirmed by then counts as lost, and is delivered "
                "again by the next crawl",
                answer.run.id,
            )
            before, self.run = self.run.id, answer.run
            self._follow(before)
        return answer.value

    async def close(self, reason: str, report: Callable[[Detector], _T]) -> _T | None:
        """End the run and close the index; return the *report* on it, None where that cannot be had."""
        if (detector := self.detector) is None:
            return None
        if server := self._server:
            answered = asyncio.get_running_loop().create_future()
            server.ask(lambda _: None, answered.set_result)
            await answered
            self.detector = None  # nothing is asked from now on
            await asyncio.to_thread(server.close)
            return await asyncio.to_thread(_ended, detector, reason, report)
        self.detector = None
        return _ended(detector, reason, report)


def _ended(detector: Detector, reason: str, report: Callable[[Detector], _T]) -> _T | None:
    """End the run and close its index; return the report on it, None where that cannot be done."""
    found, index = None, detector.index
    try:
        detector.close(reason)
        found = report(detector)
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
    return found
