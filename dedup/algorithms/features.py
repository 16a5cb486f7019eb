"""What a crawl hashes of a page: its words and its runs of tags, with their weights.

Weights are whole numbers, multiples of 1/256 times 256, so that sums are exact and every machine agrees.
G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms.simhash import Weights
from dedup.model.hashes import Hashes, hashes_of
from dedup.reading.chinese import han_frequencies
from dedup.reading.tokens import is_han

WEIGHT_UNIT = 256
RUN = 5
NGRAM_DECAY = 0.97
# The root is at depth 0; what lies deeper than this weighs no less.
MAX_DEPTH = 255


@dataclass(frozen=True, slots=True)
class Terms:
    """The different terms of a text (*names*), how often each occurs, and the text as their numbers."""

    names: list[str]
    counts: NDArray[np.intp]
    sequence: NDArray[np.intp]

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> Terms:
        """Return the terms of a text."""
        names = list(dict.fromkeys(tokens))
        numbers = dict(zip(names, range(len(names)), strict=True))
        sequence = np.fromiter(map(numbers.__getitem__, tokens), np.intp, len(tokens))
        return cls(names, np.bincount(sequence, minlength=len(names)), sequence)

    def hashes(self) -> Hashes:
        """Return the hash of each of *names*."""
        return hashes_of(self.names)

    def idf(self) -> NDArray[np.float64]:
        """Return the inverse document frequency of each of *names*: jieba's of Han words, else 1."""
        idf = np.ones(len(self.names))
        if "".join(self.names).isascii():
            return idf
        han = [number for number, name in enumerate(self.names) if not name.isascii() and is_han(name)]
        if han:
            idf[han] = han_frequencies()[[self.names[number] for number in han]]
        return idf


@cache
def weights_by_depth() -> Weights:
    """Return decay^depth for each depth from 0 to `MAX_DEPTH`, as whole numbers."""
    depths = range(MAX_DEPTH + 1)
    return np.array([round(WEIGHT_UNIT * NGRAM_DECAY**depth) for depth in depths], np.float64)
