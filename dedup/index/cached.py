"""Simhashes held in memory: near ones are found many times sooner than in the chunks of a file.

They stand in blocks as in `dedup.index.postings`: an array for each block, in the order of its keys,
and for each key where its simhashes begin.  What was added lately is a tail, all of which is looked
at.  A simhash takes 40 bytes, or 8 in the tail.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup import native
from dedup.index.chunks import near_of
from dedup.index.postings import key_masks, layout
from dedup.values.hashes import Hashes

# Up to so many simhashes, looking at all of them is as fast as looking keys up.
_LEAST_IN_TAIL, MOST_IN_TAIL = 1 << 6, 1 << 13
# With so many blocks the searches of a crawl, up to 10 bits, look at the fewest simhashes.
_LAYOUT = layout(5)
# Further than the keys within two bits, all simhashes are looked at.
_RADII = 3

Numbers = NDArray[np.int64]


class Block(NamedTuple):
    """The *simhashes* by their keys in one block, and where each key begins, and the last one ends."""

    simhashes: Hashes
    starts: Numbers


class CachedSimhashes:
    """A set of simhashes, at first those of an array, which has each once."""

    def __init__(self, simhashes: Hashes) -> None:
        self._set_blocks([])
        # Only the first `_size` are in use; behind them is room.
        self._tail, self._size = simhashes[:0], 0
        # What stands in the blocks, but was taken out.
        self._gone: set[int] = set()
        if len(simhashes) <= MOST_IN_TAIL:
            self._tail, self._size = simhashes, len(simhashes)
        else:
            self._set_blocks(_blocks_of(simhashes))

    def _set_blocks(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        compiled = native.search()
        self._compiled: Any = compiled and compiled.Blocks(
            [(*block, *place) for block, place in zip(blocks, _LAYOUT, strict=False)]
        )

    def __len__(self) -> int:
        in_blocks = len(self._blocks[0].simhashes) if self._blocks else 0
        return in_blocks + self._size - len(self._gone)

    def __contains__(self, simhash: int) -> bool:
        return len(self.near(simhash, 0)) > 0

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash*, sorted."""
        if self._compiled is None:
            parts = [self._tail[: self._size], *self._around(simhash, max_distance)]
            looked_at = parts[0] if len(parts) == 1 else np.concatenate(parts)
            found = near_of(looked_at, simhash, max_distance)
        else:
            packed = self._compiled.near(self._tail, self._size, simhash, max_distance)
            found = np.frombuffer(packed, np.uint64)
        if self._gone:
            found = found[[one not in self._gone for one in found.tolist()]]
        return found

    def add(self, simhash: int) -> None:
        """Add *simhash*, which must not be there."""
        if simhash in self._gone:
            self._gone.remove(simhash)
            return
        if self._size == len(self._tail):
            self._grow()
        self._tail[self._size] = simhash
        self._size += 1

    def _grow(self) -> None:
        if self._size < MOST_IN_TAIL:
            size = min(MOST_IN_TAIL, max(_LEAST_IN_TAIL, 2 * self._size))
            self._tail = np.concatenate((self._tail, np.zeros(size - self._size, np.uint64)))
        else:
            self._set_blocks(_blocks_of(np.concatenate((*self._in_blocks(), self._tail))))
            self._size = 0

    def remove(self, simhash: int) -> None:
        """Take *simhash* out, which must be there."""
        places = np.flatnonzero(self._tail[: self._size] == np.uint64(simhash))
        if not len(places):
            self._gone.add(simhash)
            return
        self._size -= 1
        self._tail[places[0]] = self._tail[self._size]

    def _in_blocks(self) -> list[Hashes]:
        return [block.simhashes for block in self._blocks[:1]]

    def _around(self, simhash: int, max_distance: int) -> list[Hashes]:
        """Return simhashes of the blocks, among them all within *max_distance* bits of *simhash*."""
        if max_distance >= len(_LAYOUT) * _RADII:
            return self._in_blocks()
        found = []
        for (simhashes, starts), (shift, width), masks in zip(
            self._blocks, _LAYOUT, _masks(max_distance), strict=False
        ):
            keys = masks ^ (simhash >> shift & (1 << width) - 1)
            edges = zip(starts[keys].tolist(), starts[keys + 1].tolist(), strict=True)
            found += [simhashes[start:end] for start, end in edges if start < end]
        return found


@cache
def _masks(max_distance: int) -> tuple[Numbers, ...]:
    """Return, for each block, how keys may differ for all within *max_distance* bits to be found."""
    radius, extra = divmod(max_distance, len(_LAYOUT))
    return tuple(
        np.array(key_masks(width, radius if block <= extra else radius - 1), np.int64)
        for block, (_, width) in enumerate(_LAYOUT)
    )


def _blocks_of(simhashes: Hashes) -> list[Block]:
    return [_block_of(simhashes, shift, width) for shift, width in _LAYOUT]


def _block_of(simhashes: Hashes, shift: int, width: int) -> Block:
    # On 16 bits numpy sorts by radix, many times faster.
    keys = (simhashes >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
    counts = np.bincount(keys, minlength=1 << width)
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    return Block(simhashes[keys.argsort(kind="stable")], starts)
