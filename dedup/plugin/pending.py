"""Rows under way: copies in this process wait for them, or are asked for again if they are lost."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request

from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.model.verdict import Standing

# Crawlers of one process that share an index share this, and have no other place for it.
_of_indexes: WeakValueDictionary[str, Pending] = WeakValueDictionary()
# So many rows are settled in one transaction.
_TOGETHER = 200


class Copy(NamedTuple):
    """A page dropped as *row* for one that was pending, and how to get it again."""

    row: int
    request: Request


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

    def is_open(self, standing: Standing) -> bool:
        """Return whether the fate of the row of *standing* is unknown, and will be known here."""
        return standing.row in self.runs.get(standing.run, ())

    def note_copy(self, standing: Standing, copy: Copy) -> None:
        """Note a *copy* that was dropped for a row that is pending."""
        self._copies[standing.row].append(copy)

    def settle(self, row: int, *, kept: bool) -> None:
        """Note the fate of *row*, and wake the copies that wait for it."""
        self.fates[row] = kept
        for rows in self.runs.values():
            if event := rows.pop(row, None):
                event.set()

    async def wait(self, standing: Standing, seconds: float) -> None:
        """Wait until the fate of the row of *standing* is known, for so many seconds at most."""
        if event := self.runs.get(standing.run, {}).get(standing.row):
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)

    def take(self) -> dict[int, bool]:
        """Return the fates that are to be recorded now, only one after a failure."""
        rows = list(islice(self.fates, 1 if self._has_failed else _TOGETHER))
        return {row: self.fates.pop(row) for row in rows}

    def copies(self, fates: Mapping[int, bool]) -> list[Copy]:
        """Return the copies that were dropped for what turned out to be lost."""
        return [copy for row, kept in fates.items() if not kept for copy in self._copies.get(row, ())]

    def recorded(self, fates: Mapping[int, bool], *, is_done: bool) -> None:
        """Forget *fates*, or if they are not in the index, keep them for later, after the others."""
        for row, kept in fates.items():
            if is_done:
                self._copies.pop(row, None)
            else:
                self.fates.setdefault(row, kept)
        self._has_failed = bool(self.fates) and (self._has_failed or not is_done)

    def go_on(self, run: int, other: int) -> None:
        """Note that the *other* run goes on in the place of *run*."""
        self.runs[other] = self.runs.pop(run, {})

    def leave(self, run: int) -> None:
        """Wake all copies that wait for rows of *run*: it is over, and nothing of it is pending."""
        for event in self.runs.pop(run, {}).values():
            event.set()


def pending_of(index: Index) -> Pending:
    """Return the rows of *index* that are under way, the same for all crawlers of this process."""
    name = str(index.path.resolve()) if isinstance(index, SQLiteIndex) else index.name
    return _of_indexes.setdefault(name, Pending())
