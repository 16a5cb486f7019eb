"""How many pages of each pattern of addresses a crawl looks at, learned from what they bring.

A site without end makes addresses of few patterns: a calendar, filters in any order, ids of sessions.
While the pages of a pattern bring something new, all of them are looked at.  When they do not, there are
a few more looks each time the number of addresses doubles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from heapq import nlargest
from itertools import chain
from math import inf, log2
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from dedup.model.hashes import murmur3
from dedup.prints.fingerprinter import ONE_IN, sampled

FIRST_LOOKS = 12  # in a row that may bring nothing, however few addresses there are
LOOKS_PER_DOUBLING = 3  # more, each time the number of addresses that were met has doubled
HOST_SHARE = 4  # times as much for all patterns of a host together that have brought nothing yet
LOOKS_OF_A_KIND = 2  # that each part of a site has, whatever others like it have brought
MAX_PATTERNS = 1_000  # of a host; beyond it the half with fewer addresses is forgotten
MAX_HOSTS = 2_000  # with patterns of their own; all others are taken for one
MAX_DEPTH = 100  # links from a start page
MAX_REPEATS = 3  # of the same segment in a path
NEWS = 24  # a page is new with about so many phrases that no page of its host had before

_PLACES = 1 << 21
# A word with two digits is an id or a date; elsewhere a number is a number.
_ID = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]*[0-9][A-Za-z]*[0-9][0-9A-Za-z]*")
# A counter or a date is always new; the digit comes first, as a border is searched for more slowly.
_NUMBER, ALONE = re.compile(r"[0-9]+"), re.compile(r"[0-9](?<!\w[0-9])[0-9]*+\b")
_MOST_FOLDERS = 3
_OTHERS = "(other hosts)"


def patterns_of_url(url: str) -> tuple[tuple[str, ...], int]:
    """Return the patterns of *url*, the widest first: its host, its folders and its path, or its query.

    Numbers and ids are ``#``.  A path in which a segment comes again is like all others that go on from
    there.  The number is that of the pattern that tells the parts of a site apart: the first folder, or
    the names in the query.

    >>> patterns_of_url("http://a.example/wiki/page/12.html")
    (('a.example/*', 'a.example/wiki/*', 'a.example/wiki/page/*', 'a.example/wiki/page/#.html'), 1)
    >>> patterns_of_url("http://a.example/wiki/12?sort=up&id=3")
    (('a.example/*', 'a.example/*?*', 'a.example/*?id&sort', 'a.example/wiki/#?id&sort'), 2)
    >>> patterns_of_url("http://a.example/a/b/a/b/c")[0][-1]
    'a.example/a/b/(again)'
    """
    host, path, query = _split(url)
    shapes: list[str] = []
    met: set[str] = set()
    for segment in path.split("/")[1:]:
        if segment in met:
            shapes.append("(again)")
            break
        if segment and not segment.isdecimal():
            met.add(segment)
        shapes.append(_shape(segment))
    whole = "/".join([host, *shapes])
    if query:
        names = "&".join(sorted({_shape(piece.partition("=")[0]) for piece in re.split("[&;]", query)}))
        return (f"{host}/*", f"{host}/*?*", f"{host}/*?{names}", f"{whole}?{names}"), 2
    folders = range(1, min(len(shapes) - 1, _MOST_FOLDERS) + 1)
    within = (f"{host}/{'/'.join(shapes[:number])}/*" for number in folders)
    return (f"{host}/*", *within, whole), min(1, len(folders))


def _shape(segment: str) -> str:
    """Return *segment* without what tells pages of one kind apart: ``lens-#.html``."""
    return _NUMBER.sub("#", _ID.sub("#", segment))


