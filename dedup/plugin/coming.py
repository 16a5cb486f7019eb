"""Pages that are under way: a request that rules say brings one of them again may wait for it."""

from __future__ import annotations

from dedup.plugin.waiting import Seat
from dedup.urls.parts import Parts

# Seconds that a request waits at most; after so many that waited in vain none does any more.
LONGEST_WAIT = 10.0
MOST_IN_VAIN = 3
# Pages that are known to be under way.
_MOST_PAGES = 10_000


class Coming:
    """The pages under way of one crawl, by what rules leave of their URLs.

    At most *most* requests wait for them, for *seconds*.
    """

    def __init__(self, most: int, seconds: float = LONGEST_WAIT) -> None:
        self._most = most
        self._seconds = seconds
        self._pages: dict[Parts, tuple[str, list[Seat]]] = {}
        self._waiting = self._in_vain = 0

    def begin(self, key: Parts, signature: str) -> bool:
        """Note a page under way, and how it was requested; return False if another one of *key* is."""
        if key in self._pages or len(self._pages) >= _MOST_PAGES:
            return False
        self._pages[key] = (signature, [])
        return True

    def seat(self, key: Parts, signature: str) -> Seat | None:
        """Return where to wait for the page of *key*; None if none is under way, or too many wait."""
        asked, seats = self._pages.get(key, ("", []))
        if asked != signature or self._waiting >= self._most or not self._seconds:
            return None
        seats.append(seat := Seat())
        return seat

    async def wait(self, seat: Seat) -> bool:
        """Wait until the fate of the page is known, but not for too long; return whether it is."""
        self._waiting += 1
        try:
            is_known = await seat.wait(self._seconds)
        finally:
            self._waiting -= 1
        self._in_vain += not is_known
        if self._in_vain >= MOST_IN_VAIN:
            self._most = 0
        return is_known

    def ended(self, key: Parts) -> None:
        """Let all go on that wait for *key*: its fate is known, or nobody will know it."""
        for seat in self._pages.pop(key, ("", []))[1]:
            seat.call()

    def clear(self) -> None:
        """Let all go on."""
        for key in list(self._pages):
            self.ended(key)
