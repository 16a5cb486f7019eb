"""SimHash: many weighted features folded into one number, so that similar sets give near numbers.

M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, sec. 3;
G. Manku, A. Jain, A. Das Sarma, Detecting near-duplicates for web crawling, WWW 2007, sec. 2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dedup.values.errors import ConfigError
from dedup.values.hashes import Hashes
from dedup.values.simhashes import SIMHASH_BITS

# Sums of integers stay exact in a float64 below 2**53, in whatever order they are added.
_EXACT_BITS = 52

# A bit of a hash takes 9 bytes while votes are counted, so a page of a million terms 580 MB at once.
_AT_ONCE = 16_384

Weights = NDArray[np.float64]


def fold(hashes: Hashes, weights: Weights, *, tie: bool = False) -> int:
    """Return the SimHash of hashed features; *weights* are whole numbers that sum below 2**53."""
    if not len(hashes):
        return 0
    votes = np.zeros(SIMHASH_BITS)
    for start in range(0, len(hashes), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        data = np.ascontiguousarray(hashes[part], "<u8").view(np.uint8)
        bits = np.unpackbits(data, bitorder="little").reshape(-1, SIMHASH_BITS)
        votes += 2 * np.dot(weights[part], bits)
    total = weights.sum()
    is_set = votes >= total if tie else votes > total
    return int.from_bytes(np.packbits(is_set, bitorder="little").tobytes(), "little")


def exact(weights: Weights) -> Weights:
    """Return finite *weights* as whole numbers in the same proportion, fine enough and exactly summable.

    Raises `ConfigError` unless they and their sum are finite.
    """
    total = math.fsum(np.abs(weights).tolist())  # in whatever order, the same
    if not math.isfinite(total):
        raise ConfigError("weights of a SimHash must be finite numbers with a finite sum")
    if not total:
        return weights
    scale = _EXACT_BITS - math.frexp(total)[1]
    return np.rint(np.ldexp(weights, scale))
