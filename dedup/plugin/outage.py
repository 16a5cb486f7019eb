"""A crawl whose server goes away goes on with a draft of its index; the server is told of it later."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from dedup.index import Run, Sighting
from dedup.index.detector import Detector
from dedup.index.ledger import PENDING, Asked
from dedup.model.errors import ServerAway
from dedup.model.verdict import Outcome, Verdict
from dedup.reading.page import Page

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
Ask = Callable[[Detector], _T]
"""What is asked of the index, by the detector of a crawl."""


@dataclass(slots=True)
class Submission:
    """Records the page of *sighting*, after it did *first*, such as to tell the fates of other rows.

    *host* is one that the crawl was not on before, None for none.  *wait_for* are the runs of which a
    pending row is not repeated, see `Ledger.find_or_add`.
    """

    sighting: Sighting
    page: Page | None
    first: Ask[object]
    host: str | None
    is_restored: bool
    siblings: set[int] | None
    wait_for: frozenset[int]
    told_to: Detector | None = None
    """Who was told all but the page."""

    def before(self, at: Detector) -> None:
        """Do all but to record the page, once."""
        if self.told_to is not at:
            self.first(at)
            if self.host is not None:
                at.visit(self.host)
            self.told_to = at

    def asked(self, at: Detector) -> Asked:
        """Return how the index of *at* is asked to record the page."""
        siblings = None if self.siblings is None else at.rows(self.siblings)
        return Asked(self.sighting, at.stored(self.page), self.is_restored, siblings, self.wait_for)

    def note(self, verdict: Verdict) -> None:
        """Note the row of the page for those of the same response."""
        if verdict.row is not None and self.siblings is not None:
            self.siblings.add(verdict.row)

    def __call__(self, at: Detector) -> Verdict:
        """Judge and record the page."""
        # A file commits all at once; on a server others would wait for the lock.
        with nullcontext() if at.index.store.is_shared else at.index.batch():
            self.before(at)
            [verdict] = at.submit_first([self.asked(at)])
        self.note(verdict)
        return verdict


class Answer(NamedTuple):
    """What became of a question: its *value* and the *run* of the crawl by then, or an *error*.

    *is_away* says that a draft was asked.
    """

    value: Any = None
    run: Run | None = None
    error: Exception | None = None
    seconds: float = 0.0
    is_away: bool = False


class Outage:
    """What a *draft* was asked while the server was away, of whose index *server* was the detector.

    It begins as the draft is made; without *server* the crawl began without it.
    """

    def __init__(self, draft: Detector, server: Detector | None) -> None:
        self.draft = draft
        # What was asked of the draft and not of the server yet, with the row recorded there.
        self._left: deque[tuple[Ask[Any], int | None]] = deque()
        # The rows whose fate the server did not know.
        self._pending: list[int] = []
        self._told = self._failed = self.twice = 0
        if server:
            draft.numbers, draft.names = dict(server.numbers), dict(server.names)
            # Another process may have read of them, and they are asked about again.
            draft.index.ledger.doubt_with(server.index.ledger)
            self._pending = [row.id for row in draft.index.store.rows(PENDING, draft.run.id)]

    def keep(self, ask: Ask[Any], value: Any) -> None:
        """Keep for the server what was asked of the draft."""
        if isinstance(ask, Submission):
            # Its text is in the draft, and would fill the memory.
            self._left.append((replace(ask, page=None, told_to=None), value.row))
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
        return not self._left

    def _repeat(self, ask: Ask[Any], number: int | None, server: Detector) -> None:
        if not isinstance(ask, Submission):
            ask(server)
        elif number is None:  # it was to wait, and was asked about again
            ask.before(server)
        else:
            row, siblings = self.draft.index.row(number), ask.siblings
            found = replace(
                ask,
                page=self.draft.index.page_of(row),
                siblings=None if siblings is None else set(siblings),
                wait_for=frozenset(),
            )(server)
            assert found.row is not None
            server.name(found.row, number)
            self._told += 1
            self.twice += row.verdict.kept and not found.kept
            if found.kept and not row.verdict.kept:  # there is no item of it
                server.index.ledger.release(found.row)

    def say_end(self) -> None:
        """Log that the server is back."""
        logger.warning(
            "The server is back and knows of %d pages that were judged without it; %d of them were kept "
            "by others, too%s",
            *(self._told, self.twice),
            f"; {self._failed} times it could not be told" * bool(self._failed),
        )

    def say_unknown(self) -> None:
        """Log how many pages that were kept the server does not know."""
        numbers = [row for _, row in self._left if row is not None] + self._pending
        rows = self.draft.index.rows_of(numbers)
        kept = sum(row.verdict.kept and row.outcome is not Outcome.RELEASED for row in rows)
        logger.error(
            "The server has not come back: %d pages that were kept are not in the index, and the next "
            "crawl delivers them again",
            kept,
        )


def named(verdict: Verdict, at: Detector) -> Verdict:
    """Return *verdict* with the numbers by which the crawl knows the rows that the page repeats."""
    if not at.names or verdict.canonical is None:
        return verdict
    name, standing = at.names.get, verdict.standing
    if standing:
        standing = replace(standing, row=name(standing.row, standing.row))
    known = name(verdict.canonical, verdict.canonical)
    return replace(verdict, canonical=known, standing=standing)
