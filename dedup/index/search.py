"""The search for near simhashes in memory: for the canonicals near a page, and of a set in a file.

    simhash  |  block 0  |  block 1  |  block 2  |  block 3  |  block 4  |     64 bits in blocks of 13

Two simhashes within distance k share at least one block up to a few bits (pigeonhole).  With
k = 5*r + a, it is enough to look up a + 1 blocks with every key within r bits, and the others
with every key within r - 1 bits, and to keep what is really near: recall is exactly 1.
M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

For each block there is an array of all simhashes in the order of its keys, and for each key where its
simhashes begin.  What was added lately is a tail, all of which is looked at.  A simhash takes 40 bytes,
or 8 in the tail.

What is held of an index can be made anew from its rows at any time, and follows them by their numbers.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import compress, groupby, islice
from operator import itemgetter
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from dedup.index.rows import AMONG, LISTED, OF_TITLE, ROWS, Pool, of_dry_runs
from dedup.index.sqlite_file import BUSY_TIMEOUT, Damaged, SQLiteFile
from dedup.model.errors import ConfigError
from dedup.model.fingerprint import SIMHASH_FIELDS, Fingerprint
from dedup.model.hashes import SIMHASH_BITS, Hashes, signed, unsigned
from dedup.model.verdict import Candidates
from dedup.native import _pages
from dedup.prints.fingerprinter import DedupConfig
from dedup.rule import match as rule

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


NEAR = 3  # most duplicates are this near, and looking that far costs little; the rest comes second
_FEW_SIMHASHES, _LATEST = 8, 256  # with more of them, so many of the newest pages are looked at first
_MOST_LISTS = 1000  # are held, those asked last: of a crawl that compares the pages of a host, few
_ENDS = "SELECT (SELECT ifnull(max(id), 0) FROM pages), (SELECT ifnull(max(id), 0) FROM relisted)"
_OF_NEWS = "listed, sketch, is_dry, run, scope, content_simhash, structure_simhash FROM"
_NEWS = (
    f"SELECT id, 0, {_OF_NEWS} pages WHERE id > ? UNION ALL "
    f"SELECT row, r.id, {_OF_NEWS} relisted r JOIN pages p ON p.id = row WHERE r.id > ?"
)
# So many sketches are held, of some 400 bytes each: nearly all pages of a site may have one structure
# simhash, and the newest of them are the same page after page.
_MOST_SKETCHES = 30_000


class Lists:
    """The simhashes of the listed rows of each scope (the number of a group); the last asked are held.

    Every method is part of the caller's transaction.  A list may have simhashes that are listed no more.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.clear()

    def clear(self) -> None:
        """Hold nothing any more, as after a transaction that was undone."""
        self._lists: OrderedDict[tuple[str, int], Simhashes] = OrderedDict()
        self._sketches: dict[int, bytes] = {}
        # Every listed row from the first of these on, which are the newest.
        self._newest = deque[tuple[int, int, int, bool, int]](maxlen=_LATEST)
        self._read_to: tuple[int, int] | None = None  # the last row, and the last entry of `relisted`
        self.read_at = -1  # so much this connection had changed by then, -1 in a new transaction

    def sketches(self, rows: Sequence[int]) -> list[bytes]:
        """Return the sketches of *rows*: most rows are ruled out by that, and nothing else is read."""
        held = self._sketches
        if missing := [row for row in rows if row not in held]:
            text = f"SELECT id, sketch FROM pages WHERE id {AMONG}"
            held.update(self.connection.execute(text, (str(missing),)))
        return [held[row] for row in rows]

    def newest(self, scope: int, simhashes: Collection[int], pool: Pool) -> Iterator[int]:
        """Yield rows of *pool* with one of the structure *simhashes*, as far as they are the newest."""
        for row, of_scope, simhash, is_dry, run in reversed(self._newest):
            is_in_pool = of_scope == scope and row not in pool.without
            if simhash in simhashes and is_in_pool and (not is_dry or run in pool.dry_runs):
                yield row

    def simhashes(self, field: str, scope: int) -> Simhashes:
        """Return the simhashes *field* of a scope."""
        if len(self._sketches) > _MOST_SKETCHES:
            self._sketches.clear()
        if self.read_at != (now := self.connection.total_changes):
            self._read_on()
            self.read_at = now
        name = field, scope
        if name not in self._lists:
            self._lists[name] = Simhashes(self._read(field, scope))
            if len(self._lists) > _MOST_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(name)
        return self._lists[name]

    def _read(self, field: str, scope: int) -> Hashes:
        name = f"{field}_simhash"
        rows = self.connection.execute(  # by another index, every row would be looked up
            f"SELECT {name} FROM pages INDEXED BY pages_by_{field} "
            f"WHERE scope = ? AND listed AND {name} != 0",
            (scope,),
        )
        try:
            return distinct(np.fromiter((simhash for (simhash,) in rows), np.int64).view(np.uint64))
        except (OverflowError, TypeError, ValueError) as error:
            raise Damaged(f"a row has no number as its {field} simhash") from error

    def _read_on(self) -> None:
        """Hold also what was listed since the last time, or has another fingerprint."""
        if self._read_to is None:
            self._read_to = self.connection.execute(_ENDS).fetchone()
            return
        last, last_relisted = self._read_to
        news = self.connection.execute(_NEWS, self._read_to)
        for row, relisted, listed, sketch, is_dry, run, scope, *simhashes in news:
            last, last_relisted = max(last, row), max(last_relisted, relisted)
            if relisted and self._newest and row >= self._newest[0][0]:
                self._newest.clear()
            if not listed:
                continue
            if not relisted:
                self._newest.append((row, scope, simhashes[-1], is_dry, run))
            self._sketches[row] = sketch
            for field, simhash in zip(SIMHASH_FIELDS, simhashes, strict=True):
                held = self._lists.get((field, scope))
                if held and simhash and isinstance(simhash, int):
                    held.add(unsigned(simhash))
        self._read_to = last, last_relisted


