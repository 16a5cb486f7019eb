"""The posting lists of an index, and what is held of them in memory, where near ones are found sooner.

Held simhashes stand in five blocks: an array for each block, in the order of its keys, and for each key
where its simhashes begin.  What was added lately is a tail, all of which is looked at.  A simhash takes
40 bytes, or 8 in the tail.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.index.blocks import PostingList
from dedup.index.files import Damaged
from dedup.index.rows import Pool
from dedup.model.fingerprint import SIMHASH_FIELDS, Fingerprint, Sighting
from dedup.model.hashes import Hashes, signed
from dedup.native import _search

# Up to so many simhashes, looking at all of them is as fast as looking keys up.
_LEAST_IN_TAIL, MOST_IN_TAIL = 1 << 6, 1 << 13
# Shift and width in bits of each of five blocks.  With four their keys would take 2 MB, too much for the
# lists of many hosts.
_LAYOUT = ((51, 13), (38, 13), (25, 13), (12, 13), (0, 12))

# So many simhashes are held at once, of all lists: those that were asked last.
MOST_CACHED = 1 << 20
# Reading a list takes as long as one search for every so many rows of the index, and never longer than
# the last number of searches.  Where others change the file after every few searches (the second
# number), it never pays.
_ROWS_A_SEARCH, _LEAST_SEARCHES, _MOST_SEARCHES = 50, 4, 500
_MOST_LISTS = 1000

# So many templates are held, those that were asked about last; a page takes some 400 bytes.
_MOST_TEMPLATES = 512
# Of each at most so many pages; a question for more than half of that is not answered.
_MOST_PAGES = 128
# So many of the newest pages of one scope are held, whatever their template.
_LATEST = 256

Progress = Callable[[int, int], None]
# A row's number and sketch: most rows are ruled out by the sketch, and nothing else of them is read.
Sketched = tuple[int, bytes]
# Number, sketch, whether it is of a dry run, run, structure simhash (signed).
_Latest = tuple[int, bytes, bool, int, int]


class CachedSimhashes:
    """A set of simhashes, at first those of an array, which has each once."""

    def __init__(self, simhashes: Hashes) -> None:
        # Of the tail only the first `_size` are in use; behind them is room.
        self._tail, self._size = simhashes, len(simhashes)
        self._in_blocks = simhashes[:0]
        # What stands in the blocks, but was taken out.
        self._gone: set[int] = set()
        self._blocks = _search.Blocks([])
        if self._size > MOST_IN_TAIL:
            self._fold()

    def _fold(self) -> None:
        simhashes = np.concatenate((self._in_blocks, self._tail[: self._size]))
        blocks = [_block_of(simhashes, shift, width) for shift, width in _LAYOUT]
        self._blocks = _search.Blocks(blocks)
        self._in_blocks = blocks[0][0]
        self._tail, self._size = simhashes[:0], 0

    def __len__(self) -> int:
        return len(self._in_blocks) + self._size - len(self._gone)

    def __contains__(self, simhash: int) -> bool:
        return len(self.near(simhash, 0)) > 0

    def near(self, simhash: int, max_distance: int) -> Hashes:
        """Return the simhashes within *max_distance* bits (inclusive) of *simhash*, sorted."""
        packed = self._blocks.near(self._tail, self._size, simhash, max_distance)
        found = np.frombuffer(packed, np.uint64)
        return found[[one not in self._gone for one in found.tolist()]] if self._gone else found

    def add(self, simhash: int) -> None:
        """Add *simhash*, which must not be there."""
        if simhash in self._gone:
            self._gone.remove(simhash)
            return
        if self._size >= MOST_IN_TAIL:
            self._fold()
        if self._size == len(self._tail):
            room = np.zeros(max(_LEAST_IN_TAIL, self._size), np.uint64)
            self._tail = np.concatenate((self._tail, room))
        self._tail[self._size] = simhash
        self._size += 1

    def remove(self, simhash: int) -> None:
        """Take *simhash* out, which must be there."""
        places = np.flatnonzero(self._tail[: self._size] == np.uint64(simhash))
        if not len(places):
            self._gone.add(simhash)
            return
        self._size -= 1
        self._tail[places[0]] = self._tail[self._size]


def _block_of(simhashes: Hashes, shift: int, width: int) -> tuple[Hashes, NDArray[np.int64], int, int]:
    """Return a block for the search: *simhashes* by their keys, and where each key begins."""
    # On 16 bits numpy sorts by radix, many times faster.
    keys = (simhashes >> np.uint64(shift) & np.uint64((1 << width) - 1)).astype(np.uint16)
    counts = np.bincount(keys, minlength=1 << width)
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    return simhashes[keys.argsort(kind="stable")], starts, shift, width


class _HeldList(PostingList):
    """A posting list that is *held* in memory where that pays."""

    held: CachedSimhashes | None = None
    searches = 0

    def __contains__(self, simhash: int) -> bool:
        return super().__contains__(simhash) if self.held is None else simhash in self.held

    def near(self, simhash: int, max_distance: int) -> Hashes:
        self.searches += 1
        if self.held is None:
            return super().near(simhash, max_distance)
        return self.held.near(simhash, max_distance)

    def add(self, simhash: int) -> None:
        """Add *simhash*, unless it is there."""
        if simhash not in self:
            held, self.held = self.held, None
            self.insert(simhash)
            if held is not None and len(held) < MOST_CACHED:  # unless it failed half way
                held.add(simhash)
                self.held = held

    def remove(self, simhash: int) -> bool:
        held, self.held = self.held, None
        is_whole = super().remove(simhash)
        if held is not None and simhash in held:
            held.remove(simhash)
            self.held = held
        return is_whole


@dataclass(slots=True)
class _Template:
    """The newest listed pages of one structure simhash, the oldest first.

    *is_whole* says that there are no others.
    """

    pages: list[tuple[int, bytes, bool, int]]
    is_whole: bool


class Newest:
    """The newest listed pages by structure simhash, with their sketches, through *connection*.

    Nearly all pages of a site may have one structure simhash.  Comparing a page with the newest of them
    would mean reading that many rows, the same ones page after page.

    It is right as long as it is told of all changes: whoever uses it calls `clear` when anybody else
    has changed the file, or a transaction was undone.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._templates: OrderedDict[tuple[int, int], _Template] = OrderedDict()
        # The newest pages of the scope that was asked about last, the oldest of them first.
        self._latest_of, self._latest = 0, list[_Latest]()

    def clear(self) -> None:
        """Hold nothing any more."""
        self._templates.clear()
        self._latest_of = 0

    def latest(self, scope: int, pool: Pool, simhashes: Collection[int]) -> Iterator[Sketched]:
        """Yield pages of *pool* with one of the structure *simhashes* (signed), the newest first.

        Only those that are among the newest of all.  *scope* is the number of its group.
        """
        if self._latest_of != scope:
            self._latest = self._connection.execute(
                "SELECT id, sketch, is_dry, run, structure_simhash FROM pages NOT INDEXED "
                "WHERE scope = ? AND listed AND id > (SELECT max(id) FROM pages) - ? ORDER BY id",
                (scope, _LATEST),
            ).fetchall()
            self._latest_of = scope
        without, dry_runs = pool.without, pool.dry_runs
        for row, sketch, is_dry, run, simhash in reversed(self._latest):
            if simhash in simhashes and row not in without and (not is_dry or run in dry_runs):
                yield row, sketch

    def sketches(self, scope: int, simhash: int, pool: Pool, limit: int) -> list[Sketched] | None:
        """Return the newest pages of *pool* with that structure simhash, the oldest of them first.

        At most *limit*; None where that is too many, or too many of the newest are not in *pool*.
        *scope* is the number of its group, *simhash* is signed.
        """
        if limit > _MOST_PAGES // 2:
            return None
        template = self._template(scope, simhash, limit)
        without, dry_runs = pool.without, pool.dry_runs
        found = [
            (row, sketch)
            for row, sketch, is_dry, run in template.pages
            if row not in without and (not is_dry or run in dry_runs)
        ]
        if len(found) < limit and not template.is_whole:
            return None
        return found[-limit:]

    def _template(self, scope: int, simhash: int, limit: int) -> _Template:
        name = (scope, simhash)
        if template := self._templates.get(name):
            self._templates.move_to_end(name)
            return template
        pages = self._connection.execute(
            "SELECT id, sketch, is_dry, run FROM pages WHERE scope = ? AND listed "
            "AND structure_simhash = ? ORDER BY id DESC LIMIT ?",
            (*name, limit),
        ).fetchall()
        template = self._templates[name] = _Template(pages[::-1], len(pages) < limit)
        if len(self._templates) > _MOST_TEMPLATES:
            self._templates.popitem(last=False)
        return template

    def add(self, scope: int, row: int, seen: Sighting) -> None:
        """Note that the page *seen* was listed, with the number *row*."""
        page = seen.fingerprint
        name = scope, signed(page.structure_simhash)
        if scope == self._latest_of:
            self._add_latest((row, page.sketch, seen.is_dry, seen.run, name[1]))
        template = self._templates.get(name)
        if template is None:
            return
        pages = template.pages
        if pages and row < pages[-1][0]:  # it is listed again
            del self._templates[name]
            return
        pages.append((row, page.sketch, seen.is_dry, seen.run))
        if len(pages) > _MOST_PAGES:
            del pages[: -_MOST_PAGES // 2]
            template.is_whole = False

    def _add_latest(self, page: _Latest) -> None:
        latest = self._latest
        if latest and page[0] < latest[-1][0]:  # it is listed again
            self._latest_of = 0
            return
        latest.append(page)
        if len(latest) > 2 * _LATEST:
            del latest[:-_LATEST]

    def remove(self, scope: int, row: int, seen: Sighting) -> None:
        """Note that the page *seen*, with the number *row*, is listed no more."""
        self._templates.pop((scope, signed(seen.fingerprint.structure_simhash)), None)
        if scope == self._latest_of:
            self._latest = [page for page in self._latest if page[0] != row]


class Lists:
    """The posting lists of each scope, through *connection*; those that were asked last are held.

    Every method is part of the caller's transaction.  A scope is the number of a group.  What is held is
    right as long as the file is changed by these lists only: whoever uses them calls `clear` when
    anybody else has changed it, or a transaction was undone.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.newest = Newest(connection)
        self._lists: OrderedDict[tuple[str, int], _HeldList] = OrderedDict()
        self._rows: int | None = None

    def clear(self) -> None:
        """Hold nothing any more."""
        self._lists.clear()
        self._rows = None
        self.newest.clear()

    def postings(self, field: str, scope: int) -> _HeldList:
        """Return the posting list of the simhashes *field* of a scope."""
        found = self._lists.get((field, scope))
        if found is None:
            found = self._lists[field, scope] = _HeldList(self.connection, field, scope)
            self._make_room()
        self._lists.move_to_end((field, scope))  # before room is made, or it might be dropped itself
        if found.held is None and found.searches >= self._patience():
            self._hold(found)
        return found

    def _hold(self, postings: _HeldList) -> None:
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
            (self._rows,) = self.connection.execute("SELECT ifnull(max(id), 0) FROM pages").fetchone()
        return self._rows

    def _make_room(self) -> None:
        """Drop the lists that were asked longest ago, if there are too many or too large ones."""
        sizes = {name: len(one.held) for name, one in self._lists.items() if one.held is not None}
        room = MOST_CACHED - sum(sizes.values())
        while len(self._lists) > 1 and (room < 0 or len(self._lists) > _MOST_LISTS):
            oldest, _ = self._lists.popitem(last=False)
            room += sizes.get(oldest, 0)

    # Changes

    def add(self, scope: int, row: int, seen: Sighting) -> None:
        """Put a row into the lists."""
        for postings, simhash in self._simhashes(scope, seen.fingerprint):
            postings.add(simhash)
        self.newest.add(scope, row, seen)
        self._rows = row

    def remove(self, scope: int, row: int, seen: Sighting) -> None:
        """Take a row out of the lists."""
        for postings, simhash in self._simhashes(scope, seen.fingerprint):
            if not self._is_shared(postings, simhash, row):
                postings.remove(simhash)
        self.newest.remove(scope, row, seen)

    def _simhashes(self, scope: int, page: Fingerprint) -> Iterator[tuple[_HeldList, int]]:
        for field in SIMHASH_FIELDS:
            if simhash := page.simhash(field):
                yield self.postings(field, scope), simhash

    def _is_shared(self, postings: PostingList, simhash: int, row: int) -> bool:
        """Whether another row than *row* has put *simhash* into the list."""
        found = self.connection.execute(
            f"SELECT 1 FROM pages WHERE scope = ? AND {postings.field}_simhash = ? AND listed "
            "AND id != ? LIMIT 1",
            (postings.scope, signed(simhash), row),
        )
        return found.fetchone() is not None

    # All of them

    def rebuild(self, progress: Progress | None) -> None:
        """Make all lists anew from the rows; *progress* is told how many are done, of how many."""
        self.connection.execute("DELETE FROM postings")
        self._lists.clear()
        lists = self._all()
        for done, postings in enumerate(lists, 1):
            postings.add_many(self._expected(postings))
            if progress:
                progress(done, len(lists))

    def problems(self) -> Iterator[str]:
        """Yield where the lists are not those of the rows."""
        for postings in self._all():
            for problem in postings.faults(self._expected(postings)):
                yield f"{postings.field} list of scope {postings.scope}, {problem}"

    def _all(self) -> list[PostingList]:
        scopes = self.connection.execute("SELECT id FROM scopes ORDER BY id").fetchall()
        fields = [(field, scope) for (scope,) in scopes for field in SIMHASH_FIELDS]
        return [PostingList(self.connection, field, scope) for field, scope in fields]

    def _expected(self, postings: PostingList) -> Hashes:
        name = f"{postings.field}_simhash"
        rows = self.connection.execute(
            f"SELECT {name} FROM pages WHERE scope = ? AND listed AND {name} != 0", (postings.scope,)
        )
        try:
            return np.fromiter((simhash for (simhash,) in rows), np.int64).view(np.uint64)
        except (OverflowError, TypeError, ValueError) as error:
            raise Damaged(f"a row has no number as its {postings.field} simhash") from error
