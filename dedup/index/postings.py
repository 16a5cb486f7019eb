"""Posting lists: simhashes cut into blocks, so that near simhashes are found without looking at all.

    simhash  |  block 0  |  block 1  |  block 2  |  block 3  |     64 bits in 4 to 8 blocks

Two simhashes within distance k share at least one block up to a few bits (pigeonhole).  With m blocks
and k = m*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

A place of the list (see `chunks`) is a block (3 bits) and a key of it (16).

What was added lately stands in a tail, a place that is no key of any block, all of which is looked at.
To put each simhash into all blocks at once would mean a page of the file for every block; those of a
full tail share pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, pairwise

import numpy as np

from dedup.index.chunks import (
    CHUNK_BITS,
    Chunks,
    Starts,
    check_scope,
    distinct,
    entries_of,
    joined,
    near_in,
)
from dedup.index.database_files import Damaged
from dedup.values.errors import ConfigError
from dedup.values.fingerprint import SIMHASH_FIELDS
from dedup.values.hashes import SIMHASH_BITS, Hashes

MIN_BLOCKS, MAX_BLOCKS = 4, 8
DEFAULT_BLOCKS = 5

_KEY_BITS = 16
# The last place: the last of 8 blocks has fewer keys.  Its chunks are chosen by the simhash, so that one
# is full when about all are; by a prime, because the last bits of pages of one site are alike.
_TAIL, _TAIL_CHUNKS, _PRIME = (1 << 3 + _KEY_BITS) - 1, 8, 1009
_ENTRY_BYTES = SIMHASH_BITS // 8
# Bound values in one statement; SQLite's own limit is 32,766.
_KEYS_A_STATEMENT = 500
# Up to so many simhashes, asking for each is faster than reading the whole list.
_FEW = 10_000
_OF_BLOCK = (
    "SELECT entries FROM postings WHERE id BETWEEN ? AND ? "
    "UNION ALL SELECT entries FROM postings WHERE id BETWEEN ? AND ?"
)
# Where keys within two bits of that of a simhash are not enough, reading the whole list is as fast.
_RADII = 3


class PostingList(Chunks):
    """The distinct simhashes of one field ("content", "structure") of one scope, through *connection*.

    Runs inside the caller's transaction and commits nothing.  *scope* is a small number.
    """

    def __init__(
        self, connection: sqlite3.Connection, field: str, scope: int, *, blocks: int = DEFAULT_BLOCKS
    ) -> None:
        check_scope(scope)
        super().__init__(connection, scope * len(SIMHASH_FIELDS) + SIMHASH_FIELDS.index(field))
        self.field, self.scope = field, scope
        self._layout = layout(blocks)
        self._tail = self._base | _TAIL << CHUNK_BITS

    def insert(self, simhash: int) -> None:
        """Add *simhash*, which must not be 0 and not be in the list yet."""
        chunk = self._tail | simhash % _PRIME % _TAIL_CHUNKS
        if not self._is_added(chunk, simhash):
            self._fold()
            self._is_added(chunk, simhash)

    def _fold(self) -> None:
        """Put all of the tail into the blocks."""
        simhashes = self._entries_at([self._tail])
        self._clear(self._place_range(self._tail))
        self._put(simhashes, self._append_each)

    def add_many(self, simhashes: Hashes) -> int:
        """Add the *simhashes* that are not there yet, any number at once; return how many were new.

        Like `insert` for each, but sorted by key first, so that every chunk is written once.
        """
        new = self._new(distinct(np.ascontiguousarray(simhashes, np.uint64)))
        self._put(new, self._append_sorted)
        return len(new)

    def _put(self, simhashes: Hashes, append: Callable[[Starts, Hashes], None]) -> None:
        for block, (shift, width) in enumerate(self._layout):
            # On 16 bits numpy sorts by radix, many times faster.
            keys = (simhashes >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
            order = np.argsort(keys, kind="stable")
            starts = self._block_range(block)[0] | keys[order].astype(np.int64) << CHUNK_BITS
            append(starts, simhashes[order])

    def remove(self, simhash: int) -> bool:
        """Take *simhash* out; return False if it was not in the list."""
        if self._cut(self._tail, simhash):
            return True
        cut = [self._cut(self._key_start(block, simhash), simhash) for block in range(len(self._layout))]
        return all(cut)

    def __contains__(self, simhash: int) -> bool:
        entries = self._entries_at([self._tail, self._key_start(0, simhash)])
        return bool(np.any(entries == np.uint64(simhash)))

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash* as a sorted array.

        At more than a few bits a block, all simhashes are looked at.
        """
        if max_distance >= len(self._layout) * _RADII:
            return near_in(self._chunks(0), simhash, max_distance)
        keys = self._probes(simhash, max_distance)
        parts = [
            near_in(self._chunks_at(keys[start : start + _KEYS_A_STATEMENT]), simhash, max_distance)
            for start in range(0, len(keys), _KEYS_A_STATEMENT)
        ]
        return parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))

    def all_nearest(self, simhash: int, max_distance: int) -> tuple[int, Hashes] | None:
        """Return the smallest distance to *simhash* and all at that distance, sorted; None for none.

        Looks ever further around, and at all simhashes where nothing is near.
        """
        reaches = [len(self._layout) * (radius + 1) - 1 for radius in range(_RADII)]
        for reach in (*reaches, SIMHASH_BITS):
            near = self.near(simhash, reach)
            distances = np.bitwise_count(near ^ np.uint64(simhash))
            distance = int(distances.min(initial=SIMHASH_BITS + 1))
            if distance <= reach or reach >= max_distance:
                found = near[distances == distance]
                return (distance, found) if distance <= max_distance else None
        return None

    def __len__(self) -> int:
        (size,) = self._connection.execute(
            "SELECT total(length(entries)) FROM postings WHERE id BETWEEN ? AND ? OR id BETWEEN ? AND ?",
            self._of_block(0),
        ).fetchone()
        return int(size) // _ENTRY_BYTES

    def hashes(self) -> Hashes:
        """Return all simhashes of the list, sorted, as the first block has them."""
        return np.sort(self.block_simhashes(0))

    def block_simhashes(self, block: int) -> Hashes:
        """Return the simhashes of *block* and of the tail: the same for every block of a sound list."""
        return joined(self._chunks(block))

    def _chunks(self, block: int) -> sqlite3.Cursor:
        return self._connection.execute(_OF_BLOCK, self._of_block(block))

    def _of_block(self, block: int) -> tuple[int, ...]:
        return *self._block_range(block), *self._place_range(self._tail)

    def faults(self, expected: set[int]) -> Iterator[str]:
        """Yield what is wrong with the list if it should hold the *expected* simhashes."""
        for block in range(len(self._layout)):
            try:
                simhashes = self.block_simhashes(block).tolist()
                misplaced = self._misplaced(block)
            except Damaged as error:
                yield f"block {block}: {error}"
                continue
            for problem, count in (
                ("simhashes without a page", len(set(simhashes) - expected)),
                ("simhashes missing", len(expected - set(simhashes))),
                ("simhashes twice", len(simhashes) - len(set(simhashes))),
                ("simhashes at a wrong place", misplaced),
            ):
                if count:
                    yield f"block {block}: {count} {problem}"

    def disagreements(self) -> Iterator[str]:
        """Yield where the blocks disagree about what is in the list."""
        simhashes = self.hashes()
        if len(simhashes) > 1 and np.any(simhashes[1:] == simhashes[:-1]):
            yield "block 0: simhashes twice"
        for block in range(1, len(self._layout)):
            if not np.array_equal(np.sort(self.block_simhashes(block)), simhashes):
                yield f"block {block}: not the simhashes of block 0"

    def _misplaced(self, block: int) -> int:
        """Return how many simhashes stand under another key than theirs, where nobody finds them."""
        shift, width = (np.uint64(number) for number in self._layout[block])
        first, last = self._block_range(block)
        chunks = self._connection.execute(
            "SELECT id, entries FROM postings WHERE id BETWEEN ? AND ?", (first, last)
        )
        misplaced = 0
        for chunk, data in chunks:
            keys = entries_of(data) >> shift & (np.uint64(1) << width) - np.uint64(1)
            place = chunk - first >> CHUNK_BITS  # below 0 where a damaged file gives others
            misplaced += len(keys) if place < 0 else int(np.count_nonzero(keys != np.uint64(place)))
        return misplaced

    def _probes(self, simhash: int, max_distance: int) -> list[int]:
        radius, extra = divmod(max_distance, len(self._layout))
        keys = [self._tail]
        for block, (_, width) in enumerate(self._layout):
            masks = _shifted_masks(width, radius if block <= extra else radius - 1)
            if masks:
                start = self._key_start(block, simhash)
                keys += [start ^ mask for mask in masks]
        return keys

    def _key_start(self, block: int, simhash: int) -> int:
        shift, width = self._layout[block]
        key = simhash >> shift & (1 << width) - 1
        return self._base | ((block << _KEY_BITS | key) << CHUNK_BITS)

    def _block_range(self, block: int) -> tuple[int, int]:
        start = self._base + (block << (_KEY_BITS + CHUNK_BITS))
        return start, min(start + (1 << (_KEY_BITS + CHUNK_BITS)), self._tail) - 1

    def _new(self, simhashes: Hashes) -> Hashes:
        """Return those of *simhashes*, sorted and distinct, that are not in the list."""
        if len(simhashes) > _FEW:
            known = self.hashes()
        else:
            starts = [self._tail, *sorted({self._key_start(0, one) for one in simhashes.tolist()})]
            parts = [
                self._entries_at(starts[first : first + _KEYS_A_STATEMENT])
                for first in range(0, len(starts), _KEYS_A_STATEMENT)
            ]
            known = np.sort(np.concatenate(parts)) if parts else simhashes
        if not len(known) or not len(simhashes):
            return simhashes
        places = np.minimum(np.searchsorted(known, simhashes), len(known) - 1)
        new: Hashes = simhashes[known[places] != simhashes]
        return new


