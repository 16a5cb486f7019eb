"""What waits: copies for the fate of the item that they repeat, requests for pages under way."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Generator
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.urls.parts import Parts

_T = TypeVar("_T")
# Crawlers of one process that share an index share its room, and have no other place for it.
_rooms: WeakValueDictionary[str, WaitingRoom] = WeakValueDictionary()
# Seconds that a request waits at most; once so many have waited in vain, no more do.
LONGEST_WAIT = 10.0
MOST_IN_VAIN = 3
# Pages that are known to be under way.
_MOST_PAGES = 10_000


class WaitingRoom:
    """Where copies wait for rows of one index to be settled.

    *runs* are the runs of this process: a copy can wait for their pending rows only.
    """

    def __init__(self) -> None:
        self.runs: set[int] = set()
        self._waiters: defaultdict[int, list[Waiter]] = defaultdict(list)

    def enter(self, row: int) -> Waiter:
        """Return a waiter that is called when *row* is settled, from now on."""
        waiter = Waiter()
        self._waiters[row].append(waiter)
        return waiter

    def is_awaited(self, row: int) -> bool:
        """Return whether a copy waits for *row*."""
        return row in self._waiters

    def settled(self, row: int) -> None:
        """Wake all copies that wait for *row*."""
        for waiter in self._waiters.pop(row, ()):
            waiter.call()

    def leave(self, run: int) -> None:
        """Wake all copies: *run* is over, and nothing of it is pending any more."""
        self.runs.discard(run)
        for row in list(self._waiters):
            self.settled(row)


class Future(Generic[_T]):
    """A value that comes later, to be awaited once."""

    def __init__(self) -> None:
        self._future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

    def come(self, value: _T) -> None:
        """Set the value, and let whoever awaits it go on."""
        if not self._future.done():  # else nobody waits any more
            self._future.set_result(value)

    def __await__(self) -> Generator[Any, None, _T]:
        """Return the value."""
        return self._future.__await__()


class Waiter:
    """A copy that waits for a row; the waiter may be called before the copy begins to wait.

    Scrapy 2.13 runs the coroutine of a pipeline in a task of its own, which begins after the copy was
    judged: by then the item that it repeats may have come through.
    """

    def __init__(self) -> None:
        self._is_called = False
        self._called: Future[bool] | None = None

    def call(self) -> None:
        """Wake the copy, now or as soon as it waits."""
        self._is_called = True
        if self._called:
            self._called.come(True)

    async def wait(self, seconds: float) -> bool:
        """Wait until the waiter is called; return False if it was not within *seconds*."""
        if self._is_called or seconds <= 0:
            return self._is_called
        self._called = Future()
        timer = asyncio.get_running_loop().call_later(seconds, self._called.come, False)
        try:
            return await self._called
        finally:
            timer.cancel()


def waiting_room(index: Index) -> WaitingRoom:
    """Return the room of *index*, one for all crawlers of this process."""
    name = str(index.path.resolve()) if isinstance(index, SQLiteIndex) else index.name
    return _rooms.setdefault(name, WaitingRoom())


class InFlight:
    """The pages of one crawl that are under way, by what rules leave of their URLs.

    At most *most* requests wait for them, for *seconds* each.
    """

    def __init__(self, most: int, seconds: float = LONGEST_WAIT) -> None:
        self._most = most
        self._seconds = seconds
        self._pages: dict[Parts, tuple[str, list[Waiter]]] = {}
        self._waiting = self._in_vain = 0

    def begin(self, key: Parts, signature: str) -> bool:
        """Note a page under way, and how it was requested; return False if another one of *key* is."""
        if key in self._pages or len(self._pages) >= _MOST_PAGES:
            return False
        self._pages[key] = (signature, [])
        return True

    def waiter(self, key: Parts, signature: str) -> Waiter | None:
        """Return where to wait for the page of *key*; None if none is under way, or too many wait."""
        asked, waiters = self._pages.get(key, ("", []))
        if asked != signature or self._waiting >= self._most or not self._seconds:
            return None
        waiters.append(waiter := Waiter())
        return waiter

    async def wait(self, waiter: Waiter) -> bool:
        """Wait until the fate of the page is known, but not for too long; return whether it is."""
        self._waiting += 1
        try:
            is_known = await waiter.wait(self._seconds)
        finally:
            self._waiting -= 1
        self._in_vain += not is_known
        if self._in_vain >= MOST_IN_VAIN:
            self._most = 0
        return is_known

    def ended(self, key: Parts) -> None:
        """Wake all that wait for *key*: its fate is known, or never will be."""
        for waiter in self._pages.pop(key, ("", []))[1]:
            waiter.call()

    def clear(self) -> None:
        """Wake all that wait."""
        for key in list(self._pages):
            self.ended(key)
