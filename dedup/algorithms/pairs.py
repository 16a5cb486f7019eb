"""All pairs of near simhashes in one pass over sorted arrays, for batch work.

Cut 64 bits into n blocks; simhashes within k bits agree in at least n - k blocks.  For every choice of
n - k blocks, simhashes that agree in them stand side by side once these bits are moved to the front and
the simhashes are sorted (Manku et al. 2007, sec. 3).  A pair is given for the first choice only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hashes

MAX_PAIR_DISTANCE = 7

# What it costs to permute and sort one simhash, in comparisons of two simhashes.
_SORT_COST = 40

Block = tuple[int, int]
Places = NDArray[np.intp]


def near_pairs(simhashes: Hashes, max_distance: int) -> Iterator[tuple[int, int]]:
    """Yield each pair (a, b), a < b, of *simhashes* within *max_distance* bits (0 to 7), once.

    *simhashes* must be distinct; they are not changed.  The order of the pairs is not defined.
    """
    if not 0 <= max_distance <= MAX_PAIR_DISTANCE:
        raise ConfigError(f"max_distance ({max_distance}) must be 0 to {MAX_PAIR_DISTANCE} for pairs")
    if max_distance == 0:
        return
    blocks = _layout(_number_of_blocks(len(simhashes), max_distance))
    for chosen in combinations(range(len(blocks)), len(blocks) - max_distance):
        earlier = [blocks[b] for b in range(chosen[-1]) if b not in chosen]
        order = [blocks[b] for b in chosen] + [blocks[b] for b in range(len(blocks)) if b not in chosen]
        moved = np.sort(_moved(simhashes, order))
        shift = np.uint64(SIMHASH_BITS - sum(width for _, width in order[: len(chosen)]))
        for left, right in _neighbours(moved, shift):
            differing = np.bitwise_count(moved[left] ^ moved[right]) <= max_distance
            a = _moved(moved[left[differing]], order, back=True)
            b = _moved(moved[right[differing]], order, back=True)
            is_first = np.ones(len(a), bool)
            for low, width in earlier:
                mask = np.uint64(((1 << width) - 1) << low)
                is_first &= (a ^ b) & mask != 0
            low_simhashes, high_simhashes = np.minimum(a, b)[is_first], np.maximum(a, b)[is_first]
            yield from zip(low_simhashes.tolist(), high_simhashes.tolist(), strict=True)


def _neighbours(moved: Hashes, shift: np.uint64) -> Iterator[tuple[Places, Places]]:
    """Yield the places of all pairs of sorted simhashes that are equal above *shift*."""
    keys = moved >> shift
    left = np.flatnonzero(keys[1:] == keys[:-1])
    step = 1
    while len(left):
        yield left, left + step
        step += 1
        left = left[left < len(keys) - step]
        left = left[keys[left] == keys[left + step]]


def _number_of_blocks(count: int, max_distance: int) -> int:
    def cost(blocks: int) -> float:
        agreeing = blocks - max_distance
        pairs = count / 2 ** (agreeing * (SIMHASH_BITS // blocks))
        return float(comb(blocks, agreeing) * (_SORT_COST + pairs))

    return min(range(max_distance + 1, max_distance + 7), key=cost)


def _layout(blocks: int) -> list[Block]:
    edges = [SIMHASH_BITS * block // blocks for block in range(blocks + 1)]
    return [(low, high - low) for low, high in pairwise(edges)]


def _moved(simhashes: Hashes, order: list[Block], *, back: bool = False) -> Hashes:
    """Return *simhashes* with their blocks in *order*, the first at the highest bits, or back."""
    moved = np.zeros(len(simhashes), np.uint64)
    place = SIMHASH_BITS
    for low, width in order:
        place -= width
        source, target = (place, low) if back else (low, place)
        moved |= (simhashes >> np.uint64(source) & np.uint64((1 << width) - 1)) << np.uint64(target)
    return moved
