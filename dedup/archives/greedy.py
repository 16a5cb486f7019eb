"""The greedy rule: a page is dropped only for a page before it that is kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Decided(NamedTuple):
    """Pages, by their numbers, that are *kept* and that are *dropped*; of others it is open."""

    kept: Numbers
    dropped: Numbers


def decided(a: Numbers, b: Numbers, waiting: Collection[int] = ()) -> Decided:
    """Return what becomes of the pages of edges: *b* repeats *a*, which is earlier.

    A page that nothing before it is left to repeat is kept, unless it is *waiting* to be compared with
    more pages; what may repeat a page whose fate is open is open too.

    >>> found = decided(np.array([1, 2]), np.array([2, 3]))
    >>> found.kept.tolist(), found.dropped.tolist()
    ([1, 3], [2])
    """
    order = np.lexsort((a, b))
    open_pages = set(waiting)
    kept: set[int] = set()
    dropped: set[int] = set()
    earlier: dict[int, list[int]] = {}
    for one, other in zip(a[order].tolist(), b[order].tolist(), strict=True):
        earlier.setdefault(other, []).append(one)
    for page in sorted({*a.tolist(), *earlier}):
        before = earlier.get(page, ())
        if not kept.isdisjoint(before):
            dropped.add(page)
        elif page not in open_pages and dropped.issuperset(before):
            kept.add(page)
    return Decided(_array(kept), _array(dropped))


def _array(pages: set[int]) -> Numbers:
    return np.array(sorted(pages), np.int64)
