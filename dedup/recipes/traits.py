"""What tells a page from its like, however much frame they share: its title, names and numbers.

A date, a score, a price, a product code: two records of one table may differ in nothing else.  And a
word of the title that the text has too is what the page is about: the function that it documents.
Traits are 32-bit hashes: that of the title, then those of the different numbers, codes and names in
order.  The upper bits of a number are those of its first part, as 36 is of 36.1.2; the lower ones are 0
where it is all.  Codes and names have the two highest values there.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from dedup.recipes.sample import SAMPLED_BYTES, Sampled, places, sampled
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
# A product or a part: capitals, digits, perhaps capitals.  What is written small is an id or a revision.
CODE = re.compile(r"[A-Z](?<![A-Za-z_0-9][A-Z])[A-Z]{0,4}+-?[0-9]{2,6}[A-Z]{0,3}(?![A-Za-z_0-9])")
# A word without digits: with them it is a number, a code, or a date.
_WORD = re.compile(r"(?<!\w)[^\W\d]{3,}(?!\w)")
# So many words of a title are looked for in the text.
_MOST_NAMES = 8

_SHIFT = np.uint64(32)
_PART_BITS = 10
_PART = (1 << _PART_BITS) - 1
_OF_CODE, _OF_NAME = _PART, _PART - 1


class News(NamedTuple):
    """How many *numbers* of a page are not on another one, *of* how many, and if the titles agree.

    A number and its parts are one, as 36, 36.1 and 36.1.2.
    """

    numbers: int
    of: int
    has_same_title: bool


def numbers_in(text: str) -> set[str]:
    """Return the different numbers and codes in *text*, in ASCII; its white space is single spaces.

    >>> sorted(numbers_in("Version 1.11.22 of 2024-05-01 12:30pm, 1,200 bytes, by user77 (id 3fa9)."))
    ['1,200', '1.11.22', '12:30', '2024-05-01']
    >>> sorted(numbers_in("May 7, 2024, room 3, 12 chairs, part SS61 or GW8704B"))
    ['12', '3', '7, 2024', 'GW8704B', 'SS61']
    """
    return {*NUMBER.findall(text), *CODE.findall(text)}


def names_in(title: str, text: str) -> list[str]:
    """Return the first words of *title* that *text* has, too; in Chinese those are whole phrases.

    >>> names_in("MPI_Bcast - The Manual, page 3", "MPI_Bcast sends a message. See the Manual.")
    ['MPI_Bcast', 'Manual']
    """
    words = list(dict.fromkeys(_WORD.findall(title)))[:_MOST_NAMES]
    return [word for word in words if word in text]


def traits(title: str, numbers: Collection[str], names: Collection[str] = ()) -> bytes:
    """Return the traits of a page with *title*, by `numbers_in` and `names_in` it: 4 bytes each."""
    codes = [one for one in numbers if one[0].isalpha()]
    digits = [one for one in numbers if not one[0].isalpha()]
    parts = [title, *codes, *names, *digits, *map(_first_part, digits)]
    own, *hashes = (hashes_of(parts) >> _SHIFT).tolist()
    behind_codes, behind_names = len(codes), len(codes) + len(names)
    found = {one | _OF_CODE for one in hashes[:behind_codes]}
    found.update(one & ~_PART | _OF_NAME for one in hashes[behind_codes:behind_names])
    of_digits = hashes[behind_names:]
    for number, first in zip(of_digits[: len(digits)], of_digits[len(digits) :], strict=True):
        of_part = 0 if number == first else min(max(number & _PART, 1), _OF_NAME - 1)
        found.add(first & ~_PART | of_part)
    return struct.pack(f"<I{min(len(found), MOST_NUMBERS)}I", own, *sorted(found)[:MOST_NUMBERS])


def _first_part(number: str) -> str:
    return number.partition(".")[0]


def news(kept: bytes, page: bytes) -> News | None:
    """Return what the traits of *page* say that those of *kept* do not; None where one has none."""
    if not (kept and page):
        return None
    here, new = (found[found & _PART < _OF_NAME] for found in _compared(kept, page))
    return News(_count(new), _count(here), kept[:SAMPLED_BYTES] == page[:SAMPLED_BYTES])


def new_hashes(kept: bytes, page: bytes) -> bytes:
    """Return the hashes of those numbers and codes of *page* that are not in the traits of *kept*."""
    new = _compared(kept, page)[1]
    numbers: bytes = new[new & _PART != _OF_NAME].tobytes()
    return numbers


def new_names(kept: bytes, page: bytes) -> tuple[bytes, bytes]:
    """Return the same of codes, and of names."""
    new = _compared(kept, page)[1]
    return new[new & _PART == _OF_CODE].tobytes(), new[new & _PART == _OF_NAME].tobytes()


def _compared(kept: bytes, page: bytes) -> tuple[Sampled, Sampled]:
    """Return the numbers, codes and names of *page*, and those of them that *kept* has not."""
    there, here = sampled(kept)[1:], sampled(page)[1:]
    if len(there) == MOST_NUMBERS:  # nothing is known beyond its last one
        here = here[: here.searchsorted(there[-1], "right")]
    return here, here[places(here, there) < 0]


def _count(numbers: Sampled) -> int:
    """Return how many *numbers* there are, those of one section as few."""
    alone = set((numbers[numbers & _PART == 0] >> _PART_BITS).tolist())
    firsts = Counter((numbers >> _PART_BITS).tolist())
    return sum(1 if first in alone else min(count, MOST_PARTS) for first, count in firsts.items())
