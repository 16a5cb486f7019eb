"""Posting lists: words cut into blocks, so that near words are found without looking at all.

    word  |  block 0  |  block 1  |  block 2  |  block 3  |     64 bits in 4 to 8 blocks

Two words within distance k share at least one block up to a few bits (pigeonhole).  With m blocks
and k = m*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

A place of the list (see `chunks`) is a block (3 bits) and a key of it (16).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise

import numpy as np

from dedup.errors import ConfigError
from dedup.fingerprints import WORD_FIELDS
from dedup.hashing import Words
from dedup.index.chunks import CHUNK_BITS, Chunks, check_scope, joined, words_of
from dedup.index.files import Damaged
from dedup.words import WORD_BITS

MIN_BLOCKS, MAX_BLOCKS = 4, 8
DEFAULT_BLOCKS = 5

_KEY_BITS = 16
_WORD_BYTES = WORD_BITS // 8
# Bound values in one statement; SQLite's own limit is 32,766.
_KEYS_A_STATEMENT = 500
# Up to so many words, asking for each is faster than reading the whole list.
_FEW = 10_000
# Further from a word than its keys within two bits, reading the whole list is as fast.
_RADII = 3


class PostingList(Chunks):
    """The distinct words of one field ("content", "structure") of one scope, through *connection*.

    Runs inside the caller's transaction and commits nothing.  *scope* is a small number.
    """

    def __init__(
        self, connection: sqlite3.Connection, field: str, scope: int, *, blocks: int = DEFAULT_BLOCKS
    ) -> None:
        check_scope(scope)
        super().__init__(connection, scope * len(WORD_FIELDS) + WORD_FIELDS.index(field))
        self.field, self.scope = field, scope
        self._layout = layout(blocks)

    def add(self, word: int) -> None:
        """Add *word*, which must not be 0 and not be in the list yet."""
        for block in range(len(self._layout)):
            self._append(self._key_start(block, word), word)

    def add_many(self, words: Words) -> int:
        """Add the *words* that are not there yet, any number at once; return how many were new.

        Like `add` for each, but sorted by key first, so that every chunk is written once.
        """
        new = self._new(_distinct(np.ascontiguousarray(words, np.uint64)))
        for block, (shift, width) in enumerate(self._layout):
            # On 16 bits numpy sorts by radix, many times faster.
            keys = (new >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
            order = np.argsort(keys, kind="stable")
            starts = self._block_range(block)[0] | keys[order].astype(np.int64) << CHUNK_BITS
            self._append_sorted(starts, new[order])
        return len(new)

    def remove(self, word: int) -> bool:
        """Take *word* out; return False if it was not in the list."""
        cut = [self._cut(self._key_start(block, word), word) for block in range(len(self._layout))]
        return all(cut)

    def __contains__(self, word: int) -> bool:
        return bool(np.any(self._words([self._key_start(0, word)]) == np.uint64(word)))

    def find(self, word: int, max_distance: int) -> list[int]:
        """Return the words within *max_distance* bits (inclusive) of *word*, in no order."""
        found: list[int] = self.near(word, max_distance).tolist()
        return found

    def near(self, word: int, max_distance: int) -> Words:
        """Return the words within *max_distance* bits (inclusive) of *word* as a sorted array.

        Further than a few bits a block, that is found by looking at all words.
        """
        if max_distance >= len(self._layout) * _RADII:
            words = self.words()
            near: Words = words[np.bitwise_count(words ^ np.uint64(word)) <= max_distance]
            return near
        keys = self._probes(word, max_distance)
        parts = []
        for start in range(0, len(keys), _KEYS_A_STATEMENT):
            words = self._words(keys[start : start + _KEYS_A_STATEMENT])
            parts.append(words[np.bitwise_count(words ^ np.uint64(word)) <= max_distance])
        found: Words = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return _distinct(found)

    def nearest(self, word: int, max_distance: int = WORD_BITS) -> tuple[int, Words] | None:
        """Return the smallest distance to *word* and all words at it, sorted; None if none is within.

        Looks ever further around, and at all words where nothing is near.
        """
        reaches = [len(self._layout) * (radius + 1) - 1 for radius in range(_RADII)]
        for reach in (*reaches, WORD_BITS):
            near = self.near(word, reach)
            distances = np.bitwise_count(near ^ np.uint64(word))
            distance = int(distances.min(initial=WORD_BITS + 1))
            if distance <= reach or reach >= max_distance:
                found = near[distances == distance]
                return (distance, found) if distance <= max_distance else None
        return None

    def count(self) -> int:
        """Return how many words there are."""
        start, end = self._block_range(0)
        (size,) = self._connection.execute(
            "SELECT total(length(words)) FROM postings WHERE id BETWEEN ? AND ?", (start, end)
        ).fetchone()
        return int(size) // _WORD_BYTES

    def words(self) -> Words:
        """Return all words of the list, sorted, as the first block has them."""
        return np.sort(self.block_words(0))

    def block_words(self, block: int) -> Words:
        """Return the words that stand under *block*; the same for every block of a sound list."""
        rows = self._connection.execute(
            "SELECT words FROM postings WHERE id BETWEEN ? AND ?", self._block_range(block)
        )
        return joined(rows.fetchall())

    def problems(self, expected: set[int]) -> Iterator[str]:
        """Yield what is wrong with the list if it should hold the *expected* words."""
        for block in range(len(self._layout)):
            try:
                words = self.block_words(block).tolist()
                misplaced = self._misplaced(block)
            except Damaged as error:
                yield f"block {block}: {error}"
                continue
            for problem, count in (
                ("words without a page", len(set(words) - expected)),
                ("words missing", len(expected - set(words))),
                ("words twice", len(words) - len(set(words))),
                ("words at a wrong place", misplaced),
            ):
                if count:
                    yield f"block {block}: {count} {problem}"

    def disagreements(self) -> Iterator[str]:
        """Yield where the blocks disagree about what is in the list."""
        words = self.words()
        if len(words) > 1 and np.any(words[1:] == words[:-1]):
            yield "block 0: words twice"
        for block in range(1, len(self._layout)):
            if not np.array_equal(np.sort(self.block_words(block)), words):
                yield f"block {block}: not the words of block 0"

    def _misplaced(self, block: int) -> int:
        """Return how many words stand under another key than theirs, where nobody finds them."""
        shift, width = (np.uint64(number) for number in self._layout[block])
        first, last = self._block_range(block)
        chunks = self._connection.execute(
            "SELECT id, words FROM postings WHERE id BETWEEN ? AND ?", (first, last)
        )
        misplaced = 0
        for chunk, data in chunks:
            keys = words_of(data) >> shift & (np.uint64(1) << width) - np.uint64(1)
            misplaced += int(np.count_nonzero(keys != np.uint64(chunk - first >> CHUNK_BITS)))
        return misplaced

    def _probes(self, word: int, max_distance: int) -> list[int]:
        radius, extra = divmod(max_distance, len(self._layout))
        keys: list[int] = []
        for block, (_, width) in enumerate(self._layout):
            masks = _shifted_masks(width, radius if block <= extra else radius - 1)
            if masks:
                start = self._key_start(block, word)
                keys += [start ^ mask for mask in masks]
        return keys

    def _key_start(self, block: int, word: int) -> int:
        shift, width = self._layout[block]
        key = word >> shift & (1 << width) - 1
        return self._base | ((block << _KEY_BITS | key) << CHUNK_BITS)

    def _block_range(self, block: int) -> tuple[int, int]:
        start = self._base + (block << (_KEY_BITS + CHUNK_BITS))
        return start, start + (1 << (_KEY_BITS + CHUNK_BITS)) - 1

    def _new(self, words: Words) -> Words:
        """Return those of *words*, sorted and distinct, that are not in the list."""
        if len(words) > _FEW:
            known = self.words()
        else:
            starts = sorted({self._key_start(0, word) for word in words.tolist()})
            parts = [
                self._words(starts[first : first + _KEYS_A_STATEMENT])
                for first in range(0, len(starts), _KEYS_A_STATEMENT)
            ]
            known = np.sort(np.concatenate(parts)) if parts else words
        if not len(known) or not len(words):
            return words
        places = np.minimum(np.searchsorted(known, words), len(known) - 1)
        new: Words = words[known[places] != words]
        return new


@cache
def layout(blocks: int) -> tuple[tuple[int, int], ...]:
    """Return (shift, width) in bits of each block; widths differ by one at most.

    >>> layout(4)
    ((48, 16), (32, 16), (16, 16), (0, 16))
    """
    if not MIN_BLOCKS <= blocks <= MAX_BLOCKS:
        raise ConfigError(f"blocks ({blocks}) must be {MIN_BLOCKS} to {MAX_BLOCKS}")
    edges = [WORD_BITS - WORD_BITS * block // blocks for block in range(blocks + 1)]
    return tuple((low, high - low) for high, low in pairwise(edges))


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


def _distinct(words: Words) -> Words:
    """Return *words* sorted, each once; on large arrays several times faster than `np.unique`."""
    if len(words) < 2:
        return words
    words = np.sort(words)
    distinct: Words = words[np.concatenate(([True], words[1:] != words[:-1]))]
    return distinct
