"""How a crawl asks its index: a file at once unless it is locked, a server in a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from dedup.plugin.notices import CrawlStats, Notices
from dedup.plugin.outage import Answer, Ask

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that the server has for one statement.
LONGEST_ANSWER = 10.0
# So many questions wait for the disk of the server at once.
_TOGETHER = 16
# With more questions than that it is behind, and requests wait, each for so many seconds at most.
MOST_WAITING, LONGEST_HOLD = 64, 60.0
# Seconds that one question may wait for a lock, and the share of a crawl's time that all may wait.
LONGEST_WAIT = 2.0
_WAITING_SHARE = 0.01
# A shorter wait is not counted; after one that was in vain the index is not asked for ten times as long.
_NOTABLE = 0.5
_PAUSE_TIMES = 10


class _Question(NamedTuple):
    ask: Ask[Any]
    then: Callable[[Answer[Any]], None]


class IndexWriter:
    """Asks in a thread of its own, one question after the other; answers come in the same order.

    Questions that wait get their *answers* together.  Callbacks run in the event loop of the thread that
    made the writer.
    """

    def __init__(self, answers: Callable[[Sequence[Ask[Any]]], Sequence[Answer[Any]]]) -> None:
        self._answers = answers
        # None is the end.
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        # What only the thread of the crawl looks at.
        self._open = 0
        self._has_room = asyncio.Event()
        self._call: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
        self._thread = Thread(target=self._work, name="dedup writer", daemon=True)
        self._thread.start()

    def put(self, ask: Ask[_T], then: Callable[[Answer[_T]], None]) -> None:
        """Ask when all earlier questions are answered, and call *then* with the answer."""
        self._open += 1
        self._questions.put(_Question(ask, then))

    @property
    def is_behind(self) -> bool:
        """Whether so many questions are open that no more pages should come for now."""
        return self._open > MOST_WAITING

    async def wait_for_room(self) -> None:
        """Wait until it is behind no longer, but for `LONGEST_HOLD` seconds at most."""
        self._has_room.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_room.wait(), LONGEST_HOLD)

    def poke(self) -> None:
        """Let the thread look whether it has something to do; any thread may call this."""
        self.call(self.put, lambda _: None, lambda _: None)

    def call(self, function: Callable[..., object], *given: Any) -> None:
        """Call *function* in the event loop; any thread may call this."""
        try:
            self._call(function, *given)
        except RuntimeError:  # the loop is closed: nobody listens any more
            logger.debug("An answer of the index came too late")

    def close(self) -> None:
        """End the thread when all that was put is answered, and wait for that."""
        self._questions.put(None)
        self._thread.join()

    def _work(self) -> None:
        while questions := self._waiting():
            try:
                answers = self._answers([question.ask for question in questions])
            except Exception as error:  # which is our error: the pages are kept
                answers = [Answer[Any](error=error, seconds=1e-9)] * len(questions)
            for question, answer in zip(questions, answers, strict=True):
                self.call(self._came, question, answer)

    def _waiting(self) -> list[_Question]:
        """Return the next question with some of those that wait behind it; none at the end."""
        found: list[_Question] = []
        while (not found or not self._questions.empty()) and len(found) < _TOGETHER:
            question = self._questions.get()
            if question is None:
                if found:
                    self._questions.put(None)
                break
            found.append(question)
        return found

    def _came(self, question: _Question, answer: Answer[Any]) -> None:
        self._open -= 1
        if not self.is_behind:
            self._has_room.set()
        question.then(answer)


class CircuitBreaker:
    """Asks the index, except while it pauses; made when the crawl begins.

    After waiting in vain, or for too long in all, it is better to keep pages without judging them.
    """

    def __init__(self, counts: CrawlStats, notices: Notices) -> None:
        self._counts = counts
        self._notices = notices
        self._begun = monotonic()
        self._waited = 0.0
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
        answer, is_answered = None, False
        try:
            answer = self._counts.timed("index", ask)
            is_answered = True
        except Exception as error:  # whatever it is, losing the page would be worse
            self._notices.failed(error)
        if (seconds := monotonic() - begin) >= _NOTABLE:
            self._note(seconds, in_vain=not is_answered)
        return answer

    def _note(self, seconds: float, *, in_vain: bool) -> None:
        self._waited += seconds
        if in_vain:
            self._resumes = monotonic() + _PAUSE_TIMES * seconds
        if in_vain or self._waited > LONGEST_WAIT:
            self._resumes = max(self._resumes, self._begun + self._waited / _WAITING_SHARE)
