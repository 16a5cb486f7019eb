"""One-permutation MinHash of shingles of tokens: how much of their text two pages share.

P. Li, A. Owen, C.-H. Zhang, One permutation hashing, NIPS 2012; one byte a bin as in P. Li,
C. König, b-bit minwise hashing, WWW 2010.  A sketch is BINS bytes: the top bits of a shingle's
hash choose its bin, the smallest hash of a bin gives a byte 1 to 255, and 0 is an empty bin.
`dedup.native._search.similarity` compares two of them.
"""

from __future__ import annotations

import numpy as np

from dedup.model.hashes import Hashes, mixed

# Tokens in a shingle of a crawl's sketches.
SHINGLE = 4
BINS = 256
EMPTY = bytes(BINS)

_VALUES = 255
_EDGES = np.arange(BINS, dtype=np.uint64) << np.uint64(65 - BINS.bit_length())
_STEP = np.uint64(0x9E3779B97F4A7C15)


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
    if not len(shingles):
        return EMPTY
    # Behind the last edges there may be no shingle: the last of all is in none of their bins.
    smallest: Hashes = shingles.take(shingles.searchsorted(_EDGES), mode="clip")
    filled = smallest - _EDGES < _EDGES[1]
    values: Hashes = (smallest % np.uint64(_VALUES) + np.uint64(1)) * filled
    return values.astype(np.uint8).tobytes()


def shingle_hashes(hashes: Hashes, size: int) -> Hashes:
    """Return one hash for each run of *size* hashes in *hashes*; the order inside a run counts."""
    count = len(hashes) - size + 1
    shingles = hashes[:count].copy()
    for offset in range(1, size):
        shingles = mixed(shingles) * _STEP + hashes[offset : offset + count]
    return mixed(shingles)
