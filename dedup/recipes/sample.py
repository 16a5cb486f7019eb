"""A sample of the shingles of a text: what tells whether they stand on other pages too.

It is every fourth shingle by its hash, so that a shingle is in the samples of all texts that have
it, or of none (A. Broder, On the resemblance and containment of documents, 1997, "mod m"; L. Irber
and others, FracMinHash, 2022).  A sample is 32 bits of each hash, in order.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dedup.values.hashes import Hashes

ONE_IN = 4
# Of texts of more than some 131,000 words it is less than one in four: the smallest hashes.
MOST = 32_768
SAMPLED_BYTES = 4
# By so many of a page, the smallest, a site is known: its memory must not grow with the pages.
MOST_OF_SITE = 1024

Sampled = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)

_REST, _SHIFT = np.uint64(ONE_IN - 1), np.uint64(32)


def sample(shingles: Hashes) -> bytes:
    """Return the sample of *shingles*, hashes in order; at most `MOST` of `SAMPLED_BYTES` each."""
    chosen: Sampled = (shingles[shingles & _REST == 0] >> _SHIFT).astype("<u4")
    return different(chosen)[:MOST].tobytes()


def of_site(sample: bytes) -> bytes:
    """Return that part of a *sample* by which pages of a site are known."""
    return sample[: MOST_OF_SITE * SAMPLED_BYTES]


def sampled(sample: bytes) -> Sampled:
    """Return the hashes of a *sample*, in order."""
    return np.frombuffer(sample, "<u4")


def different(ordered: NDArray[Number]) -> NDArray[Number]:
    """Return the different ones of *ordered* hashes.  (`numpy.unique` hashes them once more.)"""
    return ordered[_firsts(ordered)]


def count_different(ordered: Hashes) -> int:
    """Return how many different ones there are of *ordered* hashes."""
    return int(np.count_nonzero(_firsts(ordered)))


def _firsts(ordered: NDArray[Number]) -> NDArray[np.bool_]:
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first


def places(hashes: Sampled, among: Sampled) -> NDArray[np.intp]:
    """Return where each of *hashes* stands in the ordered *among*, -1 where it does not."""
    if not len(among):
        return np.full(len(hashes), -1)
    found = among.searchsorted(hashes)
    found[found == len(among)] = 0
    return np.where(among[found] == hashes, found, -1)


def comparable(one: bytes, other: bytes, most: int = MOST) -> tuple[Sampled, Sampled]:
    """Return the parts of two samples that are comparable: one of *most* says nothing beyond its end."""
    both = sampled(one), sampled(other)
    if ends := [hashes[-1] for hashes in both if len(hashes) == most]:
        first, second = (hashes[: hashes.searchsorted(min(ends), "right")] for hashes in both)
        return first, second
    return both


def lost_hashes(page: bytes, kept: bytes, most: int) -> tuple[int, int]:
    """Return how many hashes of *page* can be compared with *kept*, and how many of those it lacks."""
    of_page, of_kept = comparable(page, kept, most)
    return len(of_page), int((places(of_page, of_kept) < 0).sum())
