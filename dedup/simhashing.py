"""SimHash: many weighted features folded into one word, so that alike sets give near words.

M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, sec. 3;
G. Manku, A. Jain, A. Das Sarma, Detecting near-duplicates for web crawling, WWW 2007, sec. 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dedup.errors import ConfigError
from dedup.hashing import Hasher, Words, hash_words, murmur3

# Sums of integers stay exact in a float64 below 2**53, in whatever order they are added.
_EXACT_BITS = 52

Weights = NDArray[np.float64]


def simhash(weights: Mapping[str, float], *, hasher: Hasher = murmur3, tie: bool = False) -> int:
    """Return the 64-bit SimHash of *weights*, a map from feature to weight.

    Bit i is set when the features' hashes vote for it by weight; a tie leaves it clear unless
    *tie*.  No features give 0, with *tie* too.  Weights may be negative; they must be finite,
    else `ConfigError`.  *hasher* maps a feature to an unsigned 64-bit word.

    >>> simhash({})
    0
    >>> simhash({"a": 2.0}) == murmur3("a")
    True
    """
    if not weights:
        return 0
    values = np.fromiter(weights.values(), np.float64, len(weights))
    return fold(hash_words(weights.keys(), hasher), _exact(values), tie=tie)


def fold(words: Words, weights: Weights, *, tie: bool = False) -> int:
    """Return the SimHash of hashed features; *weights* are whole numbers that sum below 2**53."""
    if not len(words):
        return 0
    bits = np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    votes = 2 * (weights @ bits) - weights.sum()
    is_set = votes >= 0 if tie else votes > 0
    return int.from_bytes(np.packbits(is_set, bitorder="little").tobytes(), "little")


def _exact(weights: Weights) -> Weights:
    """Return *weights* as whole numbers in the same proportion, fine enough and exactly summable."""
    total = math.fsum(np.abs(weights))
    if not math.isfinite(total):
        raise ConfigError("weights of a SimHash must be finite numbers with a finite sum")
    if not total:
        return weights
    scale = _EXACT_BITS - math.frexp(total)[1]
    return np.rint(np.ldexp(weights, scale))
