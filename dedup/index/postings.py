"""Lists of entries in SQLite: under a key stand chunks of up to CHUNK entries, one row each.

List, place and chunk are packed into the row's integer key, so whatever stands at one place is a
range of neighbouring rows; a place is what the kind of list makes of it:

    list (26 bits)  |  place (19)  |  chunk (18)

Posting lists are made of them: simhashes cut into blocks, so that near ones are found without looking
at all.

    simhash  |  block 0  |  block 1  |  block 2  |  block 3  |     64 bits in 4 blocks of 16

Two simhashes within distance k share at least one block up to a few bits (pigeonhole).  With
k = 4*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

A place of a posting list is a block (3 bits) and a key of it (16).  With five blocks, k = 10 would need
fewer lookups, but look at more simhashes: of ten million it would take longer.

What was added lately stands in a tail, a place that is no key of any block, all of which is looked at.
To put each simhash into all blocks at once would mean a page of the file for every block; those of a
full tail share pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from dedup.index.files import Damaged
from dedup.model.errors import ConfigError
from dedup.model.fingerprint import SIMHASH_FIELDS
from dedup.model.hashes import SIMHASH_BITS, Hashes
from dedup.native import _search

# Two full chunks fill a page of SQLite's; with 256 entries only one would fit.
CHUNK = 252
SCHEMA = "CREATE TABLE postings (id INTEGER PRIMARY KEY, entries BLOB NOT NULL)"

CHUNK_BITS, _PLACE_BITS = 18, 19
_LIST_SHIFT = CHUNK_BITS + _PLACE_BITS
MAX_LIST = (1 << (63 - _LIST_SHIFT)) - 1
# A scope has two lists.
_MAX_SCOPE = MAX_LIST // 2

_SPAN = (1 << CHUNK_BITS) - 1
_ENTRY_BYTES = SIMHASH_BITS // 8
# A union of lookups is faster than a join while there are few.
_FEW_PLACES = 8
_NO_BYTES, _NO_ENTRIES = "a chunk of a list is no bytes", "a chunk of a list is no row of entries"

Starts = NDArray[np.int64]

# Most places have one chunk, which is made or has room.  The concatenation of two blobs is text in
# SQLite, hence the cast.
_APPEND_FIRST = (
    "INSERT INTO postings VALUES (?, ?) ON CONFLICT (id) DO UPDATE "
    "SET entries = CAST(entries || excluded.entries AS BLOB) "
    f"WHERE length(entries) < {CHUNK * _ENTRY_BYTES}"
)


def joined(rows: Iterable[tuple[bytes]]) -> Hashes:
    """Return the entries of several chunks as one array; raises `Damaged`."""
    chunks = [entries for (entries,) in rows]
    try:
        data = b"".join(chunks)
        if any(len(entries) % _ENTRY_BYTES for entries in chunks):
            raise Damaged(_NO_ENTRIES)
    except TypeError as error:
        raise Damaged(_NO_BYTES) from error
    return entries_of(data)


def near_in(rows: Iterable[tuple[bytes]], simhash: int, max_distance: int) -> Hashes:
    """Return the simhashes of several chunks within *max_distance* bits (inclusive) of *simhash*.

    They are sorted and distinct; raises `Damaged`.
    """
    try:
        found = _search.near_in_chunks(rows, simhash, max_distance)
    except TypeError as error:
        raise Damaged(_NO_BYTES) from error
    except ValueError as error:
        raise Damaged(_NO_ENTRIES) from error
    return np.frombuffer(found, np.uint64)


def distinct(simhashes: Hashes) -> Hashes:
    """Return *simhashes* sorted, each once; on large arrays several times faster than `np.unique`."""
    if len(simhashes) < 2:
        return simhashes
    simhashes = np.sort(simhashes)
    found: Hashes = simhashes[np.concatenate(([True], simhashes[1:] != simhashes[:-1]))]
    return found


def entries_of(data: bytes) -> Hashes:
    """Return the entries of one chunk; raises `Damaged`."""
    try:
        return np.frombuffer(data, "<u8")
    except (TypeError, ValueError) as error:
        raise Damaged(_NO_ENTRIES) from error


@cache
def _lookup(places: int) -> str:
    if places <= _FEW_PLACES:
        return " UNION ALL ".join(
            f"SELECT entries FROM postings WHERE id BETWEEN ?{place} AND ?{place} + {_SPAN}"
            for place in range(1, places + 1)
        )
    values = ",".join(["(?)"] * places)
    return (
        f"WITH k(start) AS (VALUES {values}) SELECT entries FROM k CROSS JOIN postings "
        f"ON id BETWEEN start AND start + {_SPAN}"
    )


BLOCKS, _KEY_BITS = 4, 16
# The last place, which no block has.  Its chunks are chosen by the simhash, so that one is full when
# about all are; by a prime, because the last bits of pages of one site are alike.
_TAIL, _TAIL_CHUNKS, _PRIME = (1 << 3 + _KEY_BITS) - 1, 8, 1009
# Bound values in one statement; SQLite's own limit is 32,766.
_KEYS_A_STATEMENT = 500
# So many are added at once, which takes some 900 MB; more are added in parts.
_PART = 1 << 24
_OF_BLOCK = (
    "SELECT entries FROM postings WHERE id BETWEEN ? AND ? "
    "UNION ALL SELECT entries FROM postings WHERE id BETWEEN ? AND ?"
)
# Where keys within two bits of that of a simhash are not enough, reading the whole list is as fast.
_RADII = 3


class PostingList:
    """The distinct simhashes of one field ("content", "structure") of one scope, through *connection*.

    Runs inside the caller's transaction and commits nothing.  *scope* is a small number.  A place is
    named by its *start*, the row key of its first chunk.
    """

    def __init__(self, connection: sqlite3.Connection, field: str, scope: int) -> None:
        if not 0 <= scope <= _MAX_SCOPE:
            raise ConfigError(f"scope number ({scope}) must be 0 to {_MAX_SCOPE}")
        self._connection = connection
        self._base = scope * len(SIMHASH_FIELDS) + SIMHASH_FIELDS.index(field) << _LIST_SHIFT
        self.field, self.scope = field, scope
        self._tail = self._base | _TAIL << CHUNK_BITS
        self._tail_range = self._tail, self._tail + _SPAN

    def insert(self, simhash: int) -> None:
        """Add *simhash*, which must not be 0 and not be in the list yet."""
        chunk = self._tail | simhash % _PRIME % _TAIL_CHUNKS
        if not self._is_added(chunk, simhash):
            self._fold()
            self._is_added(chunk, simhash)

    def _fold(self) -> None:
        """Put all of the tail into the blocks."""
        simhashes = self._entries_at([self._tail])
        self._connection.execute("DELETE FROM postings WHERE id BETWEEN ? AND ?", self._tail_range)
        self._put(simhashes, self._append_each)

    def add_many(self, simhashes: Hashes) -> int:
        """Add the *simhashes* that are not there yet, any number at once; return how many were new.

        Like `insert` for each, but sorted by key first, so that every chunk is written once.
        """
        added = 0
        for start in range(0, len(simhashes), _PART):
            part = np.ascontiguousarray(simhashes[start : start + _PART], np.uint64)
            new = self._new(distinct(part))
            self._put(new, self._append_sorted)
            added += len(new)
        return added

    def _put(self, simhashes: Hashes, append: Callable[[Starts, Hashes], None]) -> None:
        for block in range(BLOCKS):
            keys = keys_of(simhashes, block)
            order = np.argsort(keys, kind="stable")  # by radix, as they have 16 bits
            starts = self._block_range(block)[0] | keys[order].astype(np.int64) << CHUNK_BITS
            append(starts, simhashes[order])

    def remove(self, simhash: int) -> bool:
        """Take *simhash* out; return False if it was not in the list."""
        if self._cut(self._tail, simhash):
            return True
        cut = [self._cut(self._key_start(block, simhash), simhash) for block in range(BLOCKS)]
        return all(cut)

    def __contains__(self, simhash: int) -> bool:
        entries = self._entries_at([self._tail, self._key_start(0, simhash)])
        return bool(np.any(entries == np.uint64(simhash)))

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash* as a sorted array.

        At more than a few bits a block, all simhashes are looked at.
        """
        if max_distance >= BLOCKS * _RADII:
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
        reaches = [BLOCKS * (radius + 1) - 1 for radius in range(_RADII)]
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
        return *self._block_range(block), *self._tail_range

    def faults(self, expected: Hashes) -> Iterator[str]:
        """Yield what is wrong with the list if it should hold the *expected* simhashes, sorted."""
        expected = distinct(expected)
        for block in range(BLOCKS):
            try:
                simhashes = self.block_simhashes(block)
                misplaced = self._misplaced(block)
            except Damaged as error:
                yield f"block {block}: {error}"
                continue
            found = distinct(simhashes)
            shared = len(np.intersect1d(found, expected, assume_unique=True))
            for problem, count in (
                ("simhashes without a page", len(found) - shared),
                ("simhashes missing", len(expected) - shared),
                ("simhashes twice", len(simhashes) - len(found)),
                ("simhashes at a wrong place", misplaced),
            ):
                if count:
                    yield f"block {block}: {count} {problem}"

    def _misplaced(self, block: int) -> int:
        """Return how many simhashes stand under another key than theirs, where nobody finds them."""
        first, last = self._block_range(block)
        chunks = self._connection.execute(
            "SELECT id, entries FROM postings WHERE id BETWEEN ? AND ?", (first, last)
        )
        misplaced = 0
        for chunk, data in chunks:
            keys = keys_of(entries_of(data), block)
            place = chunk - first >> CHUNK_BITS  # below 0 where a damaged file gives others
            misplaced += len(keys) if place < 0 else int(np.count_nonzero(keys != place))
        return misplaced

    def _probes(self, simhash: int, max_distance: int) -> list[int]:
        radius, extra = divmod(max_distance, BLOCKS)
        keys = [self._tail]
        for block in range(BLOCKS if radius else extra + 1):
            start = self._key_start(block, simhash)
            keys += [start ^ mask for mask in _shifted_masks(radius - (block > extra))]
        return keys

    def _key_start(self, block: int, simhash: int) -> int:
        key = simhash >> _KEY_BITS * (BLOCKS - 1 - block) & (1 << _KEY_BITS) - 1
        return self._base | ((block << _KEY_BITS | key) << CHUNK_BITS)

    def _block_range(self, block: int) -> tuple[int, int]:
        start = self._base + (block << (_KEY_BITS + CHUNK_BITS))
        return start, start + (1 << (_KEY_BITS + CHUNK_BITS)) - 1

    def _new(self, simhashes: Hashes) -> Hashes:
        """Return those of *simhashes*, sorted and distinct, that are not in the list."""
        keys, edges = np.unique(keys_of(simhashes, 0), return_index=True)
        starts = (self._base | keys.astype(np.int64) << CHUNK_BITS).tolist()
        ends = [*edges.tolist(), len(simhashes)]
        tail, new = self._entries_at([self._tail]), [simhashes[:0]]
        for first in range(0, len(starts), _KEYS_A_STATEMENT):
            some = starts[first : first + _KEYS_A_STATEMENT]
            known = np.concatenate((tail, self._entries_at(some)))
            part = simhashes[ends[first] : ends[first + len(some)]]
            new.append(part[~np.isin(part, known)])
        return np.concatenate(new)

    # Chunks

    def _entries_at(self, starts: list[int]) -> Hashes:
        """Return the entries at several places, in no order."""
        return joined(self._chunks_at(starts))

    def _chunks_at(self, starts: list[int]) -> sqlite3.Cursor:
        return self._connection.execute(_lookup(len(starts)), starts)

    def _append(self, starts: Sequence[int], entries: Sequence[int]) -> None:
        """Append each of *entries* at its place, which has it not yet; no two of them have one place."""
        data = [entry.to_bytes(_ENTRY_BYTES, "little") for entry in entries]
        chunks = list(zip(starts, data, strict=True))
        if self._connection.executemany(_APPEND_FIRST, chunks).rowcount < len(chunks):
            for start, one in chunks:
                if not self._is_appended(start, one):
                    self._append_last(start, one)

    def _append_each(self, starts: Starts, entries: Hashes) -> None:
        """Append each of *entries* at its place, which has it not yet, in the order of places."""
        is_first = np.concatenate((starts[:1] == starts[:1], starts[1:] != starts[:-1]))
        self._append(starts[is_first].tolist(), entries[is_first].tolist())
        for start, entry in zip(starts[~is_first].tolist(), entries[~is_first].tolist(), strict=True):
            self._append((start,), (entry,))

    def _is_added(self, chunk: int, entry: int) -> bool:
        """Add *entry* to a chunk, which is made where there is none; return False if it is full."""
        data = entry.to_bytes(_ENTRY_BYTES, "little")
        return self._connection.execute(_APPEND_FIRST, (chunk, data)).rowcount > 0

    def _is_appended(self, start: int, data: bytes) -> bool:
        """Return whether *data* was appended to the first chunk of a place."""
        statement = f"SELECT substr(entries, -{_ENTRY_BYTES}) FROM postings WHERE id = ?"
        return bool(self._connection.execute(statement, (start,)).fetchone() == (data,))

    def _append_last(self, start: int, data: bytes) -> None:
        last = self._connection.execute(
            "SELECT id, length(entries) FROM postings WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (start, start + _SPAN),
        ).fetchone()
        if last and last[1] < CHUNK * _ENTRY_BYTES:
            self._connection.execute(
                "UPDATE postings SET entries = CAST(entries || ? AS BLOB) WHERE id = ?", (data, last[0])
            )
        else:
            self._connection.execute(
                "INSERT INTO postings VALUES (?, ?)", (last[0] + 1 if last else start, data)
            )

    def _append_sorted(self, starts: Starts, entries: Hashes) -> None:
        """Append each of *entries* at its place, chunk by chunk; both are in the order of places."""
        if not len(entries):
            return
        edges = np.concatenate(([0], np.flatnonzero(starts[1:] != starts[:-1]) + 1, [len(starts)]))
        last_chunks = self._last_chunks(int(starts[0]), int(starts[-1]) + _SPAN)
        data = entries.astype("<u8", copy=False).tobytes()
        size = CHUNK * _ENTRY_BYTES

        def rows() -> Iterator[tuple[int, bytes]]:
            for first, end in pairwise((edges * _ENTRY_BYTES).tolist()):
                place = int(starts[first // _ENTRY_BYTES])
                chunk, tail = last_chunks.get(place, (place, b""))
                content = tail + data[first:end]
                for start in range(0, len(content), size):
                    yield chunk, content[start : start + size]
                    chunk += 1

        self._connection.executemany("INSERT OR REPLACE INTO postings VALUES (?, ?)", rows())

    def _last_chunks(self, first: int, last: int) -> dict[int, tuple[int, bytes]]:
        """Return for each place in a range of row keys the chunk to append to, and what is in it."""
        rows = self._connection.execute(
            f"SELECT id, entries FROM postings p WHERE id BETWEEN ? AND ? AND NOT EXISTS ("
            f"SELECT 1 FROM postings q WHERE q.id BETWEEN p.id + 1 AND p.id | {_SPAN})",
            (first, last),
        )
        return {
            chunk & ~_SPAN: (chunk, data) if len(data) < CHUNK * _ENTRY_BYTES else (chunk + 1, b"")
            for chunk, data in rows
        }

    def _cut(self, start: int, entry: int) -> bool:
        rows = self._connection.execute(
            "SELECT id, entries FROM postings WHERE id BETWEEN ? AND ?", (start, start + _SPAN)
        ).fetchall()
        for chunk, data in rows:
            entries = entries_of(data)
            rest = entries[entries != np.uint64(entry)]
            if len(rest) < len(entries):
                self._store(chunk, rest)
                return True
        return False

    def _store(self, chunk: int, entries: Hashes) -> None:
        if len(entries):
            self._connection.execute(
                "UPDATE postings SET entries = ? WHERE id = ?", (entries.tobytes(), chunk)
            )
        else:
            self._connection.execute("DELETE FROM postings WHERE id = ?", (chunk,))


def keys_of(simhashes: Hashes, block: int) -> NDArray[np.uint16]:
    """Return the key of each of *simhashes* in a *block*, 0 for the first bits."""
    return (simhashes >> np.uint64(_KEY_BITS * (BLOCKS - 1 - block))).astype(np.uint16)


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
def _shifted_masks(radius: int) -> tuple[int, ...]:
    return tuple(mask << CHUNK_BITS for mask in key_masks(_KEY_BITS, radius))
