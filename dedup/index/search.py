"""The lists of an index, and the search in them for the canonicals near one page."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from operator import itemgetter
from typing import Any

import numpy as np

from dedup.index.blocks import BlockIndex, Shelf
from dedup.index.database import Database
from dedup.index.files import Damaged
from dedup.index.postings import PostingList, distinct
from dedup.index.rows import AMONG, SELECT_CANONICAL, Pool, canonical_of, of_dry_runs
from dedup.model.fingerprint import SIMHASH_FIELDS, Fingerprint, Sighting
from dedup.model.hashes import Hashes, signed
from dedup.model.verdict import Candidates, Canonical
from dedup.prints.config import DedupConfig
from dedup.rule.keys import (
    MAX_CANDIDATES,
    MAX_STRUCTURE_CANDIDATES,
    MIN_EQUAL_TOKENS,
    STRUCTURE_MAX_DISTANCE,
    nearness,
)
from dedup.rule.similarity import may_pass

Progress = Callable[[int, int], None]

# So many templates are held, those that were asked about last; a page takes some 400 bytes.
_MOST_TEMPLATES = 512
# Of each at most so many pages; a question for more than half of that is not answered.
_MOST_PAGES = 128
# So many of the newest pages of one scope are held, whatever their template.
_LATEST = 256


# A row's number and sketch: most rows are ruled out by the sketch, and nothing else of them is read.
Sketched = tuple[int, bytes]
# Number, sketch, whether it is of a dry run, run, structure simhash (signed).
_Latest = tuple[int, bytes, bool, int, int]


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
    """The posting lists of each scope.

    Every method is part of the caller's transaction.  A scope is the number of a group.
    """

    def __init__(self, database: Database) -> None:
        self.connection = database.connection
        self._shelf = Shelf(database)
        self.newest = Newest(database.connection)

    def clear(self) -> None:
        """Hold nothing any more: somebody else may have changed the file."""
        self._shelf.clear()
        self.newest.clear()

    def postings(self, field: str, scope: int) -> BlockIndex:
        """Return the posting list of the simhashes *field* of a scope."""
        return self._shelf.postings(field, scope)

    def add(self, scope: int, row: int, seen: Sighting) -> None:
        """Put a row into the lists."""
        for postings, simhash in self._simhashes(scope, seen.fingerprint):
            postings.add(simhash)
        self.newest.add(scope, row, seen)
        self._shelf.added(row)

    def remove(self, scope: int, row: int, seen: Sighting) -> None:
        """Take a row out of the lists."""
        for postings, simhash in self._simhashes(scope, seen.fingerprint):
            if not self._is_shared(postings, simhash, row):
                postings.remove(simhash)
        self.newest.remove(scope, row, seen)

    def _simhashes(self, scope: int, page: Fingerprint) -> Iterator[tuple[BlockIndex, int]]:
        for field in SIMHASH_FIELDS:
            if simhash := page.simhash(field):
                yield self.postings(field, scope), simhash

    def _is_shared(self, postings: BlockIndex, simhash: int, row: int) -> bool:
        """Whether another row than *row* has put *simhash* into the list."""
        found = self.connection.execute(
            f"SELECT 1 FROM pages WHERE scope = ? AND {postings.field}_simhash = ? AND listed "
            "AND id != ? LIMIT 1",
            (postings.scope, signed(simhash), row),
        )
        return found.fetchone() is not None

    def rebuild(self, progress: Progress | None) -> None:
        """Make all lists anew from the rows."""
        self.connection.execute("DELETE FROM postings")
        self._shelf.clear()
        lists = [(field, scope) for scope in self._scopes() for field in SIMHASH_FIELDS]
        for done, (field, scope) in enumerate(lists, 1):
            self.postings(field, scope).add_many(self._simhashes_of_rows(field, scope))
            if progress:
                progress(done, len(lists))

    def _scopes(self) -> list[int]:
        scopes = self.connection.execute("SELECT id FROM scopes ORDER BY id").fetchall()
        return [scope for (scope,) in scopes]

    def problems(self) -> Iterator[str]:
        """Yield where the lists are not those of the rows."""
        for scope in self._scopes():
            for field in SIMHASH_FIELDS:
                expected = distinct(self._simhashes_of_rows(field, scope))
                for problem in self.postings(field, scope).faults(expected):
                    yield f"{field} list of scope {scope}, {problem}"

    def _simhashes_of_rows(self, field: str, scope: int) -> Hashes:
        rows = self.connection.execute(
            f"SELECT {field}_simhash FROM pages WHERE scope = ? AND listed AND {field}_simhash != 0",
            (scope,),
        )
        try:
            return np.fromiter((simhash for (simhash,) in rows), np.int64).view(np.uint64)
        except (OverflowError, TypeError, ValueError) as error:
            raise Damaged(f"a row has no number as its {field} simhash") from error


# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500
# With more simhashes than these, the newest pages of all are looked through first.
_FEW_SIMHASHES = 8
_NOTHING = Candidates((), 0)


class Search:
    """What in *pool* may be the canonical of *page*; *scope* is the number of its group."""

    def __init__(
        self, page: Fingerprint, pool: Pool, config: DedupConfig, *, lists: Lists, scope: int
    ) -> None:
        self.page, self.pool, self.config = page, pool, config
        self.connection, self.lists, self.scope = lists.connection, lists, scope
        self._seen: set[int] = set()
        self._in_pool = f"AND {of_dry_runs(pool.dry_runs, '')} "
        self._given: tuple[int | str, ...] = (scope,)
        if pool.without:
            self._in_pool += f"AND id NOT {AMONG} "
            self._given = (scope, json.dumps(list(pool.without)))

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        yield from map(self._taken, self._equals())
        yield from map(self._near, self._nears())

    def _taken(self, found: list[Canonical]) -> Candidates:
        if not found:
            return _NOTHING
        self._seen.update(canonical.id for canonical in found)
        return Candidates(self._ordered(found), len(found))

    def _near(self, found: Iterable[Sketched]) -> Candidates:
        """Return those not seen before that their sketches do not rule out; mostly there are none."""
        new = [(row, sketch) for row, sketch in found if row not in self._seen]
        if not new:
            return _NOTHING
        self._seen.update(row for row, _ in new)
        try:
            passing = may_pass(self.page, [sketch for _, sketch in new])
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        rows = [row for row, _ in compress(new, passing)]
        canonicals: list[Canonical] = []
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            canonicals += self._canonicals(f"AND id IN ({','.join('?' * len(batch))})", batch)
        return Candidates(self._ordered(canonicals), len(new))

    def _ordered(self, found: list[Canonical]) -> list[Canonical]:
        page = self.page
        return sorted(found, key=lambda canonical: nearness(page, canonical))

    def _equals(self) -> Iterator[list[Canonical]]:
        """Yield the oldest canonicals with the same bytes, then those with the same tokens."""
        page = self.page
        if self._has_equals():  # as few pages have
            yield self._equal("body_digest", page.body_digest)
            if page.tokens >= MIN_EQUAL_TOKENS:
                yield self._equal("token_digest", page.token_digest)

    def _has_equals(self) -> bool:
        """Return whether any listed page has the same bytes or the same tokens, in the pool or not."""
        page = self.page
        found = self.connection.execute(
            "SELECT EXISTS (SELECT 1 FROM pages WHERE scope = ? AND listed AND body_digest = ?) "
            "OR EXISTS (SELECT 1 FROM pages WHERE scope = ? AND listed AND token_digest = ?)",
            (self.scope, page.body_digest, self.scope, page.token_digest),
        )
        return bool(found.fetchone()[0])

    def _equal(self, column: str, value: bytes) -> list[Canonical]:
        where = f"AND {column} = ? ORDER BY id LIMIT ?"
        return self._canonicals(where, [value, MAX_CANDIDATES])

    def _nears(self) -> Iterator[Iterable[Sketched]]:
        """Yield canonicals that the keys of the page lead to, in batches, those of each in no order."""
        most = self.config.max_distance
        if self.page.content_simhash:
            for distance in sorted({min(NEAR, most), most}):
                yield self._near_content(distance)
        if self.page.structure_simhash:
            yield self._near_structure()

    def _near_content(self, distance: int) -> Iterator[Sketched]:
        """Yield canonicals of the nearest simhashes, of equally near ones the oldest, up to the cap."""
        page, left = self.page.content_simhash, MAX_CANDIDATES
        simhashes = self.lists.postings("content", self.scope).near(page, distance)
        if not len(simhashes):
            return
        if len(simhashes) <= min(_BATCH, left):
            found = self._of_simhashes(simhashes, left + 1)
            if len(found) <= left:
                yield from found
                return
        for near in by_distance(page, simhashes, left):
            found = self._of_simhashes(near, left)
            left -= len(found)
            yield from found

    def _near_structure(self) -> list[Sketched]:
        """Return the newest canonicals of the nearest simhashes, in no order."""
        page, limit = self.page.structure_simhash, MAX_STRUCTURE_CANDIDATES
        postings = self.lists.postings("structure", self.scope)
        simhashes = postings.near(page, STRUCTURE_MAX_DISTANCE)
        if len(simhashes) > min(limit, MAX_CANDIDATES):
            simhashes = np.concatenate(list(by_distance(page, simhashes, MAX_CANDIDATES)))
        if (
            len(simhashes) > _FEW_SIMHASHES
            and len(newest := self._newest_with(simhashes, limit)) == limit
        ):
            return newest
        if len(simhashes) > limit:
            simhashes = self._newest_simhashes(simhashes, limit)
        found: list[Sketched] = []
        for simhash in simhashes.view(np.int64).tolist():
            oldest = found[0][0] if len(found) == limit else 0
            pages = self.lists.newest.sketches(self.scope, simhash, self.pool, limit)
            if pages is None:
                where = "AND structure_simhash = ? AND id > ? ORDER BY id DESC LIMIT ?"
                pages = self._sketches(where, [simhash, oldest, limit])
            found = sorted(found + pages, key=itemgetter(0))[-limit:]
        return found

    def _newest_with(self, simhashes: Hashes, limit: int) -> list[Sketched]:
        """Return the newest canonicals of *simhashes*, as far as they are among the newest pages of all.

        On a site of one template nearly all are; asking for each simhash reads many times as many rows.
        """
        wanted = set(simhashes.view(np.int64).tolist())
        return list(islice(self.lists.newest.latest(self.scope, self.pool, wanted), limit))

    def _newest_simhashes(self, simhashes: Hashes, limit: int) -> Hashes:
        """Return the simhashes with the newest pages: the newest pages of all are among theirs."""
        newest = self.connection.execute(
            # Not max(id): beside other conditions it would read all pages of a simhash.
            "SELECT value, (SELECT id FROM pages WHERE scope = ? AND listed "
            f"{self._in_pool}AND structure_simhash = value ORDER BY id DESC LIMIT 1) AS newest "
            "FROM json_each(?) ORDER BY newest DESC LIMIT ?",
            (*self._given, json.dumps(simhashes.view(np.int64).tolist()), limit),
        )
        return np.fromiter((simhash for simhash, _ in newest), np.int64).view(np.uint64)

    def _of_simhashes(self, simhashes: Hashes, limit: int) -> list[Sketched]:
        """Return the oldest canonicals of *simhashes*."""
        found: list[Sketched] = []
        for start in range(0, len(simhashes), _BATCH):
            batch = simhashes[start : start + _BATCH].view(np.int64).tolist()
            marks = ",".join("?" * len(batch))
            found += self._sketches(
                f"AND content_simhash IN ({marks}) ORDER BY id LIMIT ?", [*batch, limit]
            )
        return sorted(found, key=itemgetter(0))[:limit]

    def _sketches(self, where: str, values: Sequence[object]) -> list[Sketched]:
        return self._fetch("SELECT id, sketch FROM pages WHERE scope = ? AND listed ", where, values)

    def _canonicals(self, where: str, values: Sequence[object]) -> list[Canonical]:
        return [canonical_of(fields) for fields in self._fetch(SELECT_CANONICAL, where, values)]

    def _fetch(self, select: str, where: str, values: Sequence[object]) -> list[Any]:
        return self.connection.execute(
            select + self._in_pool + where, (*self._given, *values)
        ).fetchall()


def near_rows(
    connection: sqlite3.Connection, postings: PostingList, simhash: int, max_distance: int, limit: int
) -> list[tuple[int, int]]:
    """Return distances and rows near *simhash*, the nearest first, then the oldest, at most *limit*."""
    found: list[tuple[int, int]] = []
    simhashes = postings.near(simhash, max_distance)
    for near in by_distance(simhash, simhashes, len(simhashes)):
        if not len(near) or len(found) >= limit:
            break
        distance = (int(near[0]) ^ simhash).bit_count()
        rows = connection.execute(
            "SELECT p.id FROM json_each(?) w CROSS JOIN pages p ON p.scope = ? "
            f"AND p.{postings.field}_simhash = w.value AND p.listed ORDER BY p.id LIMIT ?",
            (json.dumps(near.view(np.int64).tolist()), postings.scope, limit - len(found)),
        )
        found += [(distance, row) for (row,) in rows]
    return found


def by_distance(simhash: int, simhashes: Hashes, limit: int) -> list[Hashes]:
    """Return the *limit* of *simhashes* nearest to *simhash*, by distance; among equals the smallest."""
    distances = np.bitwise_count(simhashes ^ np.uint64(simhash))
    order = np.lexsort((simhashes, distances))[:limit]
    groups: list[Hashes] = np.split(simhashes[order], np.flatnonzero(np.diff(distances[order])) + 1)
    return groups
