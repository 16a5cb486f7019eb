"""A crawl whose server goes away goes on with a draft of its index; the server learns of it later."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Event, Thread
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from dedup.index import Index, Run
from dedup.index.detector import Detector
from dedup.index.draft import Draft
from dedup.index.ledger import PENDING
from dedup.index.notes import UrlRules
from dedup.index.rows import StoredPage
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.verdict import Outcome, Verdict

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds between two looks whether the server is back.
RETRY = 1.0
# A connection that is cut, as by a firewall, can be made anew: only after so many failures it is away.
_ATTEMPTS = 2
# So many things are repeated on the server before the next pages are judged.
_AT_ONCE = 64
_NAMING = ("row", "canonical", "previous", "replaces", "represents")


class RowNumbers:
    """What the crawl calls rows that it has recorded without the server: -1, -2, ... in their order.

    They have other numbers in a draft than in the index; all other rows are called by their numbers.
    """

    def __init__(self, others: RowNumbers | None = None, new: Iterator[int] | None = None) -> None:
        self._rows: dict[int, int] = dict(others._rows) if others else {}
        self._names: dict[int, int] = dict(others._names) if others else {}
        self._new = new

    def begin(self, row: int) -> int:
        """Return what *row*, which was recorded just now, is called from now on."""
        if self._new is None:
            return row
        self.add(row, name := next(self._new))
        return name

    def add(self, row: int, name: int) -> None:
        """Call *row* by a *name*."""
        self._rows[name], self._names[row] = row, name

    def name(self, row: int) -> int:
        """Return what *row* is called."""
        return self._names.get(row, row)

    def rows(self, names: Iterable[int]) -> list[int]:
        """Return the rows of *names*; of what could not be recorded there is none."""
        found = (self._rows.get(name) if name < 0 else name for name in names)
        return [row for row in found if row is not None]

    def named(self, verdict: Verdict) -> Verdict:
        """Return *verdict* with the names of rows."""
        return _renumbered(verdict, self._names.get) if self._names else verdict

    def numbered(self, verdict: Verdict) -> Verdict:
        """Return *verdict*, which has names of rows, with their numbers."""
        return _renumbered(verdict, self._rows.get)


def _renumbered(verdict: Verdict, find: Callable[[int, int], int]) -> Verdict:
    given = {name: getattr(verdict, name) for name in _NAMING}
    new: dict[str, Any] = {name: row and find(row, row) for name, row in given.items()}
    if standing := verdict.standing:
        new["standing"] = replace(standing, row=find(standing.row, standing.row))
    return replace(verdict, **new)


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
    def url_rules(self) -> UrlRules:
        """What the index says of rules for URLs."""
        return UrlRules(self.index.store)

    @property
    def run(self) -> Run:
        """The run of the crawl there."""
        return self.detector.run


Ask = Callable[[OpenIndex], _T]


class Answer(NamedTuple, Generic[_T]):
    """What became of a question: its *value*, or an *error*, or neither where it was not asked.

    *run* is that of the crawl by then; *is_away* says that the server was not asked.
    """

    value: _T | None = None
    error: Exception | None = None
    seconds: float = 0.0
    run: Run | None = None
    is_away: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether an index was asked at all."""
        return self.seconds > 0


class Recorded(NamedTuple):
    """How a page was recorded in a draft, by a question whose answer is a verdict.

    *before* is what the same question told the index first.  Without a *row* it was not recorded.
    """

    before: Ask[object]
    row: int | None
    is_restored: bool = False
    siblings: frozenset[int] | None = None


