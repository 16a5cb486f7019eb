"""What waits: requests for pages under way."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, Generic, TypeVar

from dedup.urls.parts import Parts

_T = TypeVar("_T")
# Seconds that a request waits at most; once so many have waited in vain, no more do.
LONGEST_WAIT = 10.0
MOST_IN_VAIN = 3
# Pages that are known to be under way.
_MOST_PAGES = 10_000


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