class Search:
    """What in *pool* may be the canonical of *page*; *scope* is the number of its group."""

    def __init__(
        self, lists: Lists, page: Fingerprint, pool: Pool, config: DedupConfig, *, scope: int
    ) -> None:
        self.connection, self.lists, self.scope = lists.connection, lists, scope
        self.page, self.pool, self.config = page, pool, config
        self._seen: set[int] = set()
        self._given: dict[str, object] = {"scope": scope, "without": str([*pool.without])}
        self._in_pool = f"{LISTED} AND {of_dry_runs(pool.dry_runs)}"
        if pool.without:
            self._in_pool += " AND p.id NOT IN (SELECT value FROM json_each(:without))"

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        for found in self._equals():
            self._seen.update(found)
            yield self._read(found, len(found))
        content, most = self.page.content_simhash, self.config.max_distance
        lists = self.lists.simhashes("content", self.scope)
        if content and len(lists.near(content, most)):  # as few pages have any
            for distance in sorted({min(NEAR, most), most}):
                yield self._near(self._near_content(distance), in_order=False)
        if self.page.structure_simhash:
            rows = self._near_structure()
            yield self._near(dict(zip(rows, self.lists.sketches(rows), strict=True)))
        if self.page.content_simhash and (title := rule.title_of(self.page)):
            yield self._titled(title)

    def _near(self, sketches: Mapping[int, bytes], *, in_order: bool = True) -> Candidates:
        """Return rows not seen before that their *sketches* do not rule out; mostly there are none."""
        new = [row for row in sketches if row not in self._seen]
        self._seen.update(new)
        try:
            passing = rule.are_alike(self.page, [sketches[row] for row in new], in_order=in_order)
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        return self._read(list(compress(new, passing)), len(new))

    def _titled(self, title: bytes) -> Candidates:
        """Return what has the *title* of the page and is not like it as a whole, if only few have it."""
        where = f"WHERE {self._in_pool} AND {OF_TITLE} = :title LIMIT {rule.COMMON_PAGES}"
        rows = self._rows(f"SELECT p.id FROM pages p {where}", title=title)
        if len(rows) == rule.COMMON_PAGES:
            return Candidates((), 0)
        alike = rule.are_alike(self.page, self.lists.sketches(rows))  # these are found by simhashes
        new = [row for row, is_alike in zip(rows, alike, strict=True) if not is_alike]
        return self._read(new, len(new))

    def _read(self, rows: Sequence[int], looked_at: int) -> Candidates:
        """Return the canonicals *rows*; *looked_at* are also those that were left out."""
        text = f"{ROWS.select}WHERE p.id {AMONG}"
        stored = self.connection.execute(text, (str([*rows]),)) if rows else ()
        found = [ROWS.read(row).as_canonical() for row in stored]
        return Candidates(sorted(found, key=lambda one: rule.nearness(self.page, one)), looked_at)

    def _equals(self) -> Iterator[list[int]]:
        """Yield the oldest rows with the same bytes, then those with the same tokens."""
        page = self.page
        digests = {"body_digest": page.body_digest, "token_digest": page.token_digest}
        of_it = [f"SELECT 1 FROM pages p WHERE {LISTED} AND p.{name} = :{name}" for name in digests]
        if self._rows(f"{' UNION ALL '.join(of_it)} LIMIT 1", **digests):  # as few pages have
            for name in list(digests)[: 1 + (page.tokens >= rule.MIN_EQUAL_TOKENS)]:
                where = f"{self._in_pool} AND p.{name} = :{name} ORDER BY p.id"
                text = f"SELECT p.id FROM pages p WHERE {where} LIMIT {rule.MAX_CANDIDATES}"
                yield self._rows(text, **digests)

    def _near_content(self, distance: int) -> dict[int, bytes]:
        """Return rows of the nearest simhashes, of equally near ones the oldest, up to the cap."""
        near, found = self._nearest("content", distance), dict[int, bytes]()
        text = (
            "SELECT p.id, p.sketch FROM json_each(:near) w CROSS JOIN pages p "
            f"INDEXED BY pages_by_content ON p.content_simhash = w.value AND {self._in_pool} "
            f"{{}} LIMIT {rule.MAX_CANDIDATES}"
        )
        given = {"near": str(near), "simhash": signed(self.page.content_simhash), **self._given}
        for order in ("", "ORDER BY apart(w.value, :simhash), p.id") if near else ():
            found = dict(self.connection.execute(text.format(order), given))
            if len(found) < rule.MAX_CANDIDATES:  # these are all, and are in any order
                break
        return found

    def _near_structure(self) -> list[int]:
        """Return the newest rows of the nearest simhashes, in no order."""
        limit = rule.MAX_STRUCTURE_CANDIDATES
        near, found = self._nearest("structure", rule.STRUCTURE_MAX_DISTANCE), list[int]()
        # On a site of one template nearly all of the newest pages are wanted, of many simhashes.
        if len(near) > _FEW_SIMHASHES:
            newest = list(islice(self.lists.newest(self.scope, {*near}, self.pool), limit))
            if len(newest) == limit:
                return newest
        of_it = f"SELECT p.id FROM pages p WHERE {self._in_pool} AND p.structure_simhash"
        if len(near) > limit:  # those with the newest pages: the newest of all are among theirs
            last = f"{of_it} = value ORDER BY p.id DESC LIMIT 1"  # max(id) would read all
            text = f"SELECT value FROM json_each(:near) ORDER BY ({last}) DESC LIMIT {limit}"
            near = self._rows(text, near=str(near))
        text = f"{of_it} = :simhash AND p.id > :oldest ORDER BY p.id DESC LIMIT {limit}"
        for simhash in near:
            oldest = found[0] if len(found) == limit else 0
            found = sorted(found + self._rows(text, simhash=simhash, oldest=oldest))[-limit:]
        return found

    def _nearest(self, field: str, distance: int) -> list[int]:
        """Return simhashes *field* within *distance*, the nearest up to the cap; below it all held."""
        simhash, most = self.page.simhash(field), rule.MAX_CANDIDATES
        simhashes = self.lists.simhashes(field, self.scope).near(simhash, distance)
        found: list[int] = simhashes.view(np.int64).tolist()  # as they stand in the file
        if len(found) <= most:
            return found
        distances = np.bitwise_count(simhashes ^ np.uint64(simhash))
        near, found = simhashes[distances.argsort(kind="stable")].view(np.int64).tolist(), []
        is_listed = f"EXISTS (SELECT 1 FROM pages p WHERE {LISTED} AND p.{field}_simhash = value)"
        text = f"SELECT value FROM json_each(:near) WHERE {is_listed}"
        while near and len(found) < most:
            found += self._rows(text, near=str(near[:most]))
            near = near[most:]
        return found[:most]

    def _rows(self, text: str, **values: object) -> list[int]:
        """Return the numbers that *text* selects, with these *values* and those of the pool."""
        return [row for (row,) in self.connection.execute(text, self._given | values)]


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
