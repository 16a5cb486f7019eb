"""Sets of simhashes on disk that find near ones: in a file of their own, or in that of an index.

Held in memory, near ones are found many times sooner.  There they stand in five blocks: an array for
each block, in the order of its keys, and for each key where its simhashes begin.  What was added lately
is a tail, all of which is looked at.  A simhash takes 40 bytes, or 8 in the tail.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dedup.algorithms import pairs
from dedup.index import postings
from dedup.index.database import BUSY_TIMEOUT, Database
from dedup.index.postings import PostingList
from dedup.index.schema import META
from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hashes
from dedup.native import _search

# Up to so many simhashes, looking at all of them is as fast as looking keys up.
_LEAST_IN_TAIL, MOST_IN_TAIL = 1 << 6, 1 << 13
# Shift and width in bits of each of five blocks.  With four their keys would take 2 MB, too much for the
# lists of many hosts.
_LAYOUT = ((51, 13), (38, 13), (25, 13), (12, 13), (0, 12))

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
        self._search = _search.Blocks(
            [(*block, *place) for block, place in zip(blocks, _LAYOUT, strict=False)]
        )

    def __len__(self) -> int:
        in_blocks = len(self._blocks[0].simhashes) if self._blocks else 0
        return in_blocks + self._size - len(self._gone)

    def __contains__(self, simhash: int) -> bool:
        return len(self.near(simhash, 0)) > 0

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash*, sorted."""
        packed = self._search.near(self._tail, self._size, simhash, max_distance)
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


def _blocks_of(simhashes: Hashes) -> list[Block]:
    return [_block_of(simhashes, shift, width) for shift, width in _LAYOUT]


