"""Rows under way: copies in this process wait for them, or are asked for again if they are lost."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request

from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.model.row import NoSuchRow
from dedup.model.verdict import Standing
from dedup.plugin.outage import OpenIndex

# Crawlers of one process that share an index share this, and have no other place for it.
_of_indexes: WeakValueDictionary[str, Pending] = WeakValueDictionary()
# So many rows are settled in one transaction.
_TOGETHER = 200


class Copy(NamedTuple):
    """A page dropped as *row* for one that was pending, and how to get it again."""

    row: int
    request: Request


@dataclass(frozen=True, slots=True)
class Fates:
    """Which rows were *kept*, and the *copies* that were dropped for those that were not."""

    kept: dict[int, bool]
    copies: list[Copy]

    def __call__(self, at: OpenIndex) -> bool:
        """Confirm or release the rows; the copies of lost ones are wanted back."""
        index, rows = at.index, at.numbers.rows
        if kept := rows(row for row, is_kept in self.kept.items() if is_kept):
            with suppress(NoSuchRow):  # the others are confirmed all the same
                index.ledger.confirm(*sorted(kept))
        if lost := rows(row for row, is_kept in self.kept.items() if not is_kept):
            with index.store.transaction(writing=True):
                index.ledger.take_back(lost)
                index.ledger.restore_copies(rows(copy.row for copy in self.copies))
        return True


class Pending:
    """The rows that this process has under way in one index, by their runs: *runs*.

    Each has an event, which is set as soon as its fate is known.  What is not in the index yet
    is recorded in the transaction of the next question, so nobody hears that such a row is pending.
    """

    def __init__(self) -> None:
        self.runs: dict[int, dict[int, asyncio.Event]] = {}
        self.fates: dict[int, bool] = {}
        """Whether rows were kept, of those whose fate is known and not in the index."""
        self._copies: defaultdict[int, list[Copy]] = defaultdict(list)
        self._has_failed = False

    def begin(self, run: int, row: int) -> None:
        """Note that *row* of *run* is pending."""
        if (rows := self.runs.get(run)) is not None:
            rows[row] = asyncio.Event()

    def note_copy(self, standing: Standing, copy: Copy) -> None:
        """Note a *copy* that was dropped for a row, if that is pending here."""
        if standing.row in self.runs.get(standing.run, ()):
            self._copies[standing.row].append(copy)

    async def wait(self, standing: Standing, seconds: float) -> None:
        """Wait until the fate of the row of *standing* is known, for so many seconds at most."""
        if event := self.runs.get(standing.run, {}).get(standing.row):
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)

    def settle(self, row: int, *, kept: bool) -> None:
        """Note the fate of *row*, and wake the copies that wait for it."""
        self.fates[row] = kept
        for rows in self.runs.values():
            if event := rows.pop(row, None):
                event.set()

    def take(self) -> Fates:
        """Return the fates that are to be recorded now, only one after a failure."""
        rows = list(islice(self.fates, 1 if self._has_failed else _TOGETHER))
        kept = {row: self.fates.pop(row) for row in rows}
        return Fates(kept, [one for row in rows if not kept[row] for one in self._copies.get(row, ())])

    def recorded(self, fates: Fates, *, is_done: bool) -> None:
        """Forget *fates*, or if they are not in the index, keep them for later, after the others."""
        for row, kept in fates.kept.items():
            if is_done:
                self._copies.pop(row, None)
            else:
                self.fates.setdefault(row, kept)
        self._has_failed = bool(self.fates) and (self._has_failed or not is_done)

    def leave(self, run: int) -> None:
        """Wake all copies that wait for rows of *run*: it is over, and nothing of it is pending."""
        for event in self.runs.pop(run, {}).values():
            event.set()


def pending_of(index: Index) -> Pending:
    """Return the rows of *index* that are under way, the same for all crawlers of this process."""
    name = str(index.path.resolve()) if isinstance(index, SQLiteIndex) else index.name
    return _of_indexes.setdefault(name, Pending())
