"""The thread that asks an index on a server, or a draft of it while the server is away."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple

from dedup.index import Index, Run
from dedup.index.index import Detector, Draft, open_index
from dedup.index.ledger import PENDING_OF_RUN
from dedup.model.address import address_of
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.verdict import Outcome, Verdict
from dedup.plugin.question import Ask, Question
from dedup.reading.markup import Excess
from dedup.reading.page import Page

logger = logging.getLogger(__name__)

# Seconds between two looks whether the server is back, or can be used; the latter take so many times as
# long as the one before.
RETRY, _NEVER, _PAUSE_TIMES = 1.0, 1e6, 20
# A connection that is cut, as by a firewall, can be made anew: only after so many failures it is away.
_ATTEMPTS = 2
_TOGETHER = 16  # so many questions are asked at once
_TOLD = 64  # so many things that a draft was asked the server is told before the next pages are judged


class Answer(NamedTuple):
    """What became of a question: its *value*, or an *error*."""

    value: Any = None
    run: Run | None = None  # that of the crawl by then
    error: Exception | None = None
    seconds: float = 0.0
    is_away: bool = False  # a draft was asked


_NO_TEXT = Page.unread(b"", Excess.BYTES)
_Waiting = tuple[Ask[Any], Callable[[Answer], object]]


class ServerThread:
    """Asks the index at *address*, one question after the other, in their order: by *detector*.

    Callbacks run in the event loop of the thread that made it.  While the server is away a draft is
    asked, as *detector* may be one from the start; *begin* makes the detector of an index.
    """

    def __init__(
        self, detector: Detector, address: str, begin: Callable[[Index, Run | None], Detector]
    ) -> None:
        self.detector = detector  # what is asked now
        self.kept_twice = 0  # so many pages were kept while the server was away, and by others, too
        self.unknown = 0  # so many kept pages the server does not know at the end
        self._address, self._begin = address, begin
        is_draft = isinstance(detector.index, Draft)
        self._server: Detector | None = None if is_draft else detector
        self._outage = _Outage(detector, None) if is_draft else None
        self._next_look = monotonic()
        self._questions: SimpleQueue[_Waiting | None] = SimpleQueue()  # None is the end
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
            waiting: list[_Waiting | None] = []
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
        failures = 0
        while left := asks[len(found) :]:
            try:
                found += self._first_answers(left)
            except ServerAway as error:
                failures += 1
                if failures >= _ATTEMPTS and not self._leaves(error):
                    return found + [Answer(error=error)] * len(left)
        return found

    def _first_answers(self, asks: Sequence[Ask[Any]]) -> list[Answer]:
        """Return the answers to the first of *asks*: one, or those of pages recorded at once."""
        begin, at, pages = monotonic(), self.detector, list[Question]()
        try:
            if self._outage or not isinstance(asks[0], Question):
                values = [asks[0](at)]
                if self._outage:
                    self._outage.keep(asks[0], values[0])
            else:
                for ask in asks:
                    if not (isinstance(ask, Question) and _is_ready(ask, at, is_first=not pages)):
                        break
                    pages.append(ask)
                values = at.submit([ask.to_record(at) for ask in pages])
                for ask, verdict in zip(pages, values, strict=False):
                    ask.note(verdict)
        except ServerAway:
            raise
        except Exception as error:  # whatever it is, losing the first page would be worse
            return [Answer(error=error, seconds=monotonic() - begin)]
        seconds = (monotonic() - begin) / len(values)
        return [Answer(_named(one, at), at.run, None, seconds, bool(self._outage)) for one in values]

    # While the server is away

    def _leaves(self, reason: ServerAway) -> bool:
        """Ask a draft from now on; return False where none can be made."""
        server = self.detector
        try:
            draft = Draft(address_of(self._address), server.index.store.path)
            self._outage = _Outage(self._begin(draft, server.run), server)
        except IndexUnavailable as error:
            logger.error("The crawl cannot go on without the server: %s", error)
            return False
        logger.warning(
            "Pages are judged by what this machine knows until the server is back: %s", reason
        )
        self.detector = self._outage.draft
        self._next_look = monotonic() + RETRY
        return True

    def _look(self, outage: _Outage, *, ends: bool) -> None:
        """Tell the server what it has missed, if it is back; all of it where the crawl *ends*."""
        begin = monotonic()
        try:
            server = self._server = self._server or self._begin(open_index(self._address), None)
            if outage.tell(server, None if ends else _TOLD):
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
            self.unknown = outage.say_unknown()
            if self._server:
                with suppress(IndexUnavailable):
                    self._server.index.close()


def _is_ready(ask: Question, at: Detector, *, is_first: bool) -> bool:
    try:
        ask.tell_rest(at)
    except Exception as error:
        if is_first or isinstance(error, ServerAway):
            raise
        return False  # it is asked about once more, and first
    return True


class _Outage:
    """What a *draft* was asked while the server was away, of whose index *server* was the detector.

    It begins as the draft is made; without *server* the crawl began without it.
    """

    def __init__(self, draft: Detector, server: Detector | None) -> None:
        self.draft = draft
        # What was asked of the draft and not of the server yet, with the row recorded there.
        self._left: deque[tuple[Ask[Any], int | None]] = deque()
        self._pending: list[int] = []  # the rows whose fate the server did not know
        self._told = self._failed = self.twice = 0
        if server:
            draft.numbers, draft.names = dict(server.numbers), dict(server.names)
            # Another process may have read of them, and they are asked about again.
            draft.index.ledger.doubts += server.index.ledger.doubts
            self._pending = [row.id for row in draft.index.store.rows(PENDING_OF_RUN, draft.run.id)]

    def keep(self, ask: Ask[Any], value: Any) -> None:
        if isinstance(ask, Question):
            # Its text is in the draft, and would fill the memory.
            left = replace(ask, page=_NO_TEXT, raw=None, response=None, told_to=None)
            self._left.append((left, value.row))
        else:
            self._left.append((ask, None))

    def tell(self, server: Detector, most: int | None) -> bool:
        """Ask *server* what the draft was asked, *most* things; return whether nothing is left."""
        for _ in list(islice(self._left, most)):
            try:
                self._repeat(*self._left[0], server)
            except ServerAway:
                raise
            except Exception as error:  # of this the server does not know
                self._failed += 1
                if self._failed == 1:
                    logger.error("The server could not be told of all: %s", error, exc_info=error)
            self._left.popleft()
        if not self._left:
            logger.warning(
                "The server is back and knows of %d pages that were judged without it; %d of them were "
                "kept by others, too%s",
                *(self._told, self.twice),
                f"; {self._failed} times it could not be told" * bool(self._failed),
            )
        return not self._left

    def _repeat(self, ask: Ask[Any], number: int | None, server: Detector) -> None:
        if not isinstance(ask, Question):
            ask(server)
        elif number is None:  # it was to wait, and was asked about again
            ask.tell_rest(server)
        else:
            row, siblings = self.draft.index.row(number), ask.siblings
            found = replace(
                ask,
                page=self.draft.index.page_of(row) or _NO_TEXT,
                siblings=None if siblings is None else set(siblings),
                wait_for=frozenset(),
            )(server)
            assert found.row is not None
            server.name(found.row, number)
            self._told += 1
            self.twice += row.verdict.kept and not found.kept
            if found.kept and not row.verdict.kept:  # there is no item of it
                server.index.ledger.release(found.row)

    def say_unknown(self) -> int:
        """Log and return how many pages that were kept the server does not know."""
        numbers = [row for _, row in self._left if row is not None] + self._pending
        rows = self.draft.index.rows_of(numbers)
        kept = sum(row.verdict.kept and row.outcome is not Outcome.RELEASED for row in rows)
        logger.error(
            "The server has not come back: %d pages that were kept are not in the index, and the next "
            "crawl delivers them again",
            kept,
        )
        return kept


def _named(value: Any, at: Detector) -> Any:
    """Return a verdict with the numbers by which the crawl knows the rows that the page repeats."""
    if not (at.names and isinstance(value, Verdict) and value.canonical is not None):
        return value
    name, standing = at.names.get, value.standing
    if standing:
        standing = replace(standing, row=name(standing.row, standing.row))
    return replace(value, canonical=name(value.canonical, value.canonical), standing=standing)