def _block_of(simhashes: Hashes, shift: int, width: int) -> Block:
    # On 16 bits numpy sorts by radix, many times faster.
    keys = (simhashes >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
    counts = np.bincount(keys, minlength=1 << width)
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    return Block(simhashes[keys.argsort(kind="stable")], starts)


# "dedb" in ASCII.
APPLICATION_ID = 0x64656462
SCHEMA_VERSION = 2
MAX_DISTANCE = 16

# So many simhashes are held at once, of all lists: those that were asked last.
MOST_CACHED = 1 << 20
# Reading a list takes as long as one search for every so many rows of the index, and never longer than
# the last number of searches.  Where others change the file after every few searches (the second
# number), it never pays.
_ROWS_A_SEARCH, _LEAST_SEARCHES, _MOST_SEARCHES = 50, 4, 500
_MOST_LISTS = 1000


class BlockIndex(PostingList):
    """A persistent set of 64-bit simhashes with exact search by Hamming distance.

    The simhashes, 0 to 2**64 - 1, are in the file *path*, made if there is none.  Every call is one
    transaction unless it stands inside `transaction`; several processes of one host may share the file.
    Raises `IndexUnavailable` for a file that cannot be used, and leaves it as it is.

    M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, 2012.
    """

    held: CachedSimhashes | None = None
    """The same in memory, where `Shelf` has found that to pay."""
    searches = 0

    def __init__(self, path: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = Database(
            path,
            application_id=APPLICATION_ID,
            version=SCHEMA_VERSION,
            create=_create,
            timeout=timeout,
        )
        super().__init__(self._database.connection, "content", 0)

    @classmethod
    def within(cls, database: Database, field: str, scope: int) -> Self:
        """Return the simhashes *field* of a scope in the file of an index, which is its *database*."""
        found = cls.__new__(cls)
        found._database = database
        PostingList.__init__(found, database.connection, field, scope)
        return found

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def add(self, simhash: int) -> bool:
        """Add *simhash*; return False if it was there already."""
        _check_simhash(simhash)
        with self._database.writing():
            if simhash in self:
                return False
            held, self.held = self.held, None
            self.insert(simhash)
            if held is not None and len(held) < MOST_CACHED:  # unless it failed half way
                held.add(simhash)
                self.held = held
            return True

    def add_many(self, simhashes: Hashes) -> int:
        """Add an array of simhashes, all or nothing; return how many were new.

        Memory is bounded, whatever their number.  To build a large file in steps that can be resumed,
        add one part after the other: what is there already is passed over.
        """
        with self._database.writing():
            return super().add_many(simhashes)

    def remove(self, simhash: int) -> bool:
        """Take *simhash* out; return False if it was not there."""
        _check_simhash(simhash)
        with self._database.writing():
            held, self.held = self.held, None
            is_whole = super().remove(simhash)
            if held is not None and simhash in held:
                held.remove(simhash)
                self.held = held
            return is_whole

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash* as a sorted array."""
        self.searches += 1
        if self.held is None:
            return super().near(simhash, max_distance)
        return self.held.near(simhash, max_distance)

    def find(self, simhash: int, max_distance: int) -> list[int]:
        """Return all within *max_distance* bits (inclusive, 0 to 16) of *simhash*, in no order."""
        _check_simhash(simhash)
        if not 0 <= max_distance <= MAX_DISTANCE:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {MAX_DISTANCE}")
        with self._database.errors():
            found: list[int] = self.near(simhash, max_distance).tolist()
            return found

    def nearest(self, simhash: int, max_distance: int = SIMHASH_BITS) -> tuple[int, int] | None:
        """Return the simhash nearest to *simhash* and its distance, of equally near ones the smallest.

        None if there is no simhash within *max_distance* bits (inclusive, 0 to 64).
        """
        _check_simhash(simhash)
        if not 0 <= max_distance <= SIMHASH_BITS:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {SIMHASH_BITS}")
        with self._database.reading():
            found = self.all_nearest(simhash, max_distance)
        return (int(found[1][0]), found[0]) if found else None

    def near_pairs(self, max_distance: int) -> Iterator[tuple[int, int]]:
        """Yield every pair (a, b), a < b, within *max_distance* bits (0 to 7), once, in no order.

        Works on a copy of the simhashes in memory (8 bytes each, some three times that while it sorts).
        """
        with self._database.errors():
            simhashes = self.hashes()
        return pairs.near_pairs(simhashes, max_distance)

    def problems(self) -> list[str]:
        """Return what is wrong with the file, a line for each; nothing is repaired."""
        problems = self._database.integrity()
        with self._database.reading():
            return problems + list(self.faults(self.hashes()))

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all changes are one transaction, for speed or atomicity."""
        return self._database.writing()

    def checkpoint(self) -> None:
        """Bring all changes into the file itself."""
        self._database.checkpoint()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __len__(self) -> int:
        with self._database.errors():
            return super().__len__()

    def __contains__(self, simhash: int) -> bool:
        if self.held is not None:
            return simhash in self.held
        with self._database.errors():
            return super().__contains__(simhash)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Shelf:
    """The sets of simhashes of an index; those that were asked last are held.

    It is right as long as the file is changed by these lists only: whoever uses it calls `clear` when
    anybody else has changed it, or a transaction was undone.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lists: OrderedDict[tuple[str, int], BlockIndex] = OrderedDict()
        self._rows: int | None = None

    def clear(self) -> None:
        """Hold nothing any more."""
        self._lists.clear()
        self._rows = None

    def postings(self, field: str, scope: int) -> BlockIndex:
        """Return the list of *field* of a scope."""
        found = self._lists.get((field, scope))
        if found is None:
            found = self._lists[field, scope] = BlockIndex.within(self._database, field, scope)
            self._make_room()
        self._lists.move_to_end((field, scope))  # before room is made, or it might be dropped itself
        if found.held is None and found.searches >= self._patience():
            self._hold(found)
        return found

    def added(self, row: int) -> None:
        """Note that there is a row of that number now."""
        self._rows = row

    def _hold(self, postings: BlockIndex) -> None:
        if self._row_count() > MOST_CACHED and len(postings) > MOST_CACHED:
            postings.searches = -(10**9)  # it is not counted again soon
            return
        postings.held = CachedSimhashes(postings.hashes())
        self._make_room()

    def _patience(self) -> int:
        """Return how many searches take as long as reading a list."""
        return min(_LEAST_SEARCHES + self._row_count() // _ROWS_A_SEARCH, _MOST_SEARCHES)

    def _row_count(self) -> int:
        if self._rows is None:
            (self._rows,) = self._database.connection.execute(
                "SELECT ifnull(max(id), 0) FROM pages"
            ).fetchone()
        return self._rows

    def _make_room(self) -> None:
        """Drop the lists that were asked longest ago, if there are too many or too large ones."""
        sizes = {name: len(one.held) for name, one in self._lists.items() if one.held is not None}
        room = MOST_CACHED - sum(sizes.values())
        while len(self._lists) > 1 and (room < 0 or len(self._lists) > _MOST_LISTS):
            oldest, _ = self._lists.popitem(last=False)
            room += sizes.get(oldest, 0)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(META)
    connection.execute(postings.SCHEMA)


def _check_simhash(simhash: int) -> None:
    if not 0 <= simhash < 1 << 64:
        raise ConfigError(f"simhash ({simhash}) must be 0 to 2**64 - 1")
