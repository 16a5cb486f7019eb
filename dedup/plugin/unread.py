"""The last safety net, for a page that swallows others although they say much that nobody has read.

The verdict is about the text that we read.  Where scripts make the text of a page, we read only its
shell, and one kept page swallows all others.  Their texts are in their markup nevertheless: in embedded
data, in attributes, in the frame.  Real copies have the same there, except for ids and times, which are
not words.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.reading.own_words import decoded, words_of

if TYPE_CHECKING:
    from scrapy import Request

Pairs = NDArray[np.int64]

# When so many copies of a page each say something else, the last is kept, the others are given back.
MOST_SWALLOWED = 5
# So many pairs of words that were not read, and are on no other copy, make a text of its own, if they
# are at least half as many as were read: ads and links beside a text change as well.  On nine sites,
# 11,909 pages, no page has five such copies.
OWN_PAIRS = 50
_OF_READ = 0.5
# Pairs that are remembered of the copies of a page.
_MOST_PAIRS = 100_000
# Pairs are sampled by their hashes, one in so many.
_ONE_IN = 4
# Pages with copies that are watched at a time; those with the oldest copies are forgotten.
_MOST_WATCHED = 200
_MIXED = np.int64(0x9E3779B97F4A7C1)


class Copy(NamedTuple):
    """A page dropped as *row*, and how to get it again."""

    row: int
    url: str
    request: Request | None


@dataclass(slots=True)
class Swallowing:
    """What the copies of one page said that was not read, each something else."""

    seen: Pairs
    copies: list[Copy] = field(default_factory=list)
    count: int = 1


class Net:
    """Counts, for each page kept, the copies of it with an unread text of their own."""

    def __init__(self) -> None:
        self._watched: OrderedDict[int, Swallowing] = OrderedDict()

    def swallows(self, canonical: int, markup: str, text: str, copy: Copy) -> bool:
        """Note a *copy* of the page *canonical*; *text* is what was read of its *markup*.

        Returns whether it is the fifth, or a later one, that has a text of its own.
        """
        read = _pairs(text)
        pairs = np.setdiff1d(_pairs(decoded(markup)), read, assume_unique=True)
        known = self._watched.get(canonical)
        if known is None:
            if len(self._watched) >= _MOST_WATCHED:
                self._watched.popitem(last=False)
            self._watched[canonical] = Swallowing(pairs, [copy])
            return False
        self._watched.move_to_end(canonical)
        own = np.setdiff1d(pairs, known.seen, assume_unique=True)
        if _ONE_IN * len(own) < max(OWN_PAIRS, _OF_READ * _ONE_IN * len(read)):
            return False
        if len(known.seen) < _MOST_PAIRS:
            known.seen = np.union1d(known.seen, own)
        if known.count < MOST_SWALLOWED:
            known.copies.append(copy)
            known.count += 1
        return known.count >= MOST_SWALLOWED

    def copies(self, canonical: int) -> list[Copy]:
        """Return the copies of *canonical* that each said something else, and forget them."""
        known = self._watched[canonical]
        found, known.copies = known.copies, []
        return found


def _pairs(text: str) -> Pairs:
    """Return a sample of the pairs of words that stand together in *text*."""
    # Python's hashes differ from process to process; these never leave this one.
    hashes = np.fromiter(map(hash, words_of(text)), np.int64)
    with np.errstate(over="ignore"):
        pairs = hashes[:-1] * _MIXED ^ hashes[1:]
    return np.unique(pairs[pairs % _ONE_IN == 0])
