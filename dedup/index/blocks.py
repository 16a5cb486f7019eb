"""Simhashes in memory, where near ones are found without looking at all; and a set of them in a file.

    simhash  |  block 0  |  block 1  |  block 2  |  block 3  |  block 4  |     64 bits in blocks of 13

Two simhashes within distance k share at least one block up to a few bits (pigeonhole).  With
k = 5*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

For each block there is an array of all simhashes in the order of its keys, and for each key where its
simhashes begin.  What was added lately is a tail, all of which is looked at.  A simhash takes 40 bytes,
or 8 in the tail.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from operator import itemgetter
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from dedup.index.sqlite_file import BUSY_TIMEOUT, Damaged, SQLiteFile
from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hashes
from dedup.native import _pages

_LEAST_IN_TAIL, MOST_IN_TAIL = 1 << 6, 1 << 13  # to look at all of them is as fast as to look keys up
# Shift and width in bits of each of five blocks.  With four their keys would take 2 MB, too much for the
# lists of many hosts.
_LAYOUT = ((51, 13), (38, 13), (25, 13), (12, 13), (0, 12))


class Simhashes:
    """A set of simhashes, at first those of an array, which has each once."""

    def __init__(self, simhashes: Hashes) -> None:
        # Of the tail only the first `_size` are in use; behind them is room.
        self._tail, self._size = simhashes, len(simhashes)
        self._in_blocks = simhashes[:0]
        self._blocks = _pages.Blocks([])

    def all(self) -> Hashes:
        """Return all of them, in no order."""
        return np.concatenate((self._in_blocks, self._tail[: self._size]))

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash*, sorted."""
        if self._size > MOST_IN_TAIL:
            self._fold()
        packed = self._blocks.near(self._tail, self._size, simhash, max_distance)
        return np.frombuffer(packed, np.uint64)

    def add(self, simhash: int) -> bool:
        """Add *simhash*; return False if it was there already."""
        if len(self.near(simhash, 0)):
            return False
        if self._size == len(self._tail):
            room = np.zeros(max(_LEAST_IN_TAIL, self._size), np.uint64)
            self._tail = np.concatenate((self._tail, room))
        self._tail[self._size] = simhash
        self._size += 1
        return True

    def _fold(self) -> None:
        simhashes = self.all()
        del self._blocks, self._in_blocks  # or there would be two of each for a while
        blocks = [_block_of(simhashes, shift, width) for shift, width in _LAYOUT]
        self._blocks, self._in_blocks = _pages.Blocks(blocks), blocks[0][0]
        self._tail, self._size = simhashes[:0], 0


