"""Where copies wait for the fate of the item that they repeat."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any
from weakref import WeakValueDictionary

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred


class WaitingRoom:
    """Coroutines that wait for rows of one index to be settled, with or without asyncio.

    *runs* are the runs of this process: what they leave pending can be waited for.
    """

    def __init__(self) -> None:
        self.runs: set[int] = set()
        self._wakers: defaultdict[int, list[Any]] = defaultdict(list)

    async def wait(self, row: int, seconds: float) -> bool:
        """Wait until *row* is settled; return False if it was not within *seconds*."""
        if seconds <= 0:
            return False
        wait = self._wait_asyncio if has_asyncio() else self._wait_twisted
        return await wait(row, seconds)

    def settled(self, row: int) -> None:
        """Wake all that wait for *row*."""
        for wake in self._wakers.pop(row, ()):
            wake()

    def leave(self, run: int) -> None:
        """Wake everybody: *run* is over, and with it whatever it left pending."""
        self.runs.discard(run)
        for row in list(self._wakers):
            self.settled(row)

    async def _wait_asyncio(self, row: int, seconds: float) -> bool:
        event = asyncio.Event()
        self._wakers[row].append(event.set)
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _wait_twisted(self, row: int, seconds: float) -> bool:
        from twisted.internet import reactor  # importing it at the top would install one

        settled: Deferred[bool] = Deferred()
        timer: Any = reactor.callLater(seconds, settled.callback, False)  # type: ignore[arg-type]

        def wake() -> None:
            if timer.active():
                timer.cancel()
                settled.callback(True)

        self._wakers[row].append(wake)
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
