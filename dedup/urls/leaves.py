"""Which parts of a site have an end: their pages lead to hardly any address that was not known.

A trap without end names new addresses all the time.  Pages that name fewer than one other on average
come to an end however many there are, as families do that have fewer children than members.  Only pages
that bring nothing new are counted: the others are worth their visit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

from dedup.urls.budget import LOOKS_OF_A_KIND, address_of

MOST_LEAVES = 5_000  # of a host are visited because their part of the site has an end
PAGES_PER_NEW_ADDRESS = 2  # of a part with an end, on average
LEAVES_PER_PAGE = 2  # new addresses more, where these are the end: pages that name no others
_MOST_PARTS = 100_000


class Link(NamedTuple):
    """A link to *url*, *depth* links from a start page, on the page that *named* it first.

    Where that page is not known, *named* is *url*.
    """

    url: str
    depth: int
    named: str

    @property
    def parts(self) -> tuple[str, str]:
        """The parts of the site that the address is in, the narrower one first."""
        return _parts(self.url, self.depth)

    @property
    def origin(self) -> tuple[str, str]:
        """The parts of the site that the page is in which named it; its own where that is not known."""
        return _parts(self.named, self.depth - 1) if self.named != self.url else self.parts


class Leaves:
    """Counts the pages of each part of a site that were visited in vain, and what new they named.

    A part is a first folder, or the names in a query, and narrower, what of it is as far from the start.
    """

    def __init__(self) -> None:
        self._in_vain: Counter[str] = Counter()
        self._named: Counter[str] = Counter()
        # By the part that named and the part that was named, in one text.
        self._between: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._pages: set[int] = set()

    def state(self) -> list[Any]:
        """Return all of it as JSON can keep it."""
        return [self._in_vain, self._named, self._between, self._taken, sorted(self._pages)]

    def restore(self, state: list[Any]) -> None:
        """Go on with what `state` gave."""
        *counts, pages = state
        self._in_vain, self._named, self._between, self._taken = map(Counter, counts)
        self._pages = set(pages)

    def in_vain(self, url: str, depth: int) -> None:
        """Count the page at *url*, which has brought nothing new."""
        if len(self._pages) < _MOST_PARTS:
            self._pages.add(_mark(url))
            _count(self._in_vain, _parts(url, depth))

    def named(self, link: Link) -> None:
        """Count a *link* to an address that was not known, if its page has brought nothing new."""
        if link.named == link.url or _mark(link.named) in self._pages:
            _count(self._named, link.origin)
            pairs = zip(link.origin, link.parts, strict=True)
            _count(self._between, (f"{origin}\n{part}" for origin, part in pairs))

    def chosen(self, parked: Callable[[], Iterable[Link]]) -> set[str]:
        """Return the addresses to visit, of all that are *parked*.

        Their part of the site has an end, and the part of the page that named them is complete.  As many
        are chosen as were visited of their part, so what is wrongly taken for an end costs little.
        """
        ends = self._ends()
        open_parts = self._open(Counter(chain.from_iterable(link.parts for link in parked())), ends)
        room = Counter(self._in_vain)
        found: set[str] = set()
        for link in parked():
            (near, whole), (origin_near, origin) = link.parts, link.origin
            if (origin_near if origin == whole else origin) in open_parts or link.url in found:
                continue
            part = next((part for part in (whole, near) if part in ends), "")
            host = part.partition("/")[0]
            if part and room[part] > 0 and self._taken[host] < MOST_LEAVES:
                room[part] -= 1
                self._taken[host] += 1
                found.add(link.url)
        return found

    def _ends(self) -> set[str]:
        """Return the parts with an end: those that name no others, and those that name such ones."""
        leaves = {part for part in self._in_vain if self._has_end(part, self._named[part])}
        beyond = Counter(self._named)
        for pair, number in self._between.items():
            origin, _, part = pair.partition("\n")
            beyond[origin] -= number * (part in leaves)
        few = (
            part for part in self._in_vain if self._named[part] <= LEAVES_PER_PAGE * self._in_vain[part]
        )
        return leaves | {part for part in few if self._has_end(part, beyond[part])}

    def _open(self, waiting: Counter[str], ends: set[str]) -> set[str]:
        """Return the parts of which more is *waiting*, or may be named: half comes from such parts."""
        sources = waiting.keys() - ends
        fed: Counter[str] = Counter()
        for pair, number in self._between.items():
            origin, _, part = pair.partition("\n")
            fed[part] += number * (origin != part and origin in sources)
        return waiting.keys() | {part for part in fed if fed[part] * 2 > self._in_vain[part]}

    def _has_end(self, part: str, named: int) -> bool:
        visited = self._in_vain[part]
        return visited >= LOOKS_OF_A_KIND and named * PAGES_PER_NEW_ADDRESS <= visited


def _parts(url: str, depth: int) -> tuple[str, str]:
    address = address_of(url)
    whole = address.patterns[address.kind]
    return f"{whole} {depth}", whole


def _count(counts: Counter[str], names: Iterable[str]) -> None:
    for name in names:
        if name in counts or len(counts) < _MOST_PARTS:
            counts[name] += 1


def _mark(url: str) -> int:
    return crc32(url.encode("utf-8", "surrogatepass"))
