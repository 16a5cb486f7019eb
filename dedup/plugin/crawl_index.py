"""The index of one crawl: opened, asked in turn, and closed; a file, or a server that may be away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

from scrapy.crawler import Crawler

from dedup.index import Index, Run
from dedup.index.address import address_of, is_address
from dedup.index.detector import Detector
from dedup.index.draft import Draft
from dedup.index.index import SQLiteIndex, open_index
from dedup.model.errors import DedupError, IndexUnavailable, ServerAway, ServerLost
from dedup.model.verdict import Verdict
from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.outage import Answer, Ask, Outage, Submission, named
from dedup.plugin.project import index_path, job_of
from dedup.settings import DedupSettings

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available


logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that the server has for one statement; between two looks whether it is back, or can be used.
LONGEST_ANSWER, RETRY, _NEVER = 10.0, 1.0, 1e6
# A connection that is cut, as by a firewall, can be made anew: only after so many failures it is away.
_ATTEMPTS = 2
# So many questions wait for the disk of the server at once.
_TOGETHER = 16
# So many things that a draft was asked the server is told before the next pages are judged.
_TOLD = 64
# Seconds that one question may wait for the lock of a file.
LONGEST_WAIT = 2.0
# After a wait in vain of so many seconds or more the index is not asked for so many times as long.
_NOTABLE, _PAUSE_TIMES = 0.5, 20

_Question = tuple[Ask[Any], Callable[[Answer], object]]


class ServerThread:
    """Asks the index at *address*, one question after the other, in their order: by *detector*.

    Callbacks run in the event loop of the thread that made it.  While the server is away a draft is
    asked, as *detector* may be one from the start; *begin* makes the detector of an index.
    """

    def __init__(
        self, detector: Detector, address: str, begin: Callable[[Index, Run | None], Detector]
    ) -> None:
        self.detector = detector
        """What is asked now."""
        self.kept_twice = 0
        """How many pages were kept while the server was away, and by others, too."""
        self._address, self._begin = address, begin
        is_draft = isinstance(detector.index, Draft)
        self._server: Detector | None = None if is_draft else detector
        self._outage = Outage(detector, None) if is_draft else None
        self._next_look = monotonic()
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()  # None is the end
        self._call: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
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
            waiting: list[_Question | None] = []
            with suppress(Empty):
                left = max(0.0, self._next_look - monotonic()) if self._outage else None
                waiting.append(self._questions.get(timeout=left))
                while waiting[-1] and len(waiting) < _TOGETHER:
                    waiting.append(self._questions.get_nowait())
            ends = None in waiting
            questions = [question for question in waiting if question]
            try:
                answers = self._answers([ask for ask, _ in questions])
            except Exception as error:  # which is our error: the pages are kept
                answers = [Answer(error=error)] * len(questions)
            for (_, then), answer in zip(questions, answers, strict=True):
                with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                    self._call(then, answer)
            if self._outage and (ends or monotonic() >= self._next_look):
                self._look(self._outage, ends=ends)

    def _answers(self, asks: Sequence[Ask[Any]]) -> list[Answer]:
        found: list[Answer] = []
        safe = failures = 0  # so many of these are known to be on the disk of the server
        while True:
            try:
                with self.detector.index.store.together():
                    safe = len(found)
                    while left := asks[len(found) :]:
                        found += self._first_answers(left)
                return found
            except ServerAway as error:
                failures += 1
                if failures == _ATTEMPTS or isinstance(error, ServerLost):
                    self._take_back(asks[safe:], found[safe:])
                    del found[safe:]
                for ask in asks[len(found) :]:
                    if isinstance(ask, Submission):
                        ask.told_to = None
                if failures >= _ATTEMPTS and not self._leaves(error):
                    return found + [Answer(error=error)] * (len(asks) - safe)

    def _first_answers(self, asks: Sequence[Ask[Any]]) -> list[Answer]:
        """Return the answers to the first of *asks*: one, or those of pages recorded at once."""
        if self._outage or not isinstance(asks[0], Submission):
            return [self._answer(asks[0])]
        begin, at, pages = monotonic(), self.detector, list[Submission]()
        try:
            for ask in asks:
                if not (isinstance(ask, Submission) and self._is_ready(ask, at, is_first=not pages)):
                    break
                pages.append(ask)
            verdicts = at.submit_first([ask.asked(at) for ask in pages])
        except ServerAway:
            raise
        except Exception as error:  # whatever it is, losing the first page would be worse
            return [Answer(error=error, seconds=monotonic() - begin)]
        for ask, verdict in zip(pages, verdicts, strict=False):
            ask.note(verdict)
        seconds = (monotonic() - begin) / len(verdicts)
        return [Answer(named(verdict, at), at.run, None, seconds) for verdict in verdicts]

    def _is_ready(self, ask: Submission, at: Detector, *, is_first: bool) -> bool:
        try:
            ask.before(at)
        except Exception as error:
            if is_first or isinstance(error, ServerAway):
                raise
            return False  # it is asked about once more, and first
        return True

    def _answer(self, ask: Ask[Any]) -> Answer:
        begin, at = monotonic(), self.detector
        try:
            value = ask(at)
            if self._outage:
                self._outage.keep(ask, value)
            if isinstance(value, Verdict):
                value = named(value, at)
        except ServerAway:
            raise
        except Exception as error:  # whatever it is, losing the page would be worse
            return Answer(error=error, seconds=monotonic() - begin)
        return Answer(value, at.run, None, monotonic() - begin, is_away=bool(self._outage))

    def _take_back(self, asks: Sequence[Ask[Any]], found: Sequence[Answer]) -> None:
        """Take back what was recorded, as it is asked about again: a part may be there all the same."""
        for ask, answer in zip(asks, found, strict=False):
            if isinstance(ask, Submission) and isinstance(answer.value, Verdict):
                self.detector.index.ledger.doubt(replace(ask.sighting, run=self.detector.run.id))
                if ask.siblings is not None:
                    ask.siblings.discard(answer.value.row or 0)

    # While the server is away

    def _leaves(self, reason: ServerAway) -> bool:
        """Ask a draft from now on; return False where none can be made."""
        server = self.detector
        try:
            draft = Draft(address_of(self._address), server.index.store.path)
            self._outage = Outage(self._begin(draft, server.run), server)
        except IndexUnavailable as error:
            logger.error("The crawl cannot go on without the server: %s", error)
            return False
        logger.warning(
            "Pages are judged by what this machine knows until the server is back: %s", reason
        )
        self.detector = self._outage.draft
        self._next_look = monotonic() + RETRY
        return True

    def _look(self, outage: Outage, *, ends: bool) -> None:
        """Tell the server what it has missed, if it is back; all of it where the crawl *ends*."""
        begin = monotonic()
        try:
            server = self._server = self._server or self._begin(open_index(self._address), None)
            if outage.tell(server, None if ends else _TOLD):
                outage.say_end()
                self.kept_twice += outage.twice
                self.detector, self._outage = server, None
                outage.draft.index.close()
        except ServerAway:
            now = monotonic()
            self._next_look = now + max(RETRY, _PAUSE_TIMES * (now - begin))
        except Exception as error:  # the draft is asked until the crawl ends
            self._next_look = monotonic() + _NEVER
            logger.error("The index on the server cannot be used: %s", error)
        if ends and self._outage:
            outage.say_unknown()
            if self._server:
                with suppress(IndexUnavailable):
                    self._server.index.close()


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
            from dedup.index.replica import last_replica

            if self._notices.is_first("away"):
                logger.error("The crawl begins without its index, and asks for it again: %s", error)
            address = address_of(self._path)
            return Draft(address, last_replica(address))

    def open(self, follow: Callable[[int], object]) -> Detector:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``.

        *follow* is called when another run goes on in the place of the one of that number.
        """
        index = self._found()
        before = {run.id for run in index.runs.all()}
        self.detector = detector = self._detector_on(index)
        self.run, self._follow = detector.run, follow
        self.goes_on = self.run.id in before
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
            answer = self.breaker.attempt(lambda: (ask(detector),))
            then(answer[0] if answer else None)

    def _taken(self, answer: Answer) -> Any:
        self.counts.add("seconds/index", answer.seconds)
        if answer.error:
            self._notices.failed(answer.error)
        elif answer.is_away and isinstance(answer.value, Verdict):
            self.counts.add("server_away")
        if answer.run:
            self._go_on_in(answer.run)
        return answer.value

    def _go_on_in(self, run: Run) -> None:
        """Go on with the *run* that the server has of this crawl by now."""
        before, self.run = self.run.id, run
        if before != run.id:
            self._follow(before)

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
            self._go_on_in(server.detector.run)
            if server.kept_twice:
                self.counts.add("kept_twice", server.kept_twice)
            return await asyncio.to_thread(_ended, server.detector, reason, report)
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
