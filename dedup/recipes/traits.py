"""What tells a page from its like, however much frame they share: its title, numbers and pairs of words.

A date, a score, a price: two records of one table may differ in nothing else.
Traits are 32-bit hashes: that of the title, then how many different numbers there are, those in order,
and the `dedup.recipes.pairs` of the text.  The upper bits of a number are those of its first part, as 36
is of 36.1.2; the lower ones are 0 where it is all.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from dedup.recipes.pairs import MOST_PAIRS
from dedup.recipes.sample import SAMPLED_BYTES, Sampled, comparable, places, sampled
from dedup.values.hashes import hashes_of

# Of a page with more of them, the numbers with the smallest hashes.
MOST_NUMBERS = 64
# When a section gets another number, its parts and the references to them do too: so many numbers with
# one first part count, and only that part where it is among them.
MOST_PARTS = 2
# Digits, and what stands between two of them as in 3.5, 1,200, 12:30, 4/5 and 2024-05-01: a date is one
# number, and so are day and year of May 7, 2024.  What has letters before it is a name or an id, and so
# is what has more after it than in 5kg and 7th.  What stands before is looked at behind the first
# character: Python finds the places of that three times as fast.
NUMBER = re.compile(
    r"[0-9](?<![A-Za-z_0-9][0-9])(?<![0-9][.,:/-][0-9])"
    r"(?:[0-9]?, [0-9]{4}(?![.,:/-]?[0-9])|[0-9]*+(?:[.,:/-][0-9]++)*+)"
    r"(?![A-Za-z_]{3}|[A-Za-z_]{1,2}[0-9])"
)
# Where the numbers begin: behind the title and their count.
_NUMBERS = 2

_SHIFT = np.uint64(32)
_PART_BITS = 10
_PART = (1 << _PART_BITS) - 1


class News(NamedTuple):
    """How many *numbers* of a page are not on another one, *of* how many, and if the titles agree.

    A number and its parts are one, as 36, 36.1 and 36.1.2.
    """

    numbers: int
    of: int
    has_same_title: bool


def numbers_in(text: str) -> set[str]:
    """Return the different numbers in *text*, in ASCII; its white space is single spaces.

    >>> sorted(numbers_in("Version 1.11.22 of 2024-05-01 12:30pm, 1,200 bytes, by user77 (id 3fa9)."))
    ['1,200', '1.11.22', '12:30', '2024-05-01']
    >>> sorted(numbers_in("May 7, 2024, room 3, 12 chairs"))
    ['12', '3', '7, 2024']
    """
    return set(NUMBER.findall(text))


def traits(title: str, numbers: Collection[str], pairs: bytes = b"") -> bytes:
    """Return the traits of a page with *title*, the *numbers* in it and its *pairs*: 4 bytes each."""
    firsts = (number.partition(".")[0] for number in numbers)
    own, *hashes = (hashes_of([title, *numbers, *firsts]) >> _SHIFT).tolist()
    found = set()
    for number, first in zip(hashes[: len(numbers)], hashes[len(numbers) :], strict=True):
        found.add(first & ~_PART | (0 if number == first else max(number & _PART, 1)))
    told = sorted(found)[:MOST_NUMBERS]
    return struct.pack(f"<{2 + len(told)}I", own, len(told), *told) + pairs


def hashes_in(traits: bytes) -> bytes:
    """Return the hashes in *traits* that a page tells its site: of the title and the pairs."""
    found: bytes = _split(traits)[1].tobytes()
    return title_in(traits) + found


def title_in(traits: bytes) -> bytes:
    """Return the hash of the title in *traits*."""
    return traits[:SAMPLED_BYTES]


def news(kept: bytes, page: bytes) -> News | None:
    """Return what the traits of *page* say that those of *kept* do not; None where one has none."""
    if not (kept and page):
        return None
    here, new = _compared(kept, page)
    return News(_count(new), _count(here), title_in(kept) == title_in(page))


def other_pairs(kept: bytes, page: bytes) -> bytes:
    """Return the hashes of those pairs of *page* that are not in the traits of *kept*."""
    here, there = comparable(_split(page)[1].tobytes(), _split(kept)[1].tobytes(), MOST_PAIRS)
    found: bytes = here[places(here, there) < 0].tobytes()
    return found


def count_pairs(traits: bytes) -> int:
    """Return how many pairs are in *traits*."""
    return len(_split(traits)[1])


def _split(traits: bytes) -> tuple[Sampled, Sampled]:
    """Return the numbers and the pairs in *traits*."""
    told = sampled(traits)
    behind = _NUMBERS + int(told[1]) if len(told) > 1 else 0
    return told[_NUMBERS:behind], told[behind:]


def _compared(kept: bytes, page: bytes) -> tuple[Sampled, Sampled]:
    """Return the numbers of *page*, and those of them that *kept* has not."""
    there, here = _split(kept)[0], _split(page)[0]
    if len(there) == MOST_NUMBERS:  # nothing is known beyond its last one
        here = here[: here.searchsorted(there[-1], "right")]
    return here, here[places(here, there) < 0]


def _count(numbers: Sampled) -> int:
    """Return how many *numbers* there are, those of one section as few."""
    alone = set((numbers[numbers & _PART == 0] >> _PART_BITS).tolist())
    firsts = Counter((numbers >> _PART_BITS).tolist())
    return sum(1 if first in alone else min(count, MOST_PARTS) for first, count in firsts.items())


UNTITLED = title_in(traits("", ()))
"""The hash of the title of a page that has none."""
