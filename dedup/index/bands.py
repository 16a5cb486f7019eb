"""Which pages have which bands: rows by band key, in the table of the posting lists.

    band key  |  place (16 bits)  |  unused (20)  |  check (28)  |      equal keys are equal bands
    entry     |  check (28 bits)  |  row (36)  |                        what stands at a place

A row's keys follow from its sketch, so the list can always be made anew from the rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms.bands import Banding, sketch_keys
from dedup.index.chunks import CHUNK_BITS, MAX_LIST, Chunks, Starts, check_scope, entries_of
from dedup.index.database_files import Damaged
from dedup.values.hashes import Hashes, mixed

# Fewer bits than there is room for: small lists stay dense; with ten million pages a place is 20 chunks.
_PLACE_BITS = 16
_ROW_BITS = 36
_PLACE_SHIFT = np.uint64(64 - _PLACE_BITS)
_CHECK_SHIFT, _ROW_MASK = np.uint64(_ROW_BITS), np.uint64((1 << _ROW_BITS) - 1)
_CHUNK_SHIFT = np.uint64(CHUNK_BITS)
# Rows whose entries are sorted and written at once; some 2 KB each.
_ROWS_AT_ONCE = 20_000

# A row's number and sketch: most rows are ruled out by the sketch, and nothing else of them is read.
Sketched = tuple[int, bytes]


class BandList(Chunks):
    """The bands of the listed pages of one *scope*, a small number, through *connection*.

    Runs inside the caller's transaction and commits nothing.  Rows are 1 to 2**36 - 1; a page is
    given by its row and its sketch.
    """

    def __init__(self, connection: sqlite3.Connection, scope: int, banding: Banding) -> None:
        check_scope(scope)
        super().__init__(connection, MAX_LIST - scope)
        self.banding = banding

    def add(self, row: int, sketch: bytes) -> None:
        """Add a page, which must not be in the list yet."""
        for start, entry in self._entries(row, sketch):
            self._append((start,), (entry,))

    def add_many(self, pages: Iterable[Sketched]) -> None:
        """Add pages that are not in the list yet, any number at once."""
        for starts, entries in self._sorted_entries(pages):
            self._append_sorted(starts, entries)

    def remove(self, row: int, sketch: bytes) -> bool:
        """Take a page out; return False if it was not whole in the list."""
        cut = [self._cut(start, entry) for start, entry in self._entries(row, sketch)]
        return all(cut)

    def find(self, sketch: bytes) -> list[int]:
        """Return the rows that share a band with *sketch*: with most bands first, then oldest."""
        keys = sketch_keys(sketch, self.banding)
        if not len(keys):
            return []
        entries = self._entries_at(sorted(set(self._starts(keys).tolist())))
        rows = np.sort(entries[_is_among(entries >> _CHECK_SHIFT, _checks(keys))] & _ROW_MASK)
        firsts = np.flatnonzero(_is_first(rows))
        counts = np.diff(firsts, append=len(rows))
        found: list[int] = rows[firsts][np.argsort(-counts, kind="stable")].tolist()
        return found

    def problems(self, pages: Iterable[Sketched]) -> Iterator[str]:
        """Yield what is wrong with the list if it should hold *pages*."""
        parts = [_digests(starts, entries) for starts, entries in self._sorted_entries(pages)]
        expected = np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.uint64)
        try:
            stored = np.sort(self._stored())
        except Damaged as error:
            yield str(error)
            return
        distinct = stored[_is_first(stored)]
        for problem, count in (
            ("entries without a page", len(np.setdiff1d(distinct, expected, assume_unique=True))),
            ("entries missing", len(np.setdiff1d(expected, distinct, assume_unique=True))),
            ("entries twice", len(stored) - len(distinct)),
        ):
            if count:
                yield f"{count} {problem}"

    def _stored(self) -> Hashes:
        chunks = self._connection.execute(
            "SELECT id, entries FROM postings WHERE id BETWEEN ? AND ?", self._range()
        )
        parts = [np.zeros(0, np.uint64)]
        for chunk, data in chunks:
            entries = entries_of(data)
            start = chunk >> CHUNK_BITS << CHUNK_BITS
            parts.append(_digests(np.full(len(entries), start, np.int64), entries))
        return np.concatenate(parts)

    def _entries(self, row: int, sketch: bytes) -> Iterator[tuple[int, int]]:
        keys = sketch_keys(sketch, self.banding)
        entries = _checks(keys) << _CHECK_SHIFT | np.uint64(row)
        yield from zip(self._starts(keys).tolist(), entries.tolist(), strict=True)

    def _sorted_entries(self, pages: Iterable[Sketched]) -> Iterator[tuple[Starts, Hashes]]:
        """Yield places and entries of many pages at a time, in the order of places."""
        source = iter(pages)
        while batch := list(islice(source, _ROWS_AT_ONCE)):
            keys = [sketch_keys(sketch, self.banding) for _, sketch in batch]
            rows = np.repeat([row for row, _ in batch], [len(one) for one in keys]).astype(np.uint64)
            flat = np.concatenate(keys)
            starts = self._starts(flat)
            order = np.argsort(starts, kind="stable")
            yield starts[order], (_checks(flat) << _CHECK_SHIFT | rows)[order]

    def _starts(self, keys: Hashes) -> Starts:
        starts: Starts = (keys >> _PLACE_SHIFT << _CHUNK_SHIFT).astype(np.int64) | self._base
        return starts


def _checks(keys: Hashes) -> Hashes:
    return keys & np.uint64((1 << 64 - _ROW_BITS) - 1)


def _is_among(entries: Hashes, few: Hashes) -> NDArray[np.bool_]:
    """Return for each of *entries* whether it is one of *few*; several times faster than `np.isin`."""
    few = np.sort(few)
    found: NDArray[np.bool_] = few[np.minimum(np.searchsorted(few, entries), len(few) - 1)] == entries
    return found


def _is_first(entries: Hashes) -> NDArray[np.bool_]:
    """Return for each of *entries*, which are sorted, whether it is the first of its kind."""
    return np.concatenate((entries[:1] == entries[:1], entries[1:] != entries[:-1]))


def _digests(starts: Starts, entries: Hashes) -> Hashes:
    """Return one number for each entry at its place."""
    return mixed(mixed(starts.astype(np.uint64)) ^ entries)