@cache
def layout(blocks: int) -> tuple[tuple[int, int], ...]:
    """Return (shift, width) in bits of each block; widths differ by one at most.

    >>> layout(4)
    ((48, 16), (32, 16), (16, 16), (0, 16))
    """
    if not MIN_BLOCKS <= blocks <= MAX_BLOCKS:
        raise ConfigError(f"blocks ({blocks}) must be {MIN_BLOCKS} to {MAX_BLOCKS}")
    edges = [SIMHASH_BITS - SIMHASH_BITS * block // blocks for block in range(blocks + 1)]
    return tuple((low, high - low) for high, low in pairwise(edges))


def blocks_of(meta: object) -> int:
    """Return the number of blocks that the table `meta` tells; raises `Damaged`."""
    try:
        layout(blocks := int(str(meta)))
    except ValueError as error:  # as is a `ConfigError`
        raise Damaged(f"it does not tell its layout: {error}") from error
    return blocks


@cache
def key_masks(width: int, radius: int) -> tuple[int, ...]:
    """Return all numbers of *width* bits with at most *radius* bits set; none for a negative radius.

    >>> key_masks(3, 1)
    (0, 1, 2, 4)
    """
    return tuple(
        sum(1 << bit for bit in bits)
        for size in range(radius + 1)
        for bits in combinations(range(width), size)
    )


@cache
def _shifted_masks(width: int, radius: int) -> tuple[int, ...]:
    return tuple(mask << CHUNK_BITS for mask in key_masks(width, radius))
