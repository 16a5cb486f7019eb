"""How many pages of each pattern of addresses a crawl looks at, learned from what they bring.

A site without end makes addresses of few patterns: a calendar, filters in any order, ids of sessions.
While the pages of a pattern bring something new, all of them are looked at.  When they do not, there are
a few more looks each time the number of addresses doubles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace
from fnmatch import fnmatchcase
from heapq import nlargest
from math import inf, log2
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import numpy as np

from dedup.model.hashes import murmur3
from dedup.prints.samples import ONE_IN, sampled
from dedup.reading.page import Page

FIRST_LOOKS = 12  # in a row that may bring nothing, however few addresses there are
LOOKS_PER_DOUBLING = 3  # more, each time the number of addresses that were met has doubled
HOST_SHARE = 4  # times as much for all patterns of a host together that have brought nothing yet
LOOKS_OF_A_KIND = 2  # that each part of a site has, whatever others like it have brought
MAX_PATTERNS = 1_000  # of a host; beyond it the half with fewer addresses is forgotten
MAX_HOSTS = 2_000  # with patterns of their own; all others are taken for one
MAX_DEPTH = 100  # links from a start page
MAX_REPEATS = 3  # of the same segment in a path
MAX_LENGTH = 2_000  # characters of an address
NEWS = 24
"""A page is new with about so many phrases that no page of its host had before."""

_PLACES = 1 << 21
# A part of a segment with two digits is an id or a date; elsewhere a number is a number.
_WORD = re.compile(r"[0-9A-Za-z]+")
_NUMBER, _ALONE = re.compile(r"[0-9]+"), re.compile(r"\b[0-9]+\b")
_MOST_FOLDERS = 3
_OTHERS = "(other hosts)"


class Address(NamedTuple):
    """An address as budgets see it: its *patterns*, the widest first, and the number of its *kind*.

    That is the pattern that tells the parts of a site apart: the first folder, or the names in a query.
    """

    patterns: tuple[str, ...]
    kind: int


def address_of(url: str) -> Address:
    """Return the patterns of *url*: its host, its folders and its path, or the names in its query.

    Numbers and ids are ``#``.  A path in which a segment comes again is like all others that go on from
    there.

    >>> address_of("http://a.example/wiki/page/12.html").patterns
    ('a.example/*', 'a.example/wiki/*', 'a.example/wiki/page/*', 'a.example/wiki/page/#.html')
    >>> address_of("http://a.example/wiki/12?sort=up&id=3").patterns
    ('a.example/*', 'a.example/*?*', 'a.example/*?id&sort', 'a.example/wiki/#?id&sort')
    >>> address_of("http://a.example/a/b/a/b/c").patterns[-1]
    'a.example/a/b/(again)'
    """
    parts = _split(url)
    host = parts.netloc.rpartition("@")[2].lower()
    shapes: list[str] = []
    met: set[str] = set()
    for segment in (parts.path or "/").split("/")[1:]:
        if segment in met:
            shapes.append("(again)")
            break
        if segment and not segment.isdecimal():
            met.add(segment)
        shapes.append(_shape(segment))
    whole = "/".join([host, *shapes])
    if parts.query:
        pieces = re.split("[&;]", parts.query)
        names = "&".join(sorted({_shape(piece.partition("=")[0]) for piece in pieces}))
        return Address((f"{host}/*", f"{host}/*?*", f"{host}/*?{names}", f"{whole}?{names}"), 2)
    folders = range(1, min(len(shapes) - 1, _MOST_FOLDERS) + 1)
    within = (f"{host}/{'/'.join(shapes[:number])}/*" for number in folders)
    return Address((f"{host}/*", *within, whole), min(1, len(folders)))


def _shape(segment: str) -> str:
    """Return *segment* without what tells pages of one kind apart.

    >>> _shape("8f21c0"), _shape("lens-2.html"), _shape("2026-01.html")
    ('#', 'lens-#.html', '#-#.html')
    """

    def shape(found: re.Match[str]) -> str:
        word = found[0]
        return "#" if sum(map(str.isdigit, word)) > 1 else _NUMBER.sub("#", word)

    return _WORD.sub(shape, segment)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "/", "", "")


def beyond(url: str, depth: int) -> str:
    """Return what *url*, so many links from a start page, is too much of, "" if it is within limits."""
    parts = _split(url)
    segments = Counter(segment for segment in parts.path.split("/") if not segment.isdecimal())
    segments.pop("", None)
    if depth > MAX_DEPTH:
        excess = f"more than {MAX_DEPTH} links from the start"
    elif max(segments.values(), default=0) > MAX_REPEATS:
        excess = f"a segment more than {MAX_REPEATS} times"
    elif len(url) > MAX_LENGTH:
        excess = f"more than {MAX_LENGTH:,} characters"
    else:
        return ""
    return f"{parts.netloc.rpartition('@')[2].lower()}/* ({excess})"


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

    def state(self) -> dict[str, Any]:
        """Return all of it as JSON can keep it."""
        return {
            name: [pattern.has_news, *astuple(pattern.own), *astuple(pattern.below)]
            for patterns in self._hosts.values()
            for name, pattern in patterns.items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        for name, (has_news, *numbers) in state.items():
            pattern = self._hosts.setdefault(_host_of(name), {}).setdefault(name, _Pattern())
            pattern.has_news = has_news
            pattern.own, pattern.below = Budget(*numbers[:3]), Budget(*numbers[3:])

    def ask(self, url: str, *, is_met: bool = False, is_leaf: bool = False) -> str:
        """Count a look at *url*, and return ""; or return the pattern whose budget does not allow it.

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
        """Note that the page at *url* has brought something new; return how many looks that allows.

        These are the patterns whose budget it has filled up, each with its number of looks.
        """
        filled: dict[str, int] = {}
        (names, _), patterns = self._patterns(url)
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

    def looks(self, name: str) -> int:
        """Return how many pages of the pattern *name* were looked at."""
        pattern = self._hosts.get(_host_of(name), {}).get(name)
        return max(pattern.own.looks, pattern.below.looks) if pattern else 0

    def _asked(self, url: str) -> Iterator[tuple[str, Budget, float]]:
        """Yield the budgets that *url* is looked at from, each with its name and share."""
        address, patterns = self._patterns(url)
        names = address.patterns
        yield names[-1], patterns[-1].own, 1
        if patterns[-1].has_news:
            return
        is_first = patterns[address.kind].below.looks < LOOKS_OF_A_KIND and address.kind > 0
        for name, pattern in zip(names[-2:0:-1], patterns[-2:0:-1], strict=True):
            yield name, pattern.below, inf if is_first else 1
            if pattern.has_news:
                break
        yield names[0], patterns[0].below, HOST_SHARE

    def _patterns(self, url: str) -> tuple[Address, list[_Pattern]]:
        address = address_of(url)
        host = _host_of(address.patterns[0])
        if host not in self._hosts and len(self._hosts) >= MAX_HOSTS:
            host, address = _OTHERS, Address((f"{_OTHERS}/*", f"{_OTHERS}/"), 0)
        known = self._hosts.setdefault(host, {})
        if len(known) + len(address.patterns) > MAX_PATTERNS:
            first, *_ = known  # that of the whole host
            met = {name: pattern.own.met + pattern.below.met for name, pattern in known.items()}
            kept = dict.fromkeys([first, *nlargest(MAX_PATTERNS // 2, met, key=met.__getitem__)])
            known = self._hosts[host] = {name: known[name] for name in kept}
        return address, [known.setdefault(name, _Pattern()) for name in address.patterns]


class News:
    """Knows the phrases of the last pages by their hashes: some two million places, 8 MB.

    The verdict on a page says no more than that it was kept, as each day of a calendar is that goes on
    without end.  So pages are new by what verdicts are given on: the sample of their fingerprint.
    """

    def __init__(self, state: bytes = b"") -> None:
        # Each place has one hash; a new one takes the place of another, so the oldest are forgotten.
        self._hashes = np.zeros(_PLACES, "<u4")
        if len(state) == self._hashes.nbytes:
            self._hashes = np.frombuffer(state, "<u4").copy()

    def state(self) -> bytes:
        """Return all of it as bytes, to go on with in another process."""
        return self._hashes.tobytes()

    def of(self, host: str, sample: bytes) -> int:
        """Return about how many phrases of a page no page of its *host* had; now they are known."""
        hashes = sampled(sample) ^ np.uint32(murmur3(host) & 0xFFFFFFFF)
        places = hashes & np.uint32(_PLACES - 1)
        new = int(np.count_nonzero(self._hashes[places] != hashes))
        self._hashes[places] = hashes
        return ONE_IN * new


def without_numbers(page: Page) -> Page:
    """Return *page* with 0 for each number: counters and dates are always new, and count for nothing."""
    return replace(page, text=_ALONE.sub("0", page.text))


def is_chosen(url: str, name: str, chosen: tuple[str, ...]) -> bool:
    """Return whether one of the *chosen* patterns is for *url*.

    It is the *name* of what it is left out for, one of its own patterns, or a pattern of a shell that
    matches all of it.

    >>> is_chosen("http://a.example/x/12", "", ("a.example/x/#",))
    True
    >>> [is_chosen(f"http://a.example/{path}", "", ("*/x/*",)) for path in ("x/1", "y/1")]
    [True, False]
    """
    if not chosen:
        return False
    names = {name, *address_of(url).patterns}
    return any(pattern in names or fnmatchcase(url, pattern) for pattern in chosen)


def _host_of(name: str) -> str:
    return name.partition("/")[0]
