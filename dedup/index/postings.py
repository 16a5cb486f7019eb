"""Posting lists: words cut into blocks, so that near words are found without looking at all.

    word  |  block 0  |  block 1  |  block 2  |  block 3  |     64 bits in 4 to 8 blocks

Two words within distance k share at least one block up to a few bits (pigeonhole).  With m blocks
and k = m*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

A key of a block leads to chunks of up to CHUNK words.  List, block, key and chunk are packed into
the row's integer key, so a lookup is a range of neighbouring rows:

    list (26 bits)  |  block (3)  |  key (16)  |  chunk (18)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.errors import ConfigError
from dedup.hashing import Words
from dedup.words import WORD_BITS

MIN_BLOCKS, MAX_BLOCKS = 4, 8
DEFAULT_BLOCKS = 5
# Two full chunks fill a page of SQLite's; with 256 words only one would fit.
CHUNK = 252
FIELDS = ("content", "structure")

SCHEMA = "CREATE TABLE postings (id INTEGER PRIMARY KEY, words BLOB NOT NULL)"

_CHUNK_BITS, _KEY_BITS, _BLOCK_BITS = 18, 16, 3
_KEY_SPAN = (1 << _CHUNK_BITS) - 1
_LIST_SHIFT = _CHUNK_BITS + _KEY_BITS + _BLOCK_BITS
_MAX_LIST = (1 << (63 - _LIST_SHIFT)) - 1
_WORD_BYTES = WORD_BITS // 8
# Bound values in one statement; SQLite's own limit is 32,766.
_KEYS_A_STATEMENT = 500
# Up to so many words, asking for each is faster than reading the whole list.
_FEW = 10_000


class PostingList:
    """The distinct words of one field ("content", "structure") of one scope, through *connection*.

    Runs inside the caller's transaction and commits nothing.  *scope* is a small number.
    """

    def __init__(
        self, connection: sqlite3.Connection, field: str, scope: int, *, blocks: int = DEFAULT_BLOCKS
    ) -> None:
        self.field, self.scope = field, scope
        number = scope * len(FIELDS) + FIELDS.index(field)
        if not 0 <= number <= _MAX_LIST:
            raise ConfigError(f"scope number ({scope}) must be 0 to {_MAX_LIST // len(FIELDS)}")
        self._connection = connection
        self._base = number << _LIST_SHIFT
        self._layout = layout(blocks)

    def add(self, word: int) -> None:
        """Add *word*, which must not be 0 and not be in the list yet."""
        for block in range(len(self._layout)):
            self._append(self._key_start(block, word), _word_bytes(word))

    def add_many(self, words: Words) -> int:
        """Add the *words* that are not there yet, any number at once; return how many were new.

        Like `add` for each, but sorted by key first, so that every chunk is written once.
        """
        new = self._new(_distinct(np.ascontiguousarray(words, np.uint64)))
        for block, (shift, width) in enumerate(self._layout):
            keys = (new >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
            order = np.argsort(keys, kind="stable")
            self._append_sorted(block, keys[order], new[order])
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
        """Return the words within *max_distance* bits (inclusive) of *word* as a sorted array."""
        keys = self._probes(word, max_distance)
        parts = []
        for start in range(0, len(keys), _KEYS_A_STATEMENT):
            words = self._words(keys[start : start + _KEYS_A_STATEMENT])
            parts.append(words[np.bitwise_count(words ^ np.uint64(word)) <= max_distance])
        found: Words = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return _distinct(found)

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
        return _joined(rows.fetchall())

    def problems(self, expected: set[int]) -> Iterator[str]:
        """Yield what is wrong with the list if it should hold the *expected* words."""
        for block in range(len(self._layout)):
            words = self.block_words(block).tolist()
            for problem, count in (
                ("words without a page", len(set(words) - expected)),
                ("words missing", len(expected - set(words))),
                ("words twice", len(words) - len(set(words))),
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

    def clear(self) -> None:
        """Take all words out."""
        for block in range(1 << _BLOCK_BITS):
            self._connection.execute(
                "DELETE FROM postings WHERE id BETWEEN ? AND ?", self._block_range(block)
            )

    @property
    def blocks(self) -> int:
        """How many blocks a word is cut into."""
        return len(self._layout)

    def _probes(self, word: int, max_distance: int) -> list[int]:
        radius, extra = divmod(max_distance, len(self._layout))
        keys: list[int] = []
        for block, (_, width) in enumerate(self._layout):
            masks = _shifted_masks(width, radius if block <= extra else radius - 1)
            if masks:
                start = self._key_start(block, word)
                keys += [start ^ mask for mask in masks]
        return keys

    def _words(self, keys: list[int]) -> Words:
        return _joined(self._connection.execute(_lookup(len(keys)), keys).fetchall())

    def _key_start(self, block: int, word: int) -> int:
        shift, width = self._layout[block]
        key = word >> shift & (1 << width) - 1
        return self._base | ((block << _KEY_BITS | key) << _CHUNK_BITS)

    def _block_range(self, block: int) -> tuple[int, int]:
        start = self._base + (block << (_KEY_BITS + _CHUNK_BITS))
        return start, start + (1 << (_KEY_BITS + _CHUNK_BITS)) - 1

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

    def _append_sorted(self, block: int, keys: NDArray[np.uint16], words: Words) -> None:
        """Append *words* to the chunks of their *keys*; both are sorted by key."""
        if not len(words):
            return
        edges = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [len(keys)]))
        last_chunks = self._last_chunks(block)
        data = words.astype("<u8", copy=False).tobytes()
        size = CHUNK * _WORD_BYTES

        def rows() -> Iterator[tuple[int, bytes]]:
            for first, end in pairwise((edges * _WORD_BYTES).tolist()):
                key = int(keys[first // _WORD_BYTES])
                chunk, tail = last_chunks.get(
                    key, (self._block_range(block)[0] | key << _CHUNK_BITS, b"")
                )
                content = tail + data[first:end]
                for start in range(0, len(content), size):
                    yield chunk, content[start : start + size]
                    chunk += 1

        self._connection.executemany("INSERT OR REPLACE INTO postings VALUES (?, ?)", rows())

    def _last_chunks(self, block: int) -> dict[int, tuple[int, bytes]]:
        """Return for each key of *block* the number of its last chunk and what is in it."""
        rows = self._connection.execute(
            f"SELECT id, words FROM postings p WHERE id BETWEEN ? AND ? AND NOT EXISTS ("
            f"SELECT 1 FROM postings q WHERE q.id BETWEEN p.id + 1 AND p.id | {_KEY_SPAN})",
            self._block_range(block),
        )
        key_mask = (1 << _KEY_BITS) - 1
        return {
            chunk >> _CHUNK_BITS & key_mask: (chunk, data)
            if len(data) < CHUNK * _WORD_BYTES
            else (chunk + 1, b"")
            for chunk, data in rows
        }

    def _append(self, start: int, word: bytes) -> None:
        last = self._connection.execute(
            "SELECT id, length(words) FROM postings WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (start, start + _KEY_SPAN),
        ).fetchone()
        if last and last[1] < CHUNK * _WORD_BYTES:
            # The concatenation of two blobs is text in SQLite.
            self._connection.execute(
                "UPDATE postings SET words = CAST(words || ? AS BLOB) WHERE id = ?", (word, last[0])
            )
        else:
            self._connection.execute(
                "INSERT INTO postings VALUES (?, ?)", (last[0] + 1 if last else start, word)
            )

    def _cut(self, start: int, word: int) -> bool:
        rows = self._connection.execute(
            "SELECT id, words FROM postings WHERE id BETWEEN ? AND ?", (start, start + _KEY_SPAN)
        ).fetchall()
        for chunk, data in rows:
            words = np.frombuffer(data, "<u8")
            rest = words[words != np.uint64(word)]
            if len(rest) < len(words):
                self._store(chunk, rest)
                return True
        return False

    def _store(self, chunk: int, words: Words) -> None:
        if len(words):
            self._connection.execute(
                "UPDATE postings SET words = ? WHERE id = ?", (words.tobytes(), chunk)
            )
        else:
            self._connection.execute("DELETE FROM postings WHERE id = ?", (chunk,))


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
    return tuple(mask << _CHUNK_BITS for mask in key_masks(width, radius))


@cache
def _lookup(keys: int) -> str:
    if keys <= MAX_BLOCKS:
        return " UNION ALL ".join(
            f"SELECT words FROM postings WHERE id BETWEEN ?{key} AND ?{key} + {_KEY_SPAN}"
            for key in range(1, keys + 1)
        )
    values = ",".join(["(?)"] * keys)
    return (
        f"WITH k(start) AS (VALUES {values}) SELECT words FROM k CROSS JOIN postings "
        f"ON id BETWEEN start AND start + {_KEY_SPAN}"
    )


def _joined(rows: list[tuple[bytes]]) -> Words:
    return np.frombuffer(b"".join([words for (words,) in rows]), "<u8")


def _distinct(words: Words) -> Words:
    """Return *words* sorted, each once; on large arrays several times faster than `np.unique`."""
    if len(words) < 2:
        return words
    words = np.sort(words)
    distinct: Words = words[np.concatenate(([True], words[1:] != words[:-1]))]
    return distinct


def _word_bytes(word: int) -> bytes:
    return word.to_bytes(_WORD_BYTES, "little")
