"""Pairs of words that stand beside each other: what a page says that no page before it has said.

A sample of long shingles misses a changed word or two.  But each new fact puts two words side by side
that were not: a name and a town, a match and its score.  A pair is a hash of 32 bits, whose last one
tells whether a number is in it; those of a text are in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dedup.recipes.sample import different, sampled
from dedup.recipes.sketch import shingle_hashes
from dedup.values.hashes import Hashes

# Of a page with more of them, those with the smallest hashes: the memory of a site must not grow with
# its longest pages.
MOST_PAIRS = 1024
# Clocks and identifiers of hexadecimal digits are others on each visit: they are in no pair.
_NUMBER = re.compile(r"[^0-9A-Za-z_]*[0-9][0-9.,:]*[A-Za-z]{0,2}[^0-9A-Za-z_]*")
_DIGIT = re.compile(r"[0-9]")
_ID = re.compile(r"(?=.*[a-f])[0-9a-f]{6,}")
IN_NO_PAIR, NUMBER, WORD = range(3)

_SHIFT = np.uint64(32)


def kind_of(token: str) -> int:
    """Return whether *token* is a `WORD`, a `NUMBER` or `IN_NO_PAIR`.

    >>> [kind_of(token) for token in "mpi_bcast gw8704 18.5*7.5 1,200 5kg #639 12:30pm 3fa9c0".split()]
    [2, 2, 2, 1, 1, 1, 0, 0]
    """
    if not _DIGIT.search(token):
        return WORD
    if _ID.fullmatch(token):
        return IN_NO_PAIR
    if _NUMBER.fullmatch(token):
        return IN_NO_PAIR if ":" in token else NUMBER
    return WORD


def pairs(
    names: Sequence[str], hashes: Hashes, sequence: NDArray[np.intp], lines: Sequence[int]
) -> bytes:
    """Return the pairs of a text, 4 bytes each, at most `MOST_PAIRS`.

    *names* are its different tokens, *hashes* theirs; *sequence* is the text as their numbers, and
    *lines* says how many there are on each line, 1 or more.  What is alone on its line is a pair with
    itself, and two numbers are one if a single token parts them, as in Chinese dates.
    """
    if not lines:
        return b""
    # Most words have letters only: to ask each `kind_of` takes three times as long.
    kinds = np.array([WORD if name.isalpha() else kind_of(name) for name in names], np.uint8)[sequence]
    of_text = hashes[sequence]
    ends, line = np.cumsum(lines) - 1, np.repeat(np.arange(len(lines)), lines)
    first = np.delete(np.arange(len(sequence)), ends)
    alone = ends[np.asarray(lines) == 1]
    apart = np.flatnonzero((line[:-2] == line[2:]) & (kinds[:-2] == NUMBER) & (kinds[2:] == NUMBER))
    first, second = np.concatenate((first, alone, apart)), np.concatenate((first + 1, alone, apart + 2))
    both = (kinds[first] != IN_NO_PAIR) & (kinds[second] != IN_NO_PAIR)
    first, second = first[both], second[both]
    found = shingle_hashes(np.stack((of_text[first], of_text[second])), 2)[0] >> _SHIFT
    has_number = (kinds[first] == NUMBER) | (kinds[second] == NUMBER)
    return different(np.sort(found & ~np.uint64(1) | has_number).astype("<u4"))[:MOST_PAIRS].tobytes()


def of_words(pairs: bytes) -> bytes:
    """Return those of *pairs* that no number is in."""
    told = sampled(pairs)
    found: bytes = told[told & 1 == 0].tobytes()
    return found
