"""Where copies wait for the fate of the item that they repeat."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred


class WaitingRoom:
    """Where those sit who wait for rows of one index to be settled.

    *runs* are the runs of this process: what they leave pending can be waited for.
    """

    def __init__(self) -> None:
        self.runs: set[int] = set()
        self._seats: defaultdict[int, list[Seat]] = defaultdict(list)

    def enter(self, row: int) -> Seat:
        """Return a seat that is called when *row* is settled, from this moment on."""
        seat = Seat()
        self._seats[row].append(seat)
        return seat

    def settled(self, row: int) -> None:
        """Wake all that wait for *row*."""
        for seat in self._seats.pop(row, ()):
            seat.call()

    def leave(self, run: int) -> None:
        """Wake everybody: *run* is over, and with it whatever it left pending."""
        self.runs.discard(run)
        for row in list(self._seats):
            self.settled(row)


class Seat:
    """Who waits for a row; it may be called before it begins to wait.

    Scrapy 2.13 runs the coroutine of a pipeline in a task of its own, which begins later than
    the copy was judged: by then the item it repeats may be through.
    """

    def __init__(self) -> None:
        self._is_called = False
        self._wake: Callable[[], None] | None = None

    def call(self) -> None:
        """Wake whoever sits here, now or later."""
        self._is_called = True
        if self._wake:
            self._wake()

    async def wait(self, seconds: float) -> bool:
        """Wait until the seat is called; return False if it was not within *seconds*."""
        if self._is_called or seconds <= 0:
            return self._is_called
        return await (self._wait_asyncio if has_asyncio() else self._wait_twisted)(seconds)

    async def _wait_asyncio(self, seconds: float) -> bool:
        event = asyncio.Event()
        self._wake = event.set
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _wait_twisted(self, seconds: float) -> bool:
        from twisted.internet import reactor  # importing it at the top would install one

        settled: Deferred[bool] = Deferred()
        timer: Any = reactor.callLater(seconds, settled.callback, False)  # type: ignore[arg-type]

        def wake() -> None:
            if timer.active():
                timer.cancel()
                settled.callback(True)

        self._wake = wake
        return await maybe_deferred_to_future(settled)


# Crawlers of one process that share an index share its room; nothing else knows them all.
_rooms: WeakValueDictionary[str, WaitingRoom] = WeakValueDictionary()


def waiting_room(index: str) -> WaitingRoom:
    """Return the room of the index of that path, one for all crawlers of this process."""
    return _rooms.setdefault(index, WaitingRoom())


def has_asyncio() -> bool:
    """Return whether an asyncio loop is running; Scrapy's own function for this came with 2.14."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
