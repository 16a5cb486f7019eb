"""SimHash: many weighted features folded into one number, so that similar sets give near numbers.

M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, sec. 3;
G. Manku, A. Jain, A. Das Sarma, Detecting near-duplicates for web crawling, WWW 2007, sec. 2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dedup.recipes.simhash import exact, fold
from dedup.values.errors import ConfigError
from dedup.values.hashes import Hasher, Hashes, hashes_of, mixed, murmur3
from dedup.values.simhashes import SIMHASH_BITS

SIZES = (64, 128, 256)

_STEP = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio
_MASK = (1 << 64) - 1


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
    values = exact(np.fromiter(weights.values(), np.float64))
    return sum(
        fold(_widened(hashes, part), values, tie=tie) << SIMHASH_BITS * part
        for part in range(bits // SIMHASH_BITS)
    )


def _widened(hashes: Hashes, part: int) -> Hashes:
    """Return the 64 bits of number *part* behind each of *hashes*, the hashes themselves for 0."""
    return mixed(hashes + np.uint64(part * _STEP & _MASK)) if part else hashes
