"""A sample of the shingles of a text: what tells whether they stand on other pages too.

It is every fourth shingle by its hash, so that a shingle is in the samples of all texts that have
it, or of none (A. Broder, On the resemblance and containment of documents, 1997, "mod m"; L. Irber
and others, FracMinHash, 2022).  A sample is 32 bits of each hash, in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.values.hashes import Hashes

ONE_IN = 4
# Of very long texts it is less than one in four: the smallest hashes.
MOST = 1024
SAMPLED_BYTES = 4

Sampled = NDArray[np.uint32]

_SHIFT = np.uint64(32)


def sample(shingles: Hashes) -> bytes:
    """Return the sample of *shingles*, hashes in order; at most `MOST` of `SAMPLED_BYTES` each."""
    chosen = shingles[shingles % np.uint64(ONE_IN) == 0] >> _SHIFT
    return different(chosen.astype("<u4"))[:MOST].tobytes()


def sampled(sample: bytes) -> Sampled:
    """Return the hashes of a *sample*, in order."""
    return np.frombuffer(sample, "<u4")


def different(ordered: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the different ones of *ordered* numbers.  (`numpy.unique` sorts, or hashes, again.)"""
    if len(ordered) < 2:
        return ordered
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def places(hashes: Sampled, among: Sampled) -> NDArray[np.intp]:
    """Return where each of *hashes* stands in the ordered *among*, -1 where it does not."""
    if not len(among):
        return np.full(len(hashes), -1)
    found = among.searchsorted(hashes)
    found[found == len(among)] = 0
    return np.where(among[found] == hashes, found, -1)
