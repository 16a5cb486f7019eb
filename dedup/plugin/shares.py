"""How much of a site one page swallows: the sign of a template trap, or of a real one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

Key = TypeVar("Key", bound=Hashable)

# Fewer copies than this are no sign of anything.
MIN_COPIES = 20
# Hosts, and pages with copies, that are counted at a time; beyond it the smallest are let go.
MAX_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class Swallowed:
    """*copies* of the *seen* pages of a host were taken for copies of one page."""

    host: str
    canonical_url: str
    copies: int
    seen: int

    @property
    def share(self) -> float:
        """The share of the host's pages, 0 to 1."""
        return min(1.0, self.copies / self.seen)


class Shares:
    """Counts of pages by host and of copies by page, in bounded memory."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._seen: Counter[str] = Counter()
        self._copies: Counter[tuple[str, int]] = Counter()
        self._noticed: dict[tuple[str, int], str] = {}

    def page(self, url: str) -> None:
        """Count a page seen at *url*."""
        _count(self._seen, _host(url))

    def copy(self, url: str, canonical: int, canonical_url: str) -> Swallowed | None:
        """Count the page at *url* as a copy; return what is over the limit for the first time."""
        pair = (_host(url), canonical)
        _count(self._copies, pair)
        found = self._swallowed(pair, canonical_url)
        if pair in self._noticed or found.copies < MIN_COPIES or found.share <= self._limit:
            return None
        self._noticed[pair] = canonical_url
        return found

    def noticed(self) -> list[Swallowed]:
        """Return all that was over the limit once, with the counts of now, the largest first."""
        found = [self._swallowed(pair, url) for pair, url in self._noticed.items()]
        return sorted(found, key=lambda one: -one.copies)

    def _swallowed(self, pair: tuple[str, int], canonical_url: str) -> Swallowed:
        copies = self._copies[pair]
        return Swallowed(pair[0], canonical_url, copies, max(copies, self._seen[pair[0]]))


def _count(counter: Counter[Key], key: Key) -> None:
    counter[key] += 1
    if len(counter) > MAX_COUNTED:
        largest = counter.most_common(MAX_COUNTED // 2)
        counter.clear()
        counter.update(dict(largest))


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
