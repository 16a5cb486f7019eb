"""Which share of a host are copies of one page: many are the sign of a trap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from heapq import nlargest
from operator import itemgetter

from dedup.rule.loss import FEW_WORDS
from dedup.values.urls import host_of
from dedup.values.verdict import Verdict

# Fewer copies than this are not worth a warning.
MIN_COPIES = 20
# The share (0 to 1) of a host's pages from which on a page swallows too many.
LARGE_SHARE = 0.2
# A near-duplicate that loses more words than this may have a text of its own.
DOUBTFUL_WORDS = FEW_WORDS
# The name under which all hosts are counted together; no host has it.
_ALL = ""
# Hosts, and pages with copies, that are counted at a time; beyond it the smaller half is forgotten.
MAX_COUNTED = 10_000
# More notices than this say nothing new.
MAX_NOTICED = 100


def doubtful(verdict: Verdict) -> bool:
    """Return whether a copy may have a text of its own, which is lost with it.

    What stands on other pages that were kept is not lost.
    """
    return (verdict.nowhere or 0) > DOUBTFUL_WORDS


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


@dataclass(slots=True)
class _Host:
    """Pages *seen* of a host, how many of them are copies of each page, and how many are *doubtful*."""

    seen: int = 0
    doubtful: int = 0
    copies: Counter[int] = field(default_factory=Counter)


class Shares:
    """Counts of pages by host and of copies by page, in bounded memory."""

    def __init__(self, limit: float = LARGE_SHARE) -> None:
        self._limit = limit
        self._hosts: dict[str, _Host] = {}
        self._pages = 0
        self._noticed: dict[tuple[str, int], Swallowed] = {}
        self._all = _Host()
        self._doubted: set[str] = set()

    def page(self, url: str) -> None:
        """Count a page seen at *url*."""
        self._all.seen += 1
        self._host(url)[1].seen += 1

    def doubt(self, url: str) -> list[Swallowed]:
        """Count the page at *url* as a copy that is `doubtful`; return the shares over the limit.

        These are the share of its host and that of all hosts, named "", each for the first time.  They
        have no canonical.
        """
        name, host = self._host(url)
        notable = []
        for place, counts in ((name, host), (_ALL, self._all)):
            counts.doubtful += 1
            share = Swallowed(place, "", counts.doubtful, max(counts.doubtful, counts.seen))
            is_notable = counts.doubtful >= MIN_COPIES and share.share > self._limit
            if is_notable and place not in self._doubted and len(self._doubted) < MAX_NOTICED:
                self._doubted.add(place)
                notable.append(share)
        return notable

    def copy(self, url: str, canonical: int, canonical_url: str) -> Swallowed | None:
        """Count the page at *url* as a copy; return its share if it is over the limit, once."""
        name, host = self._host(url)
        host.copies[canonical] += 1
        copies = host.copies[canonical]
        swallowed = Swallowed(name, canonical_url, copies, max(copies, host.seen))
        if copies == 1:
            self._pages += 1
            self._forget_pages()
        is_first = (name, canonical) not in self._noticed
        if is_first and (
            copies < MIN_COPIES or swallowed.share <= self._limit or len(self._noticed) == MAX_NOTICED
        ):
            return None
        if is_first or copies > self._noticed[name, canonical].copies:
            self._noticed[name, canonical] = swallowed
        return swallowed if is_first else None

    def noticed(self) -> list[Swallowed]:
        """Return all shares that were over the limit at some time, the largest first."""
        noticed = []
        for (name, canonical), last in self._noticed.items():
            host = self._hosts.get(name, _Host())
            is_counted = host.copies[canonical] == last.copies
            noticed.append(replace(last, seen=max(last.copies, host.seen)) if is_counted else last)
        return sorted(noticed, key=lambda one: -one.copies)

    def _host(self, url: str) -> tuple[str, _Host]:
        name = host_of(url)
        if name not in self._hosts and len(self._hosts) >= MAX_COUNTED:
            large = nlargest(MAX_COUNTED // 2, self._hosts.items(), key=lambda entry: entry[1].seen)
            self._hosts = dict(large)
            self._pages = sum(len(host.copies) for host in self._hosts.values())
        return name, self._hosts.setdefault(name, _Host())

    def _forget_pages(self) -> None:
        """Keep the pages with most copies."""
        if self._pages <= MAX_COUNTED:
            return
        pages = [
            (copies, name, canonical)
            for name, host in self._hosts.items()
            for canonical, copies in host.copies.items()
        ]
        for host in self._hosts.values():
            host.copies.clear()
        for copies, name, canonical in nlargest(MAX_COUNTED // 2, pages, key=itemgetter(0)):
            self._hosts[name].copies[canonical] = copies
        self._pages = MAX_COUNTED // 2
