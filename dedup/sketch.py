"""One-permutation MinHash of word shingles: how much of their text two pages share.

P. Li, A. Owen, C.-H. Zhang, One permutation hashing, NIPS 2012; one byte a bin as in P. Li,
C. König, b-bit minwise hashing, WWW 2010.  A sketch is BINS bytes: the top bits of a shingle's
hash choose its bin, the smallest hash of a bin gives a byte 1 to 255, and 0 is an empty bin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.config import SKETCH_BINS
from dedup.hashing import Words, mixed

BINS = SKETCH_BINS
EMPTY = bytes(BINS)
# The bins of the sketch that is keyed with the secret of an index.
CHECK_BINS = 64

Bytes = NDArray[np.uint8]

_BIN_SHIFT = np.uint64(56)
_VALUES = 255
_CHANCE = 1 / _VALUES  # two different hashes give the same byte this often
_EDGES = np.arange(BINS, dtype=np.uint64) << _BIN_SHIFT
_STEP = np.uint64(0x9E3779B97F4A7C15)


def sketch(words: Words, size: int) -> bytes:
    """Return the sketch of the shingles of *size* tokens in *words*, the tokens' hashes in order.

    Fewer tokens than *size* have no shingle and give `EMPTY`.
    """
    if len(words) < size:
        return EMPTY
    shingles = np.sort(shingle_hashes(words, size))
    firsts = np.searchsorted(shingles, _EDGES)
    smallest = shingles[np.minimum(firsts, len(shingles) - 1)]
    filled = smallest >> _BIN_SHIFT == np.arange(BINS, dtype=np.uint64)
    values = (smallest % np.uint64(_VALUES) + np.uint64(1)).astype(np.uint8)
    return np.where(filled & (firsts < len(shingles)), values, np.uint8(0)).astype(np.uint8).tobytes()


def shingle_hashes(words: Words, size: int) -> Words:
    """Return one hash for each run of *size* hashes in *words*; the order inside a run counts."""
    count = len(words) - size + 1
    hashes = words[:count].copy()
    for offset in range(1, size):
        hashes = mixed(hashes) * _STEP + words[offset : offset + count]
    return mixed(hashes)


def similarity(a: bytes, b: bytes) -> float:
    """Return the estimated Jaccard similarity (0 to 1) of the shingles behind two sketches.

    Bins that are empty in both say nothing and are not counted: two sketches without a shingle
    have similarity 0.  The standard deviation of the estimate is .031 on full sketches.
    """
    one, other = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
    either = np.count_nonzero(one | other)
    both = np.count_nonzero((one == other) & (one > 0))
    return max(0.0, (int(both) / max(int(either), 1) - _CHANCE) / (1 - _CHANCE))


def similarities(a: bytes, many: Bytes) -> NDArray[np.float64]:
    """Return the similarity of sketch *a* to each row of *many*, an array of shape (n, BINS)."""
    return pair_similarities(np.frombuffer(a, np.uint8), many)


def pair_similarities(a: Bytes, b: Bytes) -> NDArray[np.float64]:
    """Return the similarity of each row of *a* to the same row of *b*, arrays of shape (n, BINS)."""
    either = np.count_nonzero(a | b, axis=1)
    both = np.count_nonzero((a == b) & (a > 0), axis=1)
    share = both / np.maximum(either, 1)
    estimates: NDArray[np.float64] = np.maximum(0.0, (share - _CHANCE) / (1 - _CHANCE))
    return estimates