class ServerIndex:
    """The index on a server, and while that is away a draft of it; one thread asks it.

    It begins with what is *opened*, which may be a draft.  *connect* opens the index on the server,
    *make_draft* a draft of that, *is_reachable* looks whether the server is there.  *poke* is called
    from another thread when there is something to do, *is_back* when the server is back: with the run of
    the crawl there, and how many of the pages that it has kept others had kept, too.
    """

    def __init__(
        self,
        opened: OpenIndex,
        *,
        connect: Callable[[], Detector],
        make_draft: Callable[[OpenIndex], Detector],
        is_reachable: Callable[[], bool],
        poke: Callable[[], object],
        is_back: Callable[[Run, int], object],
    ) -> None:
        is_draft = isinstance(opened.index, Draft)
        self._server: OpenIndex | None = None if is_draft else opened
        self._draft: OpenIndex | None = opened if is_draft else None
        self._names = count(-1, -1)
        if is_draft:
            opened.numbers = RowNumbers(new=self._names)
        self._connect, self._make_draft, self._is_reachable = connect, make_draft, is_reachable
        self._poke, self._tell = poke, is_back
        # What was asked of the draft and not of the server yet.
        self._left: deque[Recorded | Ask[Any]] = deque()
        # The rows that were pending when the server went away.
        self._pending: list[int] = []
        self._twice = self._recorded = self._failed = 0
        self._is_away = False
        self._may_be_back, self._closed = Event(), Event()
        if is_draft:
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
            return [Answer()] * len(asks)
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
            detector = self._make_draft(self._server)
            self._draft = draft = OpenIndex(detector, RowNumbers(self._server.numbers, self._names))
            # Another process may have read of them, and they are asked about again.
            draft.index.ledger.doubt(*self._server.index.ledger.doubts)
            self._pending = [row.id for row in draft.index.store.rows(PENDING, draft.run.id)]
        except IndexUnavailable as error:
            logger.error("The crawl cannot go on without the server: %s", error)
            failed = Answer[Any](error=reason, seconds=_answered_in(0))
            return [failed, *[Answer[Any]()] * (len(asks) - 1)]
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
            if self._is_reachable():
                self._may_be_back.set()
                self._poke()
                return

    # The draft

    def _of_draft(self, ask: Ask[Any]) -> Answer[Any]:
        assert self._draft is not None
        answer = _answer(ask, self._draft)._replace(is_away=True)
        self._keep(ask, answer)
        return _named(answer, self._draft.numbers)

    def _keep(self, ask: Any, answer: Answer[Any]) -> None:
        """Keep what was asked of the draft, and done, for the server; a page is recorded as it was."""
        if answer.error is None:
            found = answer.value
            self._left.append(ask.recorded(found.row) if isinstance(found, Verdict) else ask)

    # Back

    def _catch_up(self, most: int) -> None:
        """Repeat on the server what was asked of the draft, *most* things at once."""
        try:
            if self._server is None:
                self._server = OpenIndex(self._connect())
            for _ in range(min(most, len(self._left))):
                self._repeat(self._left[0], self._server)
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

    def _repeat(self, one: Recorded | Ask[Any], server: OpenIndex) -> None:
        try:
            if isinstance(one, Recorded):
                one.before(server)
                if one.row is not None:
                    self._record(one, one.row, server)
            else:
                one(server)
        except ServerAway:
            raise
        except Exception as error:  # of this page the server does not know
            self._failed += 1
            if self._failed == 1:
                logger.error("The server could not be told of all: %s", error, exc_info=error)

    def _record(self, one: Recorded, number: int, server: OpenIndex) -> None:
        assert self._draft is not None
        drafted, store = self._draft.numbers, self._draft.index.store
        row = store.row(number)
        verdict = server.numbers.numbered(drafted.named(row.verdict))
        if (verdict.canonical or 0) < 0:  # what it repeats could not be recorded
            return
        found = server.detector.repeat(
            replace(row, verdict=verdict, outcome=Outcome.CONFIRMED),
            next((stored.page for stored in store.select(StoredPage, row=number)), b""),
            is_restored=one.is_restored,
            siblings=None if one.siblings is None else server.numbers.rows(one.siblings),
        )
        assert found.row is not None
        server.numbers.add(found.row, drafted.name(number))
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
        self._tell(server.run, self._twice)

    def finish(self) -> None:
        """Tell the server of what is left, if it is there; no thread asks any more."""
        self._closed.set()
        if self._draft is None:
            return
        if self._is_reachable():
            self._catch_up(len(self._left))
        if self._draft:
            logger.error(
                "The server has not come back: %d pages that were kept are not in the index, and the "
                "next crawl delivers them again",
                self._unknown(),
            )

    def _unknown(self) -> int:
        """Return how many pages were kept that the server has not been told of."""
        assert self._draft is not None
        rows = [one.row for one in self._left if isinstance(one, Recorded) and one.row is not None]
        rows += self._pending
        found = self._draft.index.store.rows_of(rows)
        return sum(row.verdict.kept and row.outcome is not Outcome.RELEASED for row in found)

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
        return Answer(error=error, seconds=_answered_in(monotonic() - begin))
    return Answer(value, seconds=_answered_in(monotonic() - begin), run=at.run)


def _answered_in(seconds: float) -> float:
    return max(seconds, 1e-9)


def _named(answer: Answer[Any], numbers: RowNumbers) -> Answer[Any]:
    value = answer.value
    return answer._replace(value=numbers.named(value)) if isinstance(value, Verdict) else answer
