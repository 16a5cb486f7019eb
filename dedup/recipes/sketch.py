"""One-permutation MinHash of shingles of tokens: how much of their text two pages share.

P. Li, A. Owen, C.-H. Zhang, One permutation hashing, NIPS 2012; one byte a bin as in P. Li,
C. König, b-bit minwise hashing, WWW 2010.  A sketch is BINS bytes: the top bits of a shingle's
hash choose its bin, the smallest hash of a bin gives a byte 1 to 255, and 0 is an empty bin.
A check sketch is a second, smaller one, of hashes that nobody knows without the secret of an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dedup.recipes.config import SKETCH_BINS
from dedup.values.hashes import Hashes, keyed_hashes, mixed

BINS = SKETCH_BINS
EMPTY = bytes(BINS)
# The bins of the sketch that is keyed with the secret of an index.
CHECK_BINS = 64

Bytes = NDArray[np.uint8]

_VALUES = 255
_CHANCE = 1 / _VALUES  # two different hashes give the same byte this often
_EDGES = {
    bins: np.arange(bins, dtype=np.uint64) << np.uint64(65 - bins.bit_length())
    for bins in (BINS, CHECK_BINS)
}
# The low seven bits of each byte of a sketch, and the top ones.
_MASKS = {
    bins: (int.from_bytes(b"\x7f" * bins), int.from_bytes(b"\x80" * bins)) for bins in (BINS, CHECK_BINS)
}
_STEP = np.uint64(0x9E3779B97F4A7C15)
# How many standard deviations a check sketch may say less than the sketch.  Of 10,000 pairs of copies
# it refuses less than one, and a page must share a third of its text to pass for any likeness.
_DEVIATIONS = 4


def sketch(hashes: Hashes, size: int) -> bytes:
    """Return the sketch of the shingles of *size* tokens in *hashes*, the tokens' hashes in order.

    Fewer tokens than *size* have no shingle and give `EMPTY`.
    """
    return sketch_of(ordered_shingles(hashes, size))


def ordered_shingles(hashes: Hashes, size: int) -> Hashes:
    """Return the hashes of the shingles of *size* tokens, each as often as it occurs, in order."""
    if len(hashes) < size:
        return hashes[:0]
    shingles = shingle_hashes(hashes, size)
    shingles.sort()
    return shingles


def sketch_of(shingles: Hashes) -> bytes:
    """Return the sketch of *shingles*, hashes in order; without one `EMPTY`."""
    return _binned(shingles, BINS) if len(shingles) else EMPTY


def check_sketch(tokens: Sequence[str], sequence: NDArray[np.intp], size: int, secret: bytes) -> bytes:
    """Return the sketch of a text that is keyed with *secret*, `CHECK_BINS` bytes.

    *tokens* are the different tokens of the text, *sequence* is the text as their numbers.  Fewer
    tokens than *size* have no shingle and give zeros: of such a page there is nothing to verify.
    """
    if len(sequence) < size:
        return bytes(CHECK_BINS)
    hashes = keyed_hashes(tokens, secret)[sequence]
    count = len(hashes) - size + 1
    shingles = hashes[:count]
    for offset in range(1, size):  # what is mixed is secret and random, so it is mixed only once
        shingles = shingles * _STEP + hashes[offset : offset + count]
    shingles = mixed(shingles)
    shingles.sort()
    return _binned(shingles, CHECK_BINS)


def _binned(shingles: Hashes, bins: int) -> bytes:
    """Return the sketch of *shingles*, one or more hashes in order."""
    edges = _EDGES[bins]
    # Behind the last edges there may be no shingle: the last of all is in none of their bins.
    smallest: Hashes = shingles.take(shingles.searchsorted(edges), mode="clip")
    filled = smallest - edges < edges[1]
    values: Hashes = (smallest % np.uint64(_VALUES) + np.uint64(1)) * filled
    return values.astype(np.uint8).tobytes()


def shingle_hashes(hashes: Hashes, size: int) -> Hashes:
    """Return one hash for each run of *size* hashes in *hashes*; the order inside a run counts."""
    count = len(hashes) - size + 1
    shingles = hashes[:count].copy()
    for offset in range(1, size):
        shingles = mixed(shingles) * _STEP + hashes[offset : offset + count]
    return mixed(shingles)


def similarity(a: bytes, b: bytes) -> float:
    """Return the estimated Jaccard similarity (0 to 1) of the shingles behind two sketches.

    Bins that are empty in both say nothing and are not counted: two sketches without a shingle
    have similarity 0.  The standard deviation of the estimate is .031 on full sketches.
    """
    if len(a) != len(b):
        raise ValueError(f"sketches have {len(a)} and {len(b)} bytes")
    one, other = int.from_bytes(a), int.from_bytes(b)
    either = _filled(one | other, len(a))
    both = either - _filled(one ^ other, len(a))
    return max(0.0, (both / max(either, 1) - _CHANCE) / (1 - _CHANCE))


def _filled(number: int, size: int) -> int:
    """Return how many of the *size* bytes of *number* are not 0.

    A carry of its low seven bits, or its own top bit, sets the top bit of each; no carry leaves a byte.
    """
    low, top = _MASKS[size]
    return (((number & low) + low | number) & top).bit_count()


def agrees(public: float, a: bytes, b: bytes) -> bool:
    """Return whether pages whose sketches have similarity *public* can have the check sketches *a*, *b*.

    It is the one-sided test of two shares of one population, with as many successes and failures
    added as a test by `_DEVIATIONS` asks for (A. Agresti, B. Coull, Approximate is better than
    "exact" for interval estimation of binomial proportions, 1998), so that 1.00 has a deviation too.
    Of a few shingles both sketches tell nearly all, but one that shares its bin with another may be
    lost: one bin is forgiven.
    """
    forgiven = 1 / (_filled(int.from_bytes(a) | int.from_bytes(b), len(a)) + 1)
    keyed = min(1.0, similarity(a, b) + forgiven)
    added = _DEVIATIONS**2 / 2
    share = (public * BINS + keyed * CHECK_BINS + added) / (BINS + CHECK_BINS + 2 * added)
    deviation = sqrt(share * (1 - share) * (1 / BINS + 1 / CHECK_BINS))
    return keyed >= public - _DEVIATIONS * deviation


def similarities(a: bytes, many: Bytes) -> NDArray[np.float64]:
    """Return the similarity of sketch *a* to each row of *many*, an array of shape (n, BINS)."""
    one = np.frombuffer(a, np.uint8)
    either = np.count_nonzero(one | many, axis=1)
    both = np.count_nonzero((one == many) & (one > 0), axis=1)
    share = both / np.maximum(either, 1)
    estimates: NDArray[np.float64] = np.maximum(0.0, (share - _CHANCE) / (1 - _CHANCE))
    return estimates
