"""Pairs of words that stand beside each other: what a page says that no page before it has said.

A sample of long shingles misses a changed word or two.  But each new fact puts two words side by side
that were not: a name and a town, a function and what it does.  A pair is a hash of 32 bits; those of a
text are in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dedup.recipes.sample import different
from dedup.recipes.sketch import shingle_hashes
from dedup.values.hashes import Hashes

# Of a page with more of them, those with the smallest hashes: the memory of a site must not grow with
# its longest pages.
MOST_PAIRS = 1024
# Numbers are told apart by `dedup.recipes.traits`.  Clocks and counters are others on each visit, and so
# are identifiers of hexadecimal digits.
_NUMBER = re.compile(r"[^0-9A-Za-z_]*[0-9][0-9.,:]*[A-Za-z]{0,2}[^0-9A-Za-z_]*")
_DIGIT = re.compile(r"[0-9]")
_ID = re.compile(r"(?=.*[a-f])[0-9a-f]{6,}")

_SHIFT = np.uint64(32)


def is_said(token: str) -> bool:
    """Return whether *token* is a word, and no number or identifier.

    >>> [word for word in "mpi_bcast gw8704 18.5*7.5 1,200 12:30pm #639 3fa9c0".split() if is_said(word)]
    ['mpi_bcast', 'gw8704', '18.5*7.5']
    """
    return not _DIGIT.search(token) or not (_NUMBER.fullmatch(token) or _ID.fullmatch(token))


def pairs(
    names: Sequence[str], hashes: Hashes, sequence: NDArray[np.intp], lines: Sequence[int]
) -> bytes:
    """Return the pairs of a text, 4 bytes each, at most `MOST_PAIRS`.

    *names* are its different tokens, *hashes* theirs; *sequence* is the text as their numbers, and
    *lines* says how many there are on each line, 1 or more.  A word that is alone on its line is a pair
    with itself.
    """
    if not lines:
        return b""
    said, of_text = np.fromiter(map(is_said, names), bool, len(names))[sequence], hashes[sequence]
    ends = np.cumsum(lines) - 1
    first = np.delete(np.arange(len(sequence)), ends)
    alone = ends[np.asarray(lines) == 1]
    first, second = np.concatenate((first, alone)), np.concatenate((first + 1, alone))
    both = said[first] & said[second]
    ordered = np.sort(shingle_hashes(np.stack((of_text[first[both]], of_text[second[both]])), 2)[0])
    return different((ordered >> _SHIFT).astype("<u4"))[:MOST_PAIRS].tobytes()
