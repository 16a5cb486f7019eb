"""What tells a page from its like, however much frame they share: its title, and the numbers in it.

A date, a score, a price, the number of a model: two records of one table may differ in nothing else.
Traits are 32-bit hashes: that of the title, then those of the different numbers in order.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from dedup.recipes.sample import Sampled, different, places, sampled
from dedup.values.hashes import hashes_of

# Of a page with more of them, the numbers with the smallest hashes.
MOST_NUMBERS = 64
# Digits, and what stands between two of them as in 3.5, 1,200, 12:30, 4/5 and 2024-05-01: a date is one
# number.  What has letters before it is a name or an id, and so is what has more after it than in 5kg
# and 7th.
NUMBER = re.compile(
    r"(?<![A-Za-z_0-9])(?<![0-9][.,:/-])[0-9]++(?:[.,:/-][0-9]++)*+(?![A-Za-z_]{3}|[A-Za-z_]{1,2}[0-9])"
)

_SHIFT = np.uint64(32)


class News(NamedTuple):
    """How many *numbers* of a page are not on another one, and whether both have the same title."""

    numbers: int
    has_same_title: bool


def numbers_in(text: str) -> set[str]:
    """Return the different numbers in *text*, in ASCII digits.

    >>> sorted(numbers_in("Version 1.11.22 of 2024-05-01 12:30pm, 1,200 bytes, by user77 (id 3fa9)."))
    ['1,200', '1.11.22', '12:30', '2024-05-01']
    """
    return set(NUMBER.findall(text))


def traits(title: str, numbers: Collection[str]) -> bytes:
    """Return the traits of a page with *title* and the different *numbers*: 4 bytes each."""
    hashes = (hashes_of([title, *numbers]) >> _SHIFT).astype("<u4")
    of_numbers = different(np.sort(hashes[1:]))[:MOST_NUMBERS]
    return hashes[:1].tobytes() + of_numbers.tobytes()


def news(kept: bytes, page: bytes) -> News | None:
    """Return what the traits of *page* say that those of *kept* do not; None where one has none."""
    if not (kept and page):
        return None
    of_kept, of_page = sampled(kept), sampled(page)
    there, here = _numbers(of_kept), _numbers(of_page)
    if len(there) == MOST_NUMBERS:  # nothing is known beyond its last one
        here = here[: here.searchsorted(there[-1], "right")]
    new = int((places(here, there) < 0).sum())
    return News(new, bool(of_kept[0] == of_page[0]))


def _numbers(traits: Sampled) -> Sampled:
    return traits[1:]
