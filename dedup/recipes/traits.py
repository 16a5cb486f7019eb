"""What tells a page from its like, however much frame they share: its title and its pairs of words.

Traits are 32-bit hashes: that of the title, then the `dedup.recipes.pairs` of the text.
"""

from __future__ import annotations

import numpy as np

from dedup.recipes.pairs import MOST_PAIRS
from dedup.recipes.sample import SAMPLED_BYTES, comparable, places
from dedup.values.hashes import hashes_of

_SHIFT = np.uint64(32)


def traits(title: str, pairs: bytes = b"") -> bytes:
    """Return the traits of a page with *title* and its *pairs*: 4 bytes each."""
    own: bytes = (hashes_of([title]) >> _SHIFT).astype("<u4").tobytes()
    return own + pairs


def title_in(traits: bytes) -> bytes:
    """Return the hash of the title in *traits*."""
    return traits[:SAMPLED_BYTES]


def other_pairs(kept: bytes, page: bytes) -> bytes:
    """Return the hashes of those pairs of *page* that are not in the traits of *kept*."""
    here, there = comparable(page[SAMPLED_BYTES:], kept[SAMPLED_BYTES:], MOST_PAIRS)
    found: bytes = here[places(here, there) < 0].tobytes()
    return found


def count_pairs(traits: bytes) -> int:
    """Return how many pairs are in *traits*."""
    return len(traits[SAMPLED_BYTES:]) // SAMPLED_BYTES


UNTITLED = traits("")
"""The hash of the title of a page that has none."""
