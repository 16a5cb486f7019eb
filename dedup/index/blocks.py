"""A set of simhashes in SQLite that finds near ones without looking at all.

    simhash  |  block 0  |  block 1  |  block 2  |  block 3  |     64 bits in 4 blocks of 16

Two simhashes within distance k share at least one block up to a few bits (pigeonhole).  With
k = 4*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.
With five blocks, k = 10 would need fewer lookups, but look at more simhashes: of ten million it would
take longer.

In the table stand chunks of up to CHUNK simhashes.  Place and chunk are packed into the row's integer
key, so whatever stands at one place is a range of neighbouring rows; a place is a block (3 bits) and a
key of it (16), and is named by its *start*, the row key of its first chunk:

    place (19 bits)  |  chunk (18)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from itertools import combinations, pairwise
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms.simhash import near_pairs
from dedup.index.database import BUSY_TIMEOUT, Damaged, Database
from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hashes
from dedup.native import _search

# "dedb" in ASCII.
APPLICATION_ID = 0x64656462
SCHEMA_VERSION = 3
SCHEMA = "CREATE TABLE postings (id INTEGER PRIMARY KEY, entries BLOB NOT NULL)"
MAX_DISTANCE = 16

BLOCKS, _KEY_BITS = 4, 16
# Two full chunks fill a page of SQLite's; with 256 entries only one would fit.
CHUNK = 252
_CHUNK_BITS = 18
_SPAN = (1 << _CHUNK_BITS) - 1
_ENTRY_BYTES = SIMHASH_BITS // 8
# A union of lookups is faster than a join while there are few.
_FEW_PLACES = 8
# Bound values in one statement; SQLite's own limit is 32,766.
_KEYS_A_STATEMENT = 500
# So many are added at once, which takes some 900 MB; more are added in parts.
_PART = 1 << 24
# Where keys within two bits of that of a simhash are not enough, reading the whole list is as fast.
_RADII = 3
# The concatenation of two blobs is text in SQLite, hence the cast.
_APPEND = (
    "INSERT INTO postings VALUES (?, ?) ON CONFLICT (id) DO UPDATE "
    "SET entries = CAST(entries || excluded.entries AS BLOB) "
    f"WHERE length(entries) < {CHUNK * _ENTRY_BYTES}"
)
_IN_RANGE = "FROM postings WHERE id BETWEEN ? AND ?"
_NO_BYTES, _NO_ENTRIES = "a chunk is no bytes", "a chunk is no row of simhashes"

Starts = NDArray[np.int64]


def joined(rows: Iterable[tuple[bytes]]) -> Hashes:
    """Return the simhashes of several chunks as one array; raises `Damaged`."""
    chunks = [entries for (entries,) in rows]
    try:
        data = b"".join(chunks)
    except TypeError as error:
        raise Damaged(_NO_BYTES) from error
    if any(len(entries) % _ENTRY_BYTES for entries in chunks):
        raise Damaged(_NO_ENTRIES)
    return np.frombuffer(data, "<u8")


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
    return tuple(mask << _CHUNK_BITS for mask in key_masks(_KEY_BITS, radius))


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


class BlockIndex:
    """A persistent set of 64-bit simhashes with exact search by Hamming distance.

    The simhashes, 0 to 2**64 - 1, are in the file *path*, made if there is none.  Every call is one
    transaction unless it stands inside `transaction`; several processes of one host may share the file.
    Raises `IndexUnavailable` for a file that cannot be used, and leaves it as it is.

    M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, 2012.
    """

    def __init__(self, path: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = Database(
            path,
            application_id=APPLICATION_ID,
            version=SCHEMA_VERSION,
            create=_create,
            timeout=timeout,
        )
        self._connection = self._database.connection

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    # Looking

    def __contains__(self, simhash: int) -> bool:
        with self._database.errors():
            entries = joined(self._chunks_at([_start(0, simhash)]))
        return bool(np.any(entries == np.uint64(simhash)))

    def __len__(self) -> int:
        with self._database.errors():
            return len(self._of_block(0))

    def find(self, simhash: int, max_distance: int) -> list[int]:
        """Return all within *max_distance* bits (inclusive, 0 to 16) of *simhash*, in no order."""
        _check("simhash", simhash, 2**64 - 1)
        _check("max_distance", max_distance, MAX_DISTANCE)
        with self._database.errors():
            found: list[int] = self._near(simhash, max_distance).tolist()
            return found

    def nearest(self, simhash: int, max_distance: int = SIMHASH_BITS) -> tuple[int, int] | None:
        """Return the simhash nearest to *simhash* and its distance, of equally near ones the smallest.

        None if there is no simhash within *max_distance* bits (inclusive, 0 to 64).
        """
        _check("simhash", simhash, 2**64 - 1)
        _check("max_distance", max_distance, SIMHASH_BITS)
        reaches = [BLOCKS * (radius + 1) - 1 for radius in range(_RADII)]
        with self._database.reading():
            for reach in (*reaches, SIMHASH_BITS):  # ever further around, and then at all
                near = self._near(simhash, min(reach, max_distance))
                if len(near):
                    distances = np.bitwise_count(near ^ np.uint64(simhash))
                    return int(near[distances.argmin()]), int(distances.min())
                if reach >= max_distance:
                    break
        return None

    def near_pairs(self, max_distance: int) -> Iterator[tuple[int, int]]:
        """Yield every pair (a, b), a < b, within *max_distance* bits (0 to 7), once, in no order.

        Works on a copy of the simhashes in memory (8 bytes each, some three times that while it sorts).
        """
        with self._database.errors():
            simhashes = self._of_block(0)
        return near_pairs(simhashes, max_distance)

    def _near(self, simhash: int, max_distance: int) -> Hashes:
        """Return what is near, as a sorted array; beyond a few bits a block, all are looked at."""
        if max_distance >= BLOCKS * _RADII:
            return near_in(self._chunks_of(0), simhash, max_distance)
        radius, extra = divmod(max_distance, BLOCKS)
        starts = [
            _start(block, simhash) ^ mask
            for block in range(BLOCKS if radius else extra + 1)
            for mask in _shifted_masks(radius - (block > extra))
        ]
        parts = [
            near_in(self._chunks_at(starts[at : at + _KEYS_A_STATEMENT]), simhash, max_distance)
            for at in range(0, len(starts), _KEYS_A_STATEMENT)
        ]
        return parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))

    def _of_block(self, block: int) -> Hashes:
        """Return all simhashes, as one *block* has them."""
        return joined(self._chunks_of(block))

    def _chunks_at(self, starts: list[int]) -> sqlite3.Cursor:
        return self._connection.execute(_lookup(len(starts)), starts)

    def _chunks_of(self, block: int) -> sqlite3.Cursor:
        places = _start(block, 0), _start(block, 2**64 - 1) + _SPAN
        return self._connection.execute(f"SELECT entries {_IN_RANGE}", places)

    # Changing

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all changes are one transaction, for speed or atomicity."""
        return self._database.writing()

    def add(self, simhash: int) -> bool:
        """Add *simhash*; return False if it was there already."""
        _check("simhash", simhash, 2**64 - 1)
        with self._database.writing():
            if simhash in self:
                return False
            for block in range(BLOCKS):
                self._append(_start(block, simhash), simhash.to_bytes(_ENTRY_BYTES, "little"))
            return True

    def add_many(self, simhashes: Hashes) -> int:
        """Add an array of simhashes, all or nothing; return how many were new.

        Memory is bounded, whatever their number.  To build a large file in steps that can be resumed,
        add one part after the other: what is there already is passed over.
        """
        added = 0
        with self._database.writing():
            for start in range(0, len(simhashes), _PART):
                part = np.ascontiguousarray(simhashes[start : start + _PART], np.uint64)
                new = self._new(distinct(part))
                for block in range(BLOCKS if len(new) else 0):
                    keys = keys_of(new, block)
                    order = np.argsort(keys, kind="stable")  # by radix, as they have 16 bits
                    starts = _start(block, 0) | keys[order].astype(np.int64) << _CHUNK_BITS
                    self._append_sorted(starts, new[order])
                added += len(new)
        return added

    def remove(self, simhash: int) -> bool:
        """Take *simhash* out; return False if it was not there."""
        _check("simhash", simhash, 2**64 - 1)
        with self._database.writing():
            return all(self._cut(_start(block, simhash), simhash) for block in range(BLOCKS))

    def _new(self, simhashes: Hashes) -> Hashes:
        """Return those of *simhashes*, sorted and distinct, that are not there."""
        keys, edges = np.unique(keys_of(simhashes, 0), return_index=True)
        starts = (keys.astype(np.int64) << _CHUNK_BITS).tolist()
        ends = [*edges.tolist(), len(simhashes)]
        new = [simhashes[:0]]
        for first in range(0, len(starts), _KEYS_A_STATEMENT):
            some = starts[first : first + _KEYS_A_STATEMENT]
            part = simhashes[ends[first] : ends[first + len(some)]]
            new.append(part[~np.isin(part, joined(self._chunks_at(some)))])
        return np.concatenate(new)

    def _append(self, start: int, data: bytes) -> None:
        """Append *data* to the last chunk of a place, or to a new one where that is full."""
        if self._is_appended(start, data):  # as mostly: most places have one chunk
            return
        last = f"SELECT max(id) {_IN_RANGE}"
        (chunk,) = self._connection.execute(last, (start, start + _SPAN)).fetchone()
        if not self._is_appended(chunk, data):
            self._is_appended(chunk + 1, data)

    def _is_appended(self, chunk: int, data: bytes) -> bool:
        """Append *data* to a chunk, which is made where there is none; return False if it is full."""
        return self._connection.execute(_APPEND, (chunk, data)).rowcount > 0

    def _append_sorted(self, starts: Starts, simhashes: Hashes) -> None:
        """Append *simhashes*, each at the place of its start: every chunk is written once."""
        edges = np.concatenate(([0], np.flatnonzero(starts[1:] != starts[:-1]) + 1, [len(starts)]))
        last_chunks = self._last_chunks(int(starts[0]), int(starts[-1]) + _SPAN)
        data = simhashes.astype("<u8", copy=False).tobytes()
        size = CHUNK * _ENTRY_BYTES

        def rows() -> Iterator[tuple[int, bytes]]:
            for first, end in pairwise((edges * _ENTRY_BYTES).tolist()):
                place = int(starts[first // _ENTRY_BYTES])
                chunk, begun = last_chunks.get(place, (place, b""))
                content = begun + data[first:end]
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

    def _cut(self, start: int, simhash: int) -> bool:
        """Take *simhash* out of a place; return False if it was not there."""
        at_place = f"SELECT id, entries {_IN_RANGE}"
        for chunk, data in self._connection.execute(at_place, (start, start + _SPAN)).fetchall():
            entries = joined([(data,)])
            rest = entries[entries != np.uint64(simhash)]
            if len(rest) < len(entries):
                if len(rest):
                    put = "INSERT OR REPLACE INTO postings VALUES (?, ?)"
                    self._connection.execute(put, (chunk, rest.tobytes()))
                else:
                    self._connection.execute("DELETE FROM postings WHERE id = ?", (chunk,))
                return True
        return False

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(SCHEMA)


def _start(block: int, simhash: int) -> int:
    """Return the start of the place of *simhash* in a *block*."""
    key = simhash >> _KEY_BITS * (BLOCKS - 1 - block) & (1 << _KEY_BITS) - 1
    return (block << _KEY_BITS | key) << _CHUNK_BITS


def _check(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        shown = "2**64 - 1" if most == 2**64 - 1 else most
        raise ConfigError(f"{name} ({value}) must be 0 to {shown}")
