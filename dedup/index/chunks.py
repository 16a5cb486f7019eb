"""Lists of entries in SQLite: under a key stand chunks of up to CHUNK entries, one row each.

List, place and chunk are packed into the row's integer key, so whatever stands at one place is a
range of neighbouring rows; a place is what the kind of list makes of it:

    list (26 bits)  |  place (19)  |  chunk (18)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dedup import native
from dedup.index.database_files import Damaged
from dedup.values.errors import ConfigError
from dedup.values.hashes import SIMHASH_BITS, Hashes

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


class Chunks:
    """The list of that *number* (0 to `MAX_LIST`), through *connection*.

    Runs inside the caller's transaction and commits nothing.  A place is named by its *start*, the
    row key of its first chunk.
    """

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self._connection = connection
        self._base = number << _LIST_SHIFT

    def clear(self) -> None:
        """Take all entries out."""
        self._clear(self._range())

    def _clear(self, range_: tuple[int, int]) -> None:
        self._connection.execute("DELETE FROM postings WHERE id BETWEEN ? AND ?", range_)

    def _range(self) -> tuple[int, int]:
        return self._base, self._base + (1 << _LIST_SHIFT) - 1

    def _place_range(self, start: int) -> tuple[int, int]:
        return start, start + _SPAN

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


def check_scope(scope: int) -> None:
    """Raise `ConfigError` for a scope whose lists have no number."""
    if not 0 <= scope <= _MAX_SCOPE:
        raise ConfigError(f"scope number ({scope}) must be 0 to {_MAX_SCOPE}")


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
    compiled = native.search()
    if compiled is None:
        return near_of(joined(rows), simhash, max_distance)
    try:
        found = compiled.near_in_chunks(rows, simhash, max_distance)
    except TypeError as error:
        raise Damaged(_NO_BYTES) from error
    except ValueError as error:
        raise Damaged(_NO_ENTRIES) from error
    return np.frombuffer(found, np.uint64)


def near_of(simhashes: Hashes, simhash: int, max_distance: int) -> Hashes:
    """Return those of *simhashes* within *max_distance* bits (inclusive), sorted and distinct."""
    return distinct(simhashes[np.bitwise_count(simhashes ^ np.uint64(simhash)) <= max_distance])


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
