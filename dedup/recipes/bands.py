"""MinHash: signatures that agree as often as sets overlap, and their bands, which find such sets.

A place of a signature is the smallest of a set's hashes under one random order; two sets agree
there with the probability of their Jaccard similarity.  A. Broder, On the resemblance and
containment of documents, 1997.  A signature cut into bands of a few rows finds likely pairs without
comparing all: P. Indyk, R. Motwani, Approximate nearest neighbors, STOC 1998; J. Leskovec,
A. Rajaraman, J. Ullman, Mining of Massive Datasets, ch. 3.4.

    signature  |  band 0: rows 0 to 2  |  band 1: rows 3 to 5  |  ...  ->  one key for each band
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dedup.recipes.sketch import BINS
from dedup.values.errors import ConfigError
from dedup.values.hashes import Hasher, Hashes, hashes_of, mixed, murmur3

DEFAULT_LENGTH = 128
# Every place of the signature of a set with too few members has this value.
NOTHING = np.uint64(2**64 - 1)
# Two sketches with one filled bin are equal by chance once in 65,280 times.
MIN_FILLED_BINS = 2

_STEP = np.uint64(0x9E3779B97F4A7C15)
# Hashes under their orders that are worked on at once: they fit the processor's cache.
_AT_ONCE = 32_768
# Points of Gauss and Legendre: exact up to 127 places, and far finer than it matters from there on.
_QUADRATURE = 64
# So many bins of an order hold a filled one for all but a few places, even of short pages.
_FEW_BINS = 24
_BIN_BITS = np.uint64(8)


@dataclass(frozen=True, slots=True)
class Banding:
    """A signature's cut into *bands* of *rows* places each (1 or more); sets with an equal band meet.

    >>> banding = Banding(bands=20, rows=5)
    >>> round(banding.threshold, 3), round(banding.s_curve(0.8), 4)
    (0.549, 0.9996)
    """

    bands: int
    rows: int

    def __post_init__(self) -> None:
        for name, value in (("bands", self.bands), ("rows", self.rows)):
            if value < 1:
                raise ConfigError(f"{name} ({value}) must be 1 or more")

    def __str__(self) -> str:
        return f"{self.bands} bands of {self.rows} rows"

    @property
    def length(self) -> int:
        """How many places of a signature the bands take."""
        return self.bands * self.rows

    @property
    def threshold(self) -> float:
        """The similarity (0 to 1) about which the s-curve rises: (1 / bands) ** (1 / rows)."""
        return float((1 / self.bands) ** (1 / self.rows))

    def s_curve(self, similarity: float) -> float:
        """Return how likely (0 to 1) two sets of that Jaccard similarity (0 to 1) have an equal band."""
        return float(1 - (1 - similarity**self.rows) ** self.bands)

    def similarity_at(self, probability: float) -> float:
        """Return the similarity that is found with *probability* (0 to 1); the inverse of `s_curve`."""
        return float((1 - (1 - probability) ** (1 / self.bands)) ** (1 / self.rows))

    @classmethod
    def choose(cls, length: int, threshold: float, *, miss_weight: float = 0.5) -> Self:
        """Return the banding of at most *length* places (1 or more) that best tells at *threshold*.

        The error of a banding is *miss_weight* times the area over its s-curve from *threshold*
        (0 to 1) to 1, where pairs are missed, plus 1 - *miss_weight* times the area under it from
        0 to *threshold*, where pairs are found for nothing.  Of equal ones the fewest places win.
        Raises `ConfigError`.  Both areas: E. Zhu et al., LSH Ensemble, VLDB 2016, sec. 5.

        >>> Banding.choose(128, 0.8)
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
        return cls(bands=best[2], rows=best[3])


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


def jaccard_distance(a: Set[object], b: Set[object]) -> float:
    """Return 1 - `jaccard`, a metric on sets that are not empty.

    M. Levandowsky, D. Winter, Distance between sets, Nature 234, 1971.
    """
    return 1 - jaccard(a, b)


def band_keys(signature: Hashes, banding: Banding) -> Hashes:
    """Return one key for each band of *signature*, none if it is the signature of nothing.

    Equal keys are equal bands at the same place.  Places after the last band are not used.  Raises
    `ConfigError` if there are too few.
    """
    if len(signature) < banding.length:
        raise ConfigError(f"bands ({banding.bands}) times rows must be at most {len(signature)}")
    if signature[0] == NOTHING:
        return signature[:0]
    steps = np.arange(1, banding.length + 1, dtype=np.uint64) * _STEP
    places = mixed(signature[: banding.length] + steps)
    return mixed(places.reshape(banding.bands, banding.rows).sum(axis=1, dtype=np.uint64))


def densified(sketch: bytes, length: int = BINS) -> Hashes:
    """Return the signature of *length* places (1 to `BINS`) that a one-permutation sketch holds.

    Two of them agree in a place with the Jaccard similarity's probability, or else once in 255
    times.  An empty bin takes the byte of the first filled one in a random order of its own, and
    says whose it is; so bins that are empty in both pages agree only where the same bin fills them.
    A. Shrivastava, Optimal densification for fast and accurate minwise hashing, ICML 2017.

    A sketch of fewer than `MIN_FILLED_BINS` filled bins says too little and is `NOTHING`.
    """
    values = np.frombuffer(sketch, np.uint8)
    filled = values > 0
    if np.count_nonzero(filled) < MIN_FILLED_BINS:
        return np.full(length, NOTHING)
    sources = np.arange(length)
    empty = np.flatnonzero(~filled[:length])
    for tries in (_FEW_BINS, BINS):
        orders = _bin_orders()[empty, :tries]
        is_filled = filled[orders]
        sources[empty] = orders[np.arange(len(empty)), is_filled.argmax(axis=1)]
        empty = empty[~is_filled.any(axis=1)]
    signature: Hashes = sources.astype(np.uint64) << _BIN_BITS | values[sources]
    return signature


def sketch_keys(sketch: bytes, banding: Banding) -> Hashes:
    """Return the band keys of the signature that *sketch* holds, none if it says too little."""
    return band_keys(densified(sketch, banding.length), banding)


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


@cache
def _bin_orders() -> NDArray[np.uint8]:
    """Return for each bin a random order of all bins that begins with itself."""
    ranks = mixed(np.arange(1, BINS * BINS + 1, dtype=np.uint64) * _STEP).reshape(BINS, BINS)
    np.fill_diagonal(ranks, 0)
    return ranks.argsort(axis=1).astype(np.uint8)
