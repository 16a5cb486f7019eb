"""SimHash: many weighted features folded into one number, so that similar sets give near numbers.

M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, sec. 3;
G. Manku, A. Jain, A. Das Sarma, Detecting near-duplicates for web crawling, WWW 2007, sec. 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hasher, Hashes, hashes_of, mixed, murmur3

SIZES = (64, 128, 256)

_STEP = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio
_MASK = (1 << 64) - 1
# Sums of integers stay exact in a float64 below 2**53, in whatever order they are added.
_EXACT_BITS = 52

Weights = NDArray[np.float64]


def simhash(
    weights: Mapping[str, float], *, hasher: Hasher = murmur3, tie: bool = False, bits: int = 64
) -> int:
    """Return the SimHash of *weights*, a map from feature to weight, an unsigned integer of *bits*.

    Bit i is set when the features' hashes vote for it by weight; a tie leaves it clear unless
    *tie*.  No features give 0, with *tie* too.  Weights may be negative; they must be finite,
    else `ConfigError`.  *hasher* maps a feature to an unsigned 64-bit hash.  128 or 256 *bits* are
    for comparison without an index; the lowest 64 of them are the SimHash of 64 bits.

    >>> simhash({})
    0
    >>> simhash({"a": 2.0}) == murmur3("a")
    True
    """
    if bits not in SIZES:
        raise ConfigError(f"bits ({bits!r}) must be one of {', '.join(map(str, SIZES))}")
    if not weights:
        return 0
    hashes = hashes_of(weights.keys(), hasher)
    values = _exact(np.fromiter(weights.values(), np.float64))
    return sum(
        fold(mixed(hashes + np.uint64(part * _STEP & _MASK)) if part else hashes, values, tie=tie)
        << SIMHASH_BITS * part
        for part in range(bits // SIMHASH_BITS)
    )


def fold(hashes: Hashes, weights: Weights, *, tie: bool = False) -> int:
    """Return the SimHash of hashed features; *weights* are whole numbers that sum below 2**53."""
    total = weights.sum()
    found = 0
    for bit in range(SIMHASH_BITS if len(hashes) else 0):
        votes = 2 * weights[hashes >> np.uint64(bit) & np.uint64(1) == 1].sum()
        found |= int(votes > total or (tie and votes == total)) << bit
    return found


def _exact(weights: Weights) -> Weights:
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