def _block_of(simhashes: Hashes, shift: int, width: int) -> tuple[Hashes, NDArray[np.int64], int, int]:
    """Return a block for the search: *simhashes* by their keys, and where each key begins."""
    # On 16 bits numpy sorts by radix, many times faster.
    keys = (simhashes >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
    counts = np.bincount(keys, minlength=1 << width)
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    return simhashes[keys.argsort(kind="stable")], starts, shift, width


def distinct(simhashes: Hashes) -> Hashes:
    """Return *simhashes* sorted, each once; on large arrays several times faster than `np.unique`."""
    if len(simhashes) < 2:
        return simhashes
    simhashes = np.sort(simhashes)
    found: Hashes = simhashes[np.concatenate(([True], simhashes[1:] != simhashes[:-1]))]
    return found


SCHEMA_VERSION = 3
_COLUMNS = "id INTEGER PRIMARY KEY, is_added INTEGER NOT NULL, simhashes BLOB NOT NULL"
_SCHEMA = 0x64656462, SCHEMA_VERSION, [f"CREATE TABLE changes ({_COLUMNS})"]  # "dedb" in ASCII
MAX_DISTANCE = 16
_IN_ROW = 1 << 16  # so many stand in one row at most
_FEW = 1000  # so many changes of others are made one by one


class BlockIndex(AbstractContextManager["BlockIndex"]):
    """A persistent set of 64-bit simhashes with exact search by Hamming distance.

    The simhashes, 0 to 2**64 - 1, are in the file *path*, made if there is none.  The first search reads
    all of them into memory, 40 bytes each.  Every call is one transaction unless it stands inside
    `transaction`; several processes of one host may share the file.  Raises `IndexUnavailable` for a
    file that cannot be used, and leaves it as it is.
    """

    def __init__(self, path: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = SQLiteFile(path, _SCHEMA, timeout=timeout)
        self._database.ended = self._end
        self._connection = self._database.connection
        self._end(is_undone=True)

    def _end(self, is_undone: bool) -> None:
        if is_undone:  # all is read again
            # Those that were taken out may still be held; up to the last row the changes were made.
            self._held, self._gone, self._last = Simhashes(np.zeros(0, np.uint64)), set[int](), 0

    def __contains__(self, simhash: int) -> bool:
        return bool(self.find(simhash, 0))

    def __len__(self) -> int:
        return len(self._all())

    def find(self, simhash: int, max_distance: int) -> list[int]:
        """Return all within *max_distance* bits (inclusive, 0 to 16) of *simhash*, sorted."""
        _check("max_distance", max_distance, MAX_DISTANCE)
        return self._near(simhash, max_distance)

    def nearest(self, simhash: int, max_distance: int = SIMHASH_BITS) -> tuple[int, int] | None:
        """Return the simhash nearest to *simhash* and its distance, of equally near ones the smallest.

        None if there is no simhash within *max_distance* bits (inclusive, 0 to 64).
        """
        _check("max_distance", max_distance, SIMHASH_BITS)
        for reach in (4, 9, 14, SIMHASH_BITS):  # ever further around, and then at all
            if near := self._near(simhash, min(reach, max_distance)):
                found = min(near, key=lambda one: ((one ^ simhash).bit_count(), one))
                return found, (found ^ simhash).bit_count()
            if reach >= max_distance:
                break
        return None

    def near_pairs(self, max_distance: int) -> Iterator[tuple[int, int]]:
        """Yield every pair (a, b), a < b, within *max_distance* bits (0 to 16), once, in no order."""
        _check("max_distance", max_distance, MAX_DISTANCE)
        for simhash in self._all().tolist():
            near = self._near(simhash, max_distance)
            yield from ((simhash, other) for other in near if simhash < other)

    def _near(self, simhash: int, max_distance: int) -> list[int]:
        _check("simhash", simhash, 2**64 - 1)
        found: list[int] = self._read().near(simhash, max_distance).tolist()
        return [one for one in found if one not in self._gone] if self._gone else found

    def _all(self) -> Hashes:
        found = self._read().all()
        return found[~np.isin(found, np.array([*self._gone], np.uint64))] if self._gone else found

    def _read(self) -> Simhashes:
        """Make the changes that were written since the last time; return what is held."""
        with self._database.errors():
            rows = self._connection.execute(
                "SELECT is_added, simhashes, id FROM changes WHERE id > ? ORDER BY id", (self._last,)
            ).fetchall()
            try:
                changes = [(is_added, np.frombuffer(changed, "<u8")) for is_added, changed, _ in rows]
            except (TypeError, ValueError) as error:
                raise Damaged("a row has no whole simhashes") from error
        for is_added, group in groupby(changes, itemgetter(0)):
            changed = np.concatenate([some for _, some in group])
            if not is_added:
                self._gone.update(changed.tolist())
                continue
            if self._gone:
                self._gone.difference_update(changed.tolist())
            if len(changed) > _FEW:
                self._held = Simhashes(distinct(np.concatenate((self._held.all(), changed))))
            else:
                for simhash in changed.tolist():
                    self._held.add(simhash)
        self._last = rows[-1][2] if rows else self._last
        return self._held

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all changes are one transaction, for speed or atomicity."""
        return self._database.transaction(writing=True)

    def add(self, simhash: int) -> bool:
        """Add *simhash*; return False if it was there already."""
        with self._database.transaction(writing=True):
            if is_new := simhash not in self:
                self._write(np.array([simhash], np.uint64), is_added=True)
            return is_new

    def add_many(self, simhashes: Hashes) -> int:
        """Add an array of simhashes, all or nothing; return how many were new."""
        with self._database.transaction(writing=True):
            new = distinct(np.ascontiguousarray(simhashes, np.uint64))
            if len(known := np.sort(self._all())):
                new = new[known[known.searchsorted(new).clip(max=len(known) - 1)] != new]
            self._write(new, is_added=True)
            return len(new)

    def remove(self, simhash: int) -> bool:
        """Take *simhash* out; return False if it was not there."""
        with self._database.transaction(writing=True):
            if was_there := simhash in self:
                self._write(np.array([simhash], np.uint64), is_added=False)
            return was_there

    def _write(self, simhashes: Hashes, *, is_added: bool) -> None:
        for start in range(0, len(simhashes), _IN_ROW):
            data = simhashes[start : start + _IN_ROW].astype("<u8", copy=False).tobytes()
            text = "INSERT INTO changes (is_added, simhashes) VALUES (?, ?)"
            self._connection.execute(text, (is_added, data))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __exit__(self, *exc: object) -> None:
        self.close()


def _check(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        shown = "2**64 - 1" if most == 2**64 - 1 else most
        raise ConfigError(f"{name} ({value}) must be 0 to {shown}")