def _split(url: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", "/", ""
    return parts.netloc.rpartition("@")[2].lower(), parts.path or "/", parts.query


def beyond(url: str, depth: int) -> str:
    """Return what *url*, so many links from a start page, is too much of, "" if it is within limits."""
    host, path, _ = _split(url)
    segments = Counter(segment for segment in path.split("/") if segment and not segment.isdecimal())
    if depth > MAX_DEPTH:
        return f"{host}/* (more than {MAX_DEPTH} links from the start)"
    is_repeated = max(segments.values(), default=0) > MAX_REPEATS
    return f"{host}/* (a segment more than {MAX_REPEATS} times)" if is_repeated else ""


@dataclass(slots=True)
class Budget:
    """How many addresses were *met* and *looks* made, and how many of the last looks were *in_vain*."""

    met: int = 0
    looks: int = 0
    in_vain: int = 0

    @property
    def most(self) -> float:
        """How many looks in a row may be in vain."""
        return FIRST_LOOKS + LOOKS_PER_DOUBLING * log2(1 + self.met)


@dataclass(slots=True)
class _Pattern:
    """A pattern: the budget of its *own* addresses, and of all *below* it that have brought nothing."""

    has_news: bool = False
    own: Budget = field(default_factory=Budget)
    below: Budget = field(default_factory=Budget)


class Budgets:
    """The budgets of a crawl, by pattern.

    A pattern that has brought something new has a budget of its own.  Others share those of the patterns
    around them, up to the narrowest that has brought something, and one of the host.  So the looks that
    bring nothing are at most some multiple of those that do, and of the logarithm of the addresses met.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, dict[str, _Pattern]] = {}

    def ask(self, url: str, *, is_met: bool = False, is_leaf: bool = False) -> str:
        """Count a look at *url*, and return "", or the pattern whose budget does not allow it.

        *is_met* says that the address was counted before, *is_leaf* that it is looked at in any case.
        """
        budgets = list(self._asked(url))
        for _, budget, _ in budgets:
            budget.met += not is_met
        for name, budget, share in budgets:
            if budget.in_vain >= share * budget.most and not is_leaf:
                return name
        for _, budget, _ in budgets:
            budget.looks += 1
            budget.in_vain += not is_leaf
        return ""

    def credit(self, url: str) -> dict[str, int]:
        """Note that the page at *url* brought something new; return how many looks each pattern has."""
        filled: dict[str, int] = {}
        names, _, patterns = self._patterns(url)
        root, own = patterns[0], patterns[-1]
        had_news = is_known = own.has_news
        for name, pattern in zip(reversed(names), reversed(patterns), strict=True):
            full = [pattern.own] if pattern is own else []
            if (pattern is not own and not had_news) or (pattern is root and not is_known):
                full.append(pattern.below)
            for budget in full:
                budget.in_vain = 0
                filled[name] = int(budget.most)
            had_news, pattern.has_news = pattern.has_news, True
        return filled

    def _asked(self, url: str) -> Iterator[tuple[str, Budget, float]]:
        """Yield the budgets that *url* is looked at from, each with its name and share."""
        names, kind, patterns = self._patterns(url)
        yield names[-1], patterns[-1].own, 1
        if patterns[-1].has_news:
            return
        is_first = patterns[kind].below.looks < LOOKS_OF_A_KIND and kind > 0
        for name, pattern in zip(names[-2:0:-1], patterns[-2:0:-1], strict=True):
            yield name, pattern.below, inf if is_first else 1
            if pattern.has_news:
                break
        yield names[0], patterns[0].below, HOST_SHARE

    def _patterns(self, url: str) -> tuple[tuple[str, ...], int, list[_Pattern]]:
        names, kind = patterns_of_url(url)
        host = names[0].partition("/")[0]
        if host not in self._hosts and len(self._hosts) >= MAX_HOSTS:
            host, names, kind = _OTHERS, (f"{_OTHERS}/*", f"{_OTHERS}/"), 0
        known = self._hosts.setdefault(host, {})
        if len(known) + len(names) > MAX_PATTERNS:
            first, *_ = known  # that of the whole host
            met = {name: pattern.own.met + pattern.below.met for name, pattern in known.items()}
            kept = dict.fromkeys([first, *nlargest(MAX_PATTERNS // 2, met, key=met.__getitem__)])
            known = self._hosts[host] = {name: known[name] for name in kept}
        return names, kind, [known.setdefault(name, _Pattern()) for name in names]


class News:
    """Knows the phrases of the last pages by their hashes: some two million places, 8 MB.

    The verdict on a page says no more than that it was kept, as each day of a calendar is that goes on
    without end.  So pages are new by what verdicts are given on: the sample of their fingerprint.
    """

    def __init__(self) -> None:
        # Each place has one hash; a new one takes the place of another, so the oldest are forgotten.
        self._hashes = np.zeros(_PLACES, "<u4")

    def of(self, host: str, sample: bytes) -> int:
        """Return about how many phrases of a page no page of its *host* had; now they are known."""
        hashes = sampled(sample) ^ np.uint32(murmur3(host) & 0xFFFFFFFF)
        places = hashes & np.uint32(_PLACES - 1)
        new = int(np.count_nonzero(self._hashes[places] != hashes))
        self._hashes[places] = hashes
        return ONE_IN * new


def is_chosen(url: str, name: str, chosen: tuple[str, ...]) -> bool:
    """Return whether one of the *chosen* patterns is for *url*.

    It is the *name* of what it is left out for, one of its own patterns, or a pattern of a shell that
    matches all of it.
    """
    names = {name, *patterns_of_url(url)[0]} if chosen else ()
    return any(pattern in names or fnmatchcase(url, pattern) for pattern in chosen)


# Parts with an end

MOST_LEAVES = 5_000  # of a host are visited because their part of the site has an end
PAGES_PER_NEW_ADDRESS = 2  # of a part with an end, on average
LEAVES_PER_PAGE = 2  # new addresses more, where these are the end: pages that name no others
_MOST_PARTS = 100_000


class Link(NamedTuple):
    """A link to *url*, *depth* links from a start page, on the page that *named* it first."""

    url: str
    depth: int
    named: str  # where that page is not known, the URL

    @property
    def parts(self) -> tuple[str, str]:
        """The parts of the site that the address is in, the narrower one first."""
        patterns, kind = patterns_of_url(self.url)
        return f"{patterns[kind]} {self.depth}", patterns[kind]

    @property
    def origin(self) -> tuple[str, str]:
        """The parts that the page is in which named it; its own where that is not known."""
        return self._replace(url=self.named, depth=self.depth - (self.named != self.url)).parts


class Leaves:
    """Tells which parts of a site have an end: their pages lead to hardly any new address.

    A trap without end names new addresses all the time.  Pages that name fewer than one other on average
    come to an end however many there are, as families do that have fewer children than members.  Only
    pages that bring nothing new are counted: the others are worth their visit.

    A part is a first folder, or the names in a query, and narrower, what of it is as far from the start.
    """

    def __init__(self) -> None:
        self._in_vain, self._named, self._taken = Counter[str](), Counter[str](), Counter[str]()
        # By the part that named and the part that was named.
        self._between = Counter[tuple[str, str]]()
        self._pages: set[str] = set()

    def in_vain(self, url: str, depth: int) -> None:
        """Count the page at *url*, which has brought nothing new."""
        if len(self._pages) < _MOST_PARTS:
            self._pages.add(url)
            _count(self._in_vain, Link(url, depth, url).parts)

    def named(self, link: Link) -> None:
        """Count a *link* to an address that was not known, if its page has brought nothing new."""
        if link.named == link.url or link.named in self._pages:
            _count(self._named, link.origin)
            _count(self._between, zip(link.origin, link.parts, strict=True))

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
        for (origin, part), number in self._between.items():
            beyond[origin] -= number * (part in leaves)
        few = {
            part for part, looks in self._in_vain.items() if self._named[part] <= LEAVES_PER_PAGE * looks
        }
        return leaves | {part for part in few if self._has_end(part, beyond[part])}

    def _open(self, waiting: Counter[str], ends: set[str]) -> set[str]:
        """Return the parts of which more is *waiting*, or may be named: half comes from such parts."""
        sources = waiting.keys() - ends
        fed: Counter[str] = Counter()
        for (origin, part), number in self._between.items():
            fed[part] += number * (origin != part and origin in sources)
        return waiting.keys() | {part for part in fed if fed[part] * 2 > self._in_vain[part]}

    def _has_end(self, part: str, named: int) -> bool:
        visited = self._in_vain[part]
        return visited >= LOOKS_OF_A_KIND and named * PAGES_PER_NEW_ADDRESS <= visited


def _count(counts: Counter[Any], names: Iterable[Any]) -> None:
    for name in names:
        if name in counts or len(counts) < _MOST_PARTS:
            counts[name] += 1
