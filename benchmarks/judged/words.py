"""Which words of a page stand nowhere else: words that are in no run of four words of other pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np
from numpy.typing import NDArray

from dedup.model.hashes import Hashes, hashes_of, mixed
from dedup.reading.tokens import words_in

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int32]

SHINGLE = 4
_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the pages of a site.

    *tokens* has the tokens of each page with spaces between, *shingles* the numbers of its runs of four
    tokens in their order; there are *different* such runs.
    """

    tokens: tuple[str, ...]
    shingles: tuple[Numbers, ...]
    different: int

    @classmethod
    def of(cls, tokens: Sequence[str], shingles: Sequence[Hashes]) -> Words:
        """Return the words of pages, given the hashes of their runs."""
        every = np.unique(np.concatenate([*shingles, np.zeros(0, np.uint64)]))
        numbers = tuple(np.searchsorted(every, one).astype(np.int32) for one in shingles)
        return cls(tuple(tokens), numbers, len(every))

    def on(self, pages: Sequence[int]) -> Bools:
        """Return for each run whether it stands on one of *pages*."""
        known = np.zeros(self.different, bool)
        for page in pages:
            known[self.shingles[page]] = True
        return known

    def lost(self, page: int, known: Bools) -> list[list[str]]:
        """Return the words of *page* that are in no *known* run, those side by side together."""
        tokens = self.tokens[page].split(" ") if self.tokens[page] else []
        covered = covered_tokens(known[self.shingles[page]], len(tokens))
        runs = groupby(zip(covered.tolist(), tokens, strict=True), key=lambda pair: pair[0])
        return [[token for _, token in run] for is_covered, run in runs if not is_covered]


def shingles_of(tokens: Sequence[str]) -> Hashes:
    """Return the hashes of the runs of `SHINGLE` *tokens* in their order."""
    hashes = hashes_of(tokens)
    count = max(0, len(hashes) - SHINGLE + 1)
    shingles = hashes[:count]
    for offset in range(1, SHINGLE):
        shingles = mixed(shingles) * _STEP + hashes[offset : offset + count]
    return mixed(shingles)


def covered_tokens(known: Bools, tokens: int) -> Bools:
    """Return for each of so many *tokens* whether it is in a run that is *known*, the runs in order."""
    covered = np.zeros(tokens, bool)
    for offset in range(SHINGLE):
        covered[offset : offset + len(known)] |= known
    return covered


def words_in_runs(runs: Sequence[Sequence[str]]) -> int:
    """Return how many words the tokens in *runs* are.

    >>> words_in_runs([["tea", "cup"], ["かな", "なの"], ["กขค"] * 3])
    4
    """
    return words_in(list(chain.from_iterable(runs)))
