"""SimHash: many weighted features folded into one number, so that similar sets give near numbers.

M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, sec. 3;
G. Manku, A. Jain, A. Das Sarma, Detecting near-duplicates for web crawling, WWW 2007, sec. 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hasher, Hashes, hashes_of, mixed, murmur3

SIZES = (64, 128, 256)

_STEP = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio
_MASK = (1 << 64) - 1
# Sums of integers stay exact in a float64 below 2**53, in whatever order they are added.
_EXACT_BITS = 52

# A bit of a hash takes 9 bytes while votes are counted, so a page of a million terms 580 MB at once.
_AT_ONCE = 16_384

Weights = NDArray[np.float64]


def simhash(
    weights: Mapping[str, float], *, hasher: Hasher = murmur3, tie: bool = False, bits: int = 64
) -> int:
    """Return the SimHash of *weights*, a map from feature to weight, an unsigned integer of *bits*.

    Bit i is set when the features' hashes vote for it by weight; a tie leaves it clear unless
    *tie*.  No features give 0, with *tie* too.  Weights may be negative; they must be finite,
    else `ConfigError`.  *hasher* maps a feature to an unsigned 64-bit hash.  128 or 256 *bits* are
    for comparison without an index; the lowest 64 of them are the SimHash of 64 bits.

    >>> simhash({})
    0
    >>> simhash({"a": 2.0}) == murmur3("a")
    True
    """
    if bits not in SIZES:
        raise ConfigError(f"bits ({bits!r}) must be one of {', '.join(map(str, SIZES))}")
    if not weights:
        return 0
    hashes = hashes_of(weights.keys(), hasher)
    values = _exact(np.fromiter(weights.values(), np.float64))
    return sum(
        fold(mixed(hashes + np.uint64(part * _STEP & _MASK)) if part else hashes, values, tie=tie)
        << SIMHASH_BITS * part
        for part in range(bits // SIMHASH_BITS)
    )


def fold(hashes: Hashes, weights: Weights, *, tie: bool = False) -> int:
    """Return the SimHash of hashed features; *weights* are whole numbers that sum below 2**53."""
    if not len(hashes):
        return 0
    votes = np.zeros(SIMHASH_BITS)
    for start in range(0, len(hashes), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        data = np.ascontiguousarray(hashes[part], "<u8").view(np.uint8)
        bits = np.unpackbits(data, bitorder="little").reshape(-1, SIMHASH_BITS)
        votes += 2 * np.dot(weights[part], bits)
    total = weights.sum()
    is_set = votes >= total if tie else votes > total
    return int.from_bytes(np.packbits(is_set, bitorder="little").tobytes(), "little")


def _exact(weights: Weights) -> Weights:
    """Return finite *weights* as whole numbers in the same proportion, fine enough and exactly summable.

    Raises `ConfigError` unless they and their sum are finite.
    """
    total = math.fsum(np.abs(weights).tolist())  # in whatever order, the same
    if not math.isfinite(total):
        raise ConfigError("weights of a SimHash must be finite numbers with a finite sum")
    if not total:
        return weights
    scale = _EXACT_BITS - math.frexp(total)[1]
    return np.rint(np.ldexp(weights, scale))


# All pairs of near simhashes in one pass over sorted arrays, for batch work

MAX_PAIR_DISTANCE = 7

# What it costs to permute and sort one simhash, in comparisons of two simhashes.
_SORT_COST = 40

Block = tuple[int, int]
Places = NDArray[np.intp]


def near_pairs(simhashes: Hashes, max_distance: int) -> Iterator[tuple[int, int]]:
    """Yield each pair (a, b), a < b, of *simhashes* within *max_distance* bits (0 to 7), once.

    *simhashes* must be distinct; they are not changed.  The order of the pairs is not defined.

    Cut 64 bits into n blocks; simhashes within k bits agree in at least n - k blocks.  For every choice
    of n - k blocks, simhashes that agree in them stand side by side once these bits are moved to the
    front and the simhashes are sorted (Manku et al. 2007, sec. 3).  A pair is given for one choice only.
    """
    if not 0 <= max_distance <= MAX_PAIR_DISTANCE:
        raise ConfigError(f"max_distance ({max_distance}) must be 0 to {MAX_PAIR_DISTANCE} for pairs")
    if max_distance == 0:
        return
    count = _number_of_blocks(len(simhashes), max_distance)
    edges = pairwise(SIMHASH_BITS * block // count for block in range(count + 1))
    blocks = [(low, high - low) for low, high in edges]
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
        return float(math.comb(blocks, agreeing) * (_SORT_COST + pairs))

    return min(range(max_distance + 1, max_distance + 7), key=cost)


def _moved(simhashes: Hashes, order: list[Block], *, back: bool = False) -> Hashes:
    """Return *simhashes* with their blocks in *order*, the first at the highest bits, or back."""
    moved = np.zeros(len(simhashes), np.uint64)
    place = SIMHASH_BITS
    for low, width in order:
        place -= width
        source, target = (place, low) if back else (low, place)
        moved |= (simhashes >> np.uint64(source) & np.uint64((1 << width) - 1)) << np.uint64(target)
    return moved
