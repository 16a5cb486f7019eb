"""What waits: values that come later, and events."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


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
