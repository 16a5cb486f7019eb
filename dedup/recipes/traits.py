"""What tells a page from its like, however much frame they share: its title, and the numbers in it.

A date, a score, a price, the number of a model: two records of one table may differ in nothing else.
Traits are 32-bit hashes: that of the title, then those of the different numbers in order.  The upper
bits of a number are those of its first part, as 36 is of 36.1.2; the lower ones are 0 where it is all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from dedup.recipes.sample import SAMPLED_BYTES, Sampled, different, places, sampled
from dedup.values.hashes import hashes_of

# Of a page with more of them, the numbers with the smallest hashes.
MOST_NUMBERS = 64
# When a section gets another number, its parts and the references to them do too: so many numbers with
# one first part count, and only that part where it is among them.
MOST_PARTS = 2
# Digits, and what stands between two of them as in 3.5, 1,200, 12:30, 4/5 and 2024-05-01: a date is one
# number, and so are day and year of May 7, 2024.  What has letters before it is a name or an id, and so
# is what has more after it than in 5kg and 7th.
NUMBER = re.compile(
    r"(?<![A-Za-z_0-9])(?<![0-9][.,:/-])"
    r"(?:[0-9]{1,2}, [0-9]{4}(?![.,:/-]?[0-9])|[0-9]++(?:[.,:/-][0-9]++)*+)"
    r"(?![A-Za-z_]{3}|[A-Za-z_]{1,2}[0-9])"
)

_SHIFT = np.uint64(32)
_PART_BITS = 10
_PART = np.uint32((1 << _PART_BITS) - 1)


class News(NamedTuple):
    """How many *numbers* of a page are not on another one, *of* how many, and if the titles agree.

    A number and its parts are one, as 36, 36.1 and 36.1.2.
    """

    numbers: int
    of: int
    has_same_title: bool


def numbers_in(text: str) -> set[str]:
    """Return the different numbers in *text*, in ASCII digits; its white space is single spaces.

    >>> sorted(numbers_in("Version 1.11.22 of 2024-05-01 12:30pm, 1,200 bytes, by user77 (id 3fa9)."))
    ['1,200', '1.11.22', '12:30', '2024-05-01']
    >>> sorted(numbers_in("May 7, 2024, room 3, 12 chairs"))
    ['12', '3', '7, 2024']
    """
    return set(NUMBER.findall(text))


def traits(title: str, numbers: Collection[str]) -> bytes:
    """Return the traits of a page with *title* and the different *numbers*: 4 bytes each."""
    names = list(numbers)
    hashes = (hashes_of([title, *names, *map(_first_part, names)]) >> _SHIFT).astype("<u4")
    of_names, of_firsts = hashes[1:].reshape(2, -1)
    parts = np.where(of_names == of_firsts, 0, np.maximum(of_names & _PART, 1)).astype("<u4")
    of_numbers = different(np.sort((of_firsts & ~_PART) | parts))[:MOST_NUMBERS]
    return hashes[:1].tobytes() + of_numbers.tobytes()


def _first_part(number: str) -> str:
    return number.partition(".")[0]


def news(kept: bytes, page: bytes) -> News | None:
    """Return what the traits of *page* say that those of *kept* do not; None where one has none."""
    if not (kept and page):
        return None
    here, new = _compared(kept, page)
    return News(_count(new), _count(here), kept[:SAMPLED_BYTES] == page[:SAMPLED_BYTES])


def new_hashes(kept: bytes, page: bytes) -> bytes:
    """Return those hashes of numbers in the traits of *page* that are not in those of *kept*."""
    return _compared(kept, page)[1].tobytes()


def _compared(kept: bytes, page: bytes) -> tuple[Sampled, Sampled]:
    """Return the numbers of *page*, and those of them that *kept* has not."""
    there, here = sampled(kept)[1:], sampled(page)[1:]
    if len(there) == MOST_NUMBERS:  # nothing is known beyond its last one
        here = here[: here.searchsorted(there[-1], "right")]
    return here, here[places(here, there) < 0]


def _count(numbers: Sampled) -> int:
    """Return how many *numbers* there are, those of one section as few."""
    alone = set((numbers[numbers & _PART == 0] >> _PART_BITS).tolist())
    firsts = Counter((numbers >> _PART_BITS).tolist())
    return sum(1 if first in alone else min(count, MOST_PARTS) for first, count in firsts.items())
