"""A crawl whose server goes away goes on with a draft of its index; the server learns of it later."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Event, Thread
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from dedup.index import Index, Run, Sighting
from dedup.index.address import address_of
from dedup.index.detector import Detector
from dedup.index.draft import Draft
from dedup.index.index import is_reachable, open_index
from dedup.index.ledger import PENDING
from dedup.index.rows import StoredPage
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.verdict import Outcome, Verdict
from dedup.reading.page import Page

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds between two looks whether the server is back.
RETRY = 1.0
# A connection that is cut, as by a firewall, can be made anew: only after so many failures it is away.
_ATTEMPTS = 2
# So many things are repeated on the server before the next pages are judged.
_AT_ONCE = 64
_NAMING = ("row", "canonical", "previous", "replaces", "represents", "nearest")


class RowNumbers:
    """What the crawl calls rows that it has recorded without the server: -1, -2, ... in their order.

    They have other numbers in a draft than in the index; all other rows are called by their numbers.
    """

    def __init__(self, others: RowNumbers | None = None, new: Iterator[int] | None = None) -> None:
        self.by_name: dict[int, int] = dict(others.by_name) if others else {}
        self.names: dict[int, int] = dict(others.names) if others else {}
        self._new = new

    def begin(self, row: int) -> int:
        """Return what *row*, which was recorded just now, is called from now on."""
        if self._new is None:
            return row
        name = next(self._new)
        self.add(row, name)
        return name

    def add(self, row: int, name: int) -> None:
        """Call *row* by a *name*."""
        self.by_name[name], self.names[row] = row, name

    def rows(self, names: Iterable[int]) -> list[int]:
        """Return the rows of *names*; of what could not be recorded there is none."""
        found = (self.by_name.get(name) if name < 0 else name for name in names)
        return [row for row in found if row is not None]


def _renumbered(verdict: Verdict, new: Mapping[int, int]) -> Verdict:
    """Return *verdict* with other names or numbers of rows, where *new* has them."""
    if not new:
        return verdict
    given = {name: getattr(verdict, name) for name in _NAMING}
    rows: dict[str, Any] = {name: row and new.get(row, row) for name, row in given.items()}
    if standing := verdict.standing:
        rows["standing"] = replace(standing, row=new.get(standing.row, standing.row))
    return replace(verdict, **rows)


@dataclass(slots=True)
class OpenIndex:
    """An index as a crawl asks it: by the *detector* of its run, with the *numbers* of rows there."""

    detector: Detector
    numbers: RowNumbers = field(default_factory=RowNumbers)

    @property
    def index(self) -> Index:
        """The index."""
        return self.detector.index

    @property
    def run(self) -> Run:
        """The run of the crawl there."""
        return self.detector.run


Ask = Callable[[OpenIndex], _T]


class Answer(NamedTuple, Generic[_T]):
    """What became of a question: its *value*, or an *error*, or neither where no index was asked.

    *run* is that of the crawl by then; *is_away* says that the server was not asked.
    """

    value: _T | None = None
    error: Exception | None = None
    seconds: float = 0.0
    run: Run | None = None
    is_away: bool = False
    is_asked: bool = True


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

    def before(self, at: OpenIndex) -> None:
        """Do all but to record the page."""
        self.first(at)
        if self.host is not None:
            at.detector.visit(self.host)

    def __call__(self, at: OpenIndex) -> Verdict:
        """Judge and record the page; the verdict has the numbers of that index."""
        # A file commits all at once; on a server others would wait for the lock.
        with nullcontext() if at.index.store.is_shared else at.index.batch():
            self.before(at)
            verdict = at.detector.submit(
                *(self.sighting, self.page),
                is_restored=self.is_restored,
                siblings=self.siblings_at(at),
                wait_for=self.wait_for,
            )
        if verdict.row is not None:
            name = at.numbers.begin(verdict.row)
            if self.siblings is not None:
                self.siblings.add(name)
        return verdict

    def siblings_at(self, at: OpenIndex) -> list[int] | None:
        """Return the rows that the siblings are there."""
        return None if self.siblings is None else at.numbers.rows(self.siblings)


class ServerIndex:
    """The index on a server, and while that is away a draft of it; one thread asks it.

    It begins with what is *opened* of its *address*, which may be a draft.  *begin* gives the detector
    of an index, with the run that goes on.  *poke* is called from another thread when there is something
    to do, *is_back* when the server is back: with the run of the crawl there, and how many of the pages
    that it has kept others had kept, too.
    """

    def __init__(
        self,
        opened: OpenIndex,
        address: str,
        begin: Callable[[Index, Run | None], Detector],
        poke: Callable[[], object],
        is_back: Callable[[Run, int], object],
    ) -> None:
        self._address, self._begin, self._poke, self._is_back = address, begin, poke, is_back
        is_draft = isinstance(opened.index, Draft)
        self._server: OpenIndex | None = None if is_draft else opened
        self._draft: OpenIndex | None = opened if is_draft else None
        self._names = count(-1, -1)
        # What was asked of the draft and not of the server yet, with the row recorded there.
        self._left: deque[tuple[Ask[Any], int | None]] = deque()
        # The rows that were pending when the server went away.
        self._pending: list[int] = []
        self._twice = self._recorded = self._failed = 0
        self._is_away = False
        self._may_be_back, self._closed = Event(), Event()
        if is_draft:
            opened.numbers = RowNumbers(new=self._names)
            self._go_away()

    @property
    def now(self) -> OpenIndex:
        """What is asked now."""
        found = self._draft or self._server
        assert found is not None
        return found

    def answers(self, asks: Sequence[Ask[Any]]) -> list[Answer[Any]]:
        """Return the answers to *asks*, in their order."""
        found = [] if self._draft else self._of_server(asks)
        found += [self._of_draft(ask) for ask in asks[len(found) :]]
        if self._draft and self._may_be_back.is_set():
            self._catch_up(_AT_ONCE)
        return found

    # The server

    def _of_server(self, asks: Sequence[Ask[Any]]) -> list[Answer[Any]]:
        """Return the answers to *asks*, fewer where the server went away and there is a draft now."""
        assert self._server is not None
        if self._is_away and not self._may_be_back.is_set():  # and no draft could be made
            return [Answer(is_asked=False)] * len(asks)
        found: list[Answer[Any]] = []
        safe, reason = 0, ServerAway("")
        for _ in range(_ATTEMPTS):
            try:
                with self._server.index.store.together():
                    safe = len(found)
                    for ask in asks[safe:]:
                        found += [_answer(ask, self._server)]
            except ServerAway as error:
                reason = error
            else:
                self._is_away = False
                return [_named(one, self._server.numbers) for one in found]
        return self._leave(reason, asks, found, safe)

    def _leave(
        self, reason: ServerAway, asks: Sequence[Ask[Any]], found: list[Answer[Any]], safe: int
    ) -> list[Answer[Any]]:
        """Go on with a draft; of what was *found* all but the first *safe* ones may be lost there."""
        assert self._server is not None
        self._go_away()
        try:
            made = Draft(address_of(self._address), self._server.index.store.path)
            numbers = RowNumbers(self._server.numbers, self._names)
            self._draft = draft = OpenIndex(self._begin(made, self._server.run), numbers)
            # Another process may have read of them, and they are asked about again.
            draft.index.ledger.doubt(*self._server.index.ledger.doubts)
            self._pending = [row.id for row in draft.index.store.rows(PENDING, draft.run.id)]
        except IndexUnavailable as error:
            logger.error("The crawl cannot go on without the server: %s", error)
            return [Answer(error=reason), *[Answer[Any](is_asked=False)] * (len(asks) - 1)]
        logger.warning(
            "Pages are judged by what this machine knows until the server is back: %s", reason
        )
        for ask, answer in zip(asks[safe:], found[safe:], strict=False):
            self._keep(ask, answer)
            if isinstance(answer.value, Verdict) and answer.value.row is not None:
                draft.numbers.begin(answer.value.row)
                self._server.index.ledger.doubt(draft.index.store.row(answer.value.row).sighting)
        return [_named(one, draft.numbers) for one in found]

    def _go_away(self) -> None:
        self._is_away = True
        self._recorded = self._twice = self._failed = 0
        self._wait_for_server()

    def _wait_for_server(self) -> None:
        self._may_be_back.clear()
        Thread(target=self._look, name="dedup outage", daemon=True).start()

    def _look(self) -> None:
        while not self._closed.wait(RETRY):
            if is_reachable(self._address):
                self._may_be_back.set()
                self._poke()
                return

    # The draft

    def _of_draft(self, ask: Ask[Any]) -> Answer[Any]:
        assert self._draft is not None
        answer = _answer(ask, self._draft)._replace(is_away=True)
        self._keep(ask, answer)
        return _named(answer, self._draft.numbers)

    def _keep(self, ask: Ask[Any], answer: Answer[Any]) -> None:
        """Keep what was asked of the draft, and done, for the server; a page is recorded as it was."""
        if answer.error is None:
            row = answer.value.row if isinstance(answer.value, Verdict) else None
            # Its text is in the draft, and would fill the memory while the server is away.
            self._left.append((replace(ask, page=None) if isinstance(ask, Submission) else ask, row))

    # Back

    def _catch_up(self, most: int) -> None:
        """Repeat on the server what was asked of the draft, *most* things at once."""
        try:
            if self._server is None:
                self._server = OpenIndex(self._begin(open_index(self._address), None))
            for _ in range(min(most, len(self._left))):
                self._repeat(*self._left[0], self._server)
                self._left.popleft()
        except ServerAway:
            self._wait_for_server()
        except IndexUnavailable as error:
            self._may_be_back.clear()
            logger.error("The index on the server cannot be used: %s", error)
        else:
            if self._left:
                self._poke()
            else:
                self._end_draft(self._server)

    def _repeat(self, ask: Ask[Any], row: int | None, server: OpenIndex) -> None:
        try:
            if not isinstance(ask, Submission):
                ask(server)
                return
            ask.before(server)
            if row is not None:
                self._record(ask, row, server)
        except ServerAway:
            raise
        except Exception as error:  # of this page the server does not know
            self._failed += 1
            if self._failed == 1:
                logger.error("The server could not be told of all: %s", error, exc_info=error)

    def _record(self, ask: Submission, number: int, server: OpenIndex) -> None:
        assert self._draft is not None
        drafted, store = self._draft.numbers, self._draft.index.store
        row = store.row(number)
        named = _renumbered(row.verdict, drafted.names)
        verdict = _renumbered(named, server.numbers.by_name)
        if (verdict.canonical or 0) < 0:  # what it repeats could not be recorded
            return
        found = server.detector.repeat(
            replace(row, verdict=verdict, outcome=Outcome.CONFIRMED),
            next((stored.page for stored in store.select(StoredPage, row=number)), b""),
            is_restored=ask.is_restored,
            siblings=ask.siblings_at(server),
        )
        assert found.row is not None
        server.numbers.add(found.row, drafted.names.get(number, number))
        self._recorded += 1
        self._twice += row.verdict.kept and not found.kept

    def _end_draft(self, server: OpenIndex) -> None:
        assert self._draft is not None
        self._draft.index.close()
        self._draft, self._is_away = None, False
        logger.warning(
            "The server is back and knows of %d pages that were judged without it; %d of them were kept "
            "by others, too%s",
            *(self._recorded, self._twice),
            f"; {self._failed} times it could not be told" * bool(self._failed),
        )
        self._is_back(server.run, self._twice)

    def finish(self) -> None:
        """Tell the server of what is left, if it is there; no thread asks any more."""
        self._closed.set()
        if self._draft is None:
            return
        if is_reachable(self._address):
            self._catch_up(len(self._left))
        if self._draft:
            rows = [row for _, row in self._left if row is not None] + self._pending
            unknown = [
                row
                for row in self._draft.index.store.rows_of(rows)
                if row.verdict.kept and row.outcome is not Outcome.RELEASED
            ]
            logger.error(
                "The server has not come back: %d pages that were kept are not in the index, and the "
                "next crawl delivers them again",
                len(unknown),
            )

    def close(self) -> None:
        """Close what is open."""
        for one in (self._draft, self._server):
            if one:
                try:
                    one.index.close()
                except IndexUnavailable as error:
                    logger.debug("The index could not be closed: %s", error)


def _answer(ask: Ask[Any], at: OpenIndex) -> Answer[Any]:
    """Return the answer of *at*; only that its server is away is raised."""
    begin = monotonic()
    try:
        value = ask(at)
    except ServerAway:
        raise
    except Exception as error:  # whatever it is, losing the page would be worse
        return Answer(error=error, seconds=monotonic() - begin)
    return Answer(value, seconds=monotonic() - begin, run=at.run)


def _named(answer: Answer[Any], numbers: RowNumbers) -> Answer[Any]:
    if not isinstance(answer.value, Verdict):
        return answer
    return answer._replace(value=_renumbered(answer.value, numbers.names))
