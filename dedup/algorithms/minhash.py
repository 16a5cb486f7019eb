"""MinHash: signatures that agree as often as sets overlap.

A place of a signature is the smallest of a set's hashes under one random order; two sets agree
there with the probability of their Jaccard similarity.  A. Broder, On the resemblance and
containment of documents, 1997.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms.bands import NOTHING, Banding
from dedup.model.errors import ConfigError
from dedup.model.hashes import Hasher, Hashes, hashes_of, mixed, murmur3

DEFAULT_LENGTH = 128

_STEP = np.uint64(0x9E3779B97F4A7C15)
# Hashes under their orders that are worked on at once: they fit the processor's cache.
_AT_ONCE = 32_768
# Points of Gauss and Legendre: exact up to 127 places, and far finer than it matters from there on.
_QUADRATURE = 64


def minhash(
    features: Collection[str], length: int = DEFAULT_LENGTH, *, hasher: Hasher = murmur3, seed: int = 0
) -> Hashes:
    """Return the MinHash signature of the set of *features*: *length* hashes (1 or more).

    Neither order nor repetition counts.  No features give `NOTHING` in every place.  Signatures can
    be compared if length, hasher and seed (0 to 2**64 - 1) are the same.

    >>> bool((minhash(["a", "b"]) == minhash(["b", "a", "a"])).all())
    True
    """
    return minima(hashes_of(features, hasher), length, seed)


def minima(hashes: Hashes, length: int = DEFAULT_LENGTH, seed: int = 0) -> Hashes:
    """Return the signature of a set by the *hashes* of its members, in any order.

    Order i of the hashes x is that of a[i] * x + b[i] modulo 2**64, a[i] odd; x must be well mixed,
    as all of this package's hashers leave it (Carter, Wegman, Universal classes of hash functions,
    1979, on hashing by multiplication).
    """
    if length < 1:
        raise ConfigError(f"length ({length}) must be 1 or more")
    factors, offsets = _orders(length, seed)
    smallest = np.full(length, NOTHING)
    step = max(1, _AT_ONCE // length)
    for start in range(0, len(hashes), step):
        block = hashes[start : start + step]
        np.minimum(smallest, (factors * block + offsets).min(axis=1), out=smallest)
    return smallest


def estimated_jaccard(a: Hashes, b: Hashes) -> float:
    """Return the estimated Jaccard similarity (0 to 1) of the sets behind two signatures.

    The standard deviation is sqrt(j * (1 - j) / length) where j is the similarity.  Sets without a
    member have similarity 0.  Raises `ConfigError` for signatures of different lengths.
    """
    if len(a) != len(b):
        raise ConfigError(f"length ({len(b)}) must be {len(a)}, as of the other signature")
    return float(np.count_nonzero((a == b) & (a != NOTHING)) / len(a))


def jaccard(a: Set[object], b: Set[object]) -> float:
    """Return the Jaccard similarity (0 to 1) of two sets, 0 if both are empty: nothing is shared.

    >>> jaccard({1, 2, 3}, {2, 3, 4})
    0.5
    """
    either = len(a | b)
    return len(a & b) / either if either else 0.0


def choose_banding(length: int, threshold: float, *, miss_weight: float = 0.5) -> Banding:
    """Return the banding of at most *length* places (1 or more) that best tells at *threshold*.

    The error of a banding is *miss_weight* times the area over its s-curve from *threshold*
    (0 to 1) to 1, where pairs are missed, plus 1 - *miss_weight* times the area under it from
    0 to *threshold*, where pairs are found for nothing.  Of equal ones the fewest places win.
    Raises `ConfigError`.  Both areas: E. Zhu et al., LSH Ensemble, VLDB 2016, sec. 5.

    >>> choose_banding(128, 0.8)
    Banding(bands=9, rows=13)
    """
    if length < 1:
        raise ConfigError(f"length ({length}) must be 1 or more")
    for name, value in (("threshold", threshold), ("miss_weight", miss_weight)):
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} ({value:g}) must be 0 to 1")
    below, above = _areas_over(0, threshold, length), _areas_over(threshold, 1, length)
    best = (float("inf"), 0, 0, 0)
    for rows, missed_below, missed in zip(range(1, length + 1), below, above, strict=True):
        errors = miss_weight * missed + (1 - miss_weight) * (threshold - missed_below)
        bands = int(np.argmin(errors)) + 1
        best = min(best, (float(errors[bands - 1]), bands * rows, bands, rows))
    return Banding(bands=best[2], rows=best[3])


def _areas_over(low: float, high: float, length: int) -> Iterator[NDArray[np.float64]]:
    """Yield the area over the s-curve between two similarities for 1, 2, ... *length* rows.

    An array has a place for each number of bands from 1 to as many as *length* has room for.
    """
    places, weights = np.polynomial.legendre.leggauss(_QUADRATURE)
    width = (high - low) / 2
    powers = np.ones(_QUADRATURE)
    for rows in range(1, length + 1):
        powers = powers * (low + width * (places + 1))
        missed = np.multiply.accumulate(np.tile(1 - powers, (length // rows, 1)))
        yield width * missed @ weights


def _orders(length: int, seed: int) -> tuple[Hashes, Hashes]:
    """Return factors and offsets of *length* orders, as columns; the first ones of any longer length."""
    numbers = np.arange(1, 2 * length + 1, dtype=np.uint64)
    drawn = mixed(mixed(numbers * _STEP) ^ np.full(2 * length, seed, np.uint64)).reshape(length, 2, 1)
    return drawn[:, 0] | np.uint64(1), drawn[:, 1]
