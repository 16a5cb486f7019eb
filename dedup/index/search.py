"""The search for the canonicals near one page, by lists of simhashes that are held in memory.

What is held can be made anew from the rows at any time, and follows them by their numbers.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress, islice
from secrets import token_hex
from typing import Any

import numpy as np

from dedup.index.blocks import Simhashes, distinct
from dedup.index.rows import AMONG, CANONICALS, LISTED, OF_TITLE, Pool, of_dry_runs
from dedup.index.sqlite_file import Damaged
from dedup.model.fingerprint import SIMHASH_FIELDS, Fingerprint
from dedup.model.hashes import Hashes, unsigned
from dedup.model.verdict import Candidates, Canonical
from dedup.prints.fingerprinter import DedupConfig
from dedup.rule import match as rule

NEAR = 3  # most duplicates are this near, and looking that far costs little; the rest comes second
_FEW_SIMHASHES, _LATEST = 8, 256  # with more of them, so many of the newest pages are looked at first
_MOST_LISTS = 1000  # are held, those asked last: of a crawl that compares the pages of a host, few
# So many sketches are held, of some 400 bytes each: nearly all pages of a site may have one structure
# simhash, and the newest of them are the same page after page.
_MOST_SKETCHES = 30_000
_RELISTED = "relisted"  # the note of the last older rows that were listed, each with a token
_MOST_RELISTED = 200


class Lists:
    """The simhashes of the listed rows of each scope (the number of a group); the last asked are held.

    Every method is part of the caller's transaction.  A list may have simhashes that are listed no more.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._lists: OrderedDict[tuple[str, int], Simhashes] = OrderedDict()
        self._sketches: dict[int, bytes] = {}
        # The newest rows of one scope, and those that are listed no more.
        self._newest: deque[tuple[int, int, bool, int]] = deque(maxlen=_LATEST)
        self._newest_of, self.gone = -1, set[int]()
        self._last: int | None = None  # up to here the rows were read
        self.is_behind = True  # whether there may be more by now
        self._relisted: str | None = None

    def clear(self) -> None:
        """Hold nothing any more, as after a transaction that was undone."""
        self._lists.clear()
        self._sketches.clear()
        self._last, self.is_behind, self._newest_of = None, True, -1

    def look_around(self) -> None:
        """Look at what others have changed."""
        self.is_behind, self._newest_of = True, -1
        times = self._times()
        if self._relisted not in times:
            self.clear()
        else:
            for time in times[times.index(self._relisted) + 1 :]:
                self._take_row(int(time.partition(":")[0]))
        self._relisted = times[-1]

    def note_relisted(self, row: int) -> None:
        """Note that an older *row* was listed again, or has another fingerprint."""
        self._newest_of = -1
        self._take_row(row)
        self._relisted = f"{row}:{token_hex(8)}"
        times = " ".join([*self._times(), self._relisted][-_MOST_RELISTED:])
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_RELISTED, times))

    def _times(self) -> list[str]:
        text = "SELECT value FROM meta WHERE name = ?"
        found = self.connection.execute(text, (_RELISTED,)).fetchone()
        return str(found[0]).split(" ") if found else [""]

    def _take_row(self, row: int) -> None:
        self._sketches.pop(row, None)
        text = "SELECT scope, content_simhash, structure_simhash FROM pages WHERE id = ?"
        for scope, *simhashes in self.connection.execute(text, (row,)):
            self._take(scope, *simhashes)

    def sketches(self, rows: Sequence[int]) -> list[bytes]:
        """Return the sketches of *rows*: most rows are ruled out by that, and nothing else is read."""
        held = self._sketches
        if len(held) > _MOST_SKETCHES:
            held.clear()
        if missing := [row for row in rows if row not in held]:
            text = f"SELECT id, sketch FROM pages WHERE id {AMONG}"
            held.update(self.connection.execute(text, (json.dumps(missing),)))
        return [held[row] for row in rows]

    def newest(self, scope: int, simhashes: Collection[int], pool: Pool) -> Iterator[int]:
        """Yield rows of *pool* with one of the structure *simhashes*, as far as they are the newest."""
        if self._newest_of != scope:
            newest = self.connection.execute(
                "SELECT id, structure_simhash, is_dry, run FROM pages NOT INDEXED WHERE scope = ? "
                f"AND listed AND id > (SELECT max(id) FROM pages) - {_LATEST} ORDER BY id",
                (scope,),
            )
            self._newest = deque(newest, maxlen=_LATEST)
            self._newest_of = scope
            self.gone.clear()
        for row, simhash, is_dry, run in reversed(self._newest):
            is_out = row in self.gone or row in pool.without or (is_dry and run not in pool.dry_runs)
            if simhash in simhashes and not is_out:
                yield row

    def simhashes(self, field: str, scope: int) -> Simhashes:
        """Return the simhashes *field* of a scope."""
        if self.is_behind:
            self._read_on()
            self.is_behind = False
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
        if self._last is None:
            (self._last,) = self.connection.execute("SELECT ifnull(max(id), 0) FROM pages").fetchone()
            return
        new = self.connection.execute(
            "SELECT id, listed, scope, content_simhash, structure_simhash, is_dry, run, sketch "
            "FROM pages WHERE id > ? ORDER BY id",
            (self._last,),
        )
        for row, listed, scope, content, structure, is_dry, run, sketch in new:
            if listed:
                self._take(scope, content, structure)
                if len(self._sketches) < _MOST_SKETCHES:
                    self._sketches[row] = sketch
                if scope == self._newest_of:
                    self._newest.append((row, structure, is_dry, run))
            self._last = row

    def _take(self, scope: int, *simhashes: int) -> None:
        for field, simhash in zip(SIMHASH_FIELDS, simhashes, strict=True):
            held = self._lists.get((field, scope))
            if held and simhash and isinstance(simhash, int):
                held.add(unsigned(simhash))


class Search:
    """What in *pool* may be the canonical of *page*; *scope* is the number of its group."""

    def __init__(
        self, lists: Lists, page: Fingerprint, pool: Pool, config: DedupConfig, *, scope: int
    ) -> None:
        self.connection, self.lists, self.scope = lists.connection, lists, scope
        self.page, self.pool, self.config = page, pool, config
        self._seen: set[int] = set()
        self._given: list[object] = [scope]
        self._in_pool = f"{LISTED} AND {of_dry_runs(pool.dry_runs)} "
        if pool.without:
            self._in_pool += f"AND p.id NOT {AMONG} "
            self._given.append(json.dumps(list(pool.without)))

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        for found in self._equals():
            self._seen.update(canonical.id for canonical in found)
            yield self._candidates(found, len(found))
        most = self.config.max_distance
        if self.page.content_simhash:
            for distance in sorted({min(NEAR, most), most}):
                yield self._near(self._near_content(distance))
        if self.page.structure_simhash:
            yield self._near(self._near_structure())
        if self.page.content_simhash and (title := rule.title_of(self.page)):
            yield self._titled(title)

    def _near(self, found: Iterable[int]) -> Candidates:
        """Return those not seen before that their sketches do not rule out; mostly there are none."""
        new = [row for row in found if row not in self._seen]
        if not new:
            return Candidates((), 0)
        self._seen.update(new)
        try:
            passing = rule.are_alike(self.page, self.lists.sketches(new))
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        if not any(passing):
            return Candidates((), len(new))
        return self._read(list(compress(new, passing)), len(new))

    def _titled(self, title: bytes) -> Candidates:
        """Return what has the *title* of the page and is not like it as a whole, if only few have it."""
        where = f"WHERE {self._in_pool}AND {OF_TITLE} = ? LIMIT {rule.COMMON_PAGES}"
        found = self._fetch(f"SELECT p.id FROM pages p {where}", title)
        rows = [row for (row,) in found] if len(found) < rule.COMMON_PAGES else []
        alike = rule.are_alike(self.page, self.lists.sketches(rows))  # these are found by simhashes
        new = [row for row, is_alike in zip(rows, alike, strict=True) if not is_alike]
        return self._read(new, len(new))

    def _read(self, rows: Sequence[int], looked_at: int) -> Candidates:
        text = f"{CANONICALS.select}WHERE p.id {AMONG}"
        found = self.connection.execute(text, (json.dumps(rows),)) if rows else ()
        return self._candidates(map(CANONICALS.read, found), looked_at)

    def _candidates(self, found: Iterable[Canonical], looked_at: int) -> Candidates:
        return Candidates(sorted(found, key=lambda one: rule.nearness(self.page, one)), looked_at)

    def _equals(self) -> Iterator[list[Canonical]]:
        """Yield the oldest canonicals with the same bytes, then those with the same tokens."""
        page = self.page
        (has_equals,) = self.connection.execute(
            f"SELECT EXISTS (SELECT 1 FROM pages p WHERE {LISTED} AND p.body_digest = ?) "
            f"OR EXISTS (SELECT 1 FROM pages p WHERE {LISTED} AND p.token_digest = ?)",
            (self.scope, page.body_digest, self.scope, page.token_digest),
        ).fetchone()
        if has_equals:  # as few pages have
            for column in ("body_digest", "token_digest")[: 1 + (page.tokens >= rule.MIN_EQUAL_TOKENS)]:
                where = f"WHERE {self._in_pool}AND p.{column} = ? ORDER BY p.id LIMIT ?"
                given = getattr(page, column), rule.MAX_CANDIDATES
                found = self._fetch(CANONICALS.select + where, *given)
                yield list(map(CANONICALS.read, found))

    def _near_content(self, distance: int) -> list[int]:
        """Return rows of the nearest simhashes, of equally near ones the oldest, up to the cap."""
        simhashes = self._nearest("content", distance)
        found = self._of_content(simhashes, rule.MAX_CANDIDATES + 1)
        if len(found) > rule.MAX_CANDIDATES:
            found = []
            for near in by_distance(self.page.content_simhash, simhashes):
                found += self._of_content(near, rule.MAX_CANDIDATES - len(found))
        return found

    def _of_content(self, simhashes: Hashes, limit: int) -> list[int]:
        if not len(simhashes) or limit <= 0:
            return []
        text = (
            "SELECT p.id FROM json_each(?) w CROSS JOIN pages p INDEXED BY pages_by_content "
            f"ON p.content_simhash = w.value AND {self._in_pool}ORDER BY p.id LIMIT ?"
        )
        given = (as_json(simhashes), *self._given, limit)
        return [row for (row,) in self.connection.execute(text, given)]

    def _near_structure(self) -> list[int]:
        """Return the newest rows of the nearest simhashes, in no order."""
        limit = rule.MAX_STRUCTURE_CANDIDATES
        simhashes = self._nearest("structure", rule.STRUCTURE_MAX_DISTANCE)
        # On a site of one template nearly all of the newest pages are wanted, of many simhashes.
        if len(simhashes) > _FEW_SIMHASHES:
            wanted = {*simhashes.view(np.int64).tolist()}
            found = list(islice(self.lists.newest(self.scope, wanted, self.pool), limit))
            if len(found) == limit:
                return found
        if len(simhashes) > limit:
            simhashes = self._newest_simhashes(simhashes, limit)
        found = []
        for simhash in simhashes.view(np.int64).tolist():
            oldest = found[0] if len(found) == limit else 0
            more = self._fetch(
                f"SELECT p.id FROM pages p INDEXED BY pages_by_structure WHERE {self._in_pool}"
                f"AND p.structure_simhash = ? AND p.id > ? ORDER BY p.id DESC LIMIT {limit}",
                *(simhash, oldest),
            )
            found = sorted(found + [row for (row,) in more])[-limit:]
        return found

    def _nearest(self, field: str, distance: int) -> Hashes:
        """Return simhashes *field* within *distance*, the nearest up to the cap; below it all held."""
        simhash = self.page.simhash(field)
        simhashes = self.lists.simhashes(field, self.scope).near(simhash, distance)
        if len(simhashes) <= rule.MAX_CANDIDATES:
            return simhashes
        ordered, found = np.concatenate(by_distance(simhash, simhashes)), list[int]()
        for start in range(0, len(ordered), rule.MAX_CANDIDATES):
            listed = self.connection.execute(
                "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM pages p "
                f"WHERE {LISTED} AND p.{field}_simhash = value)",
                (as_json(ordered[start : start + rule.MAX_CANDIDATES]), self.scope),
            )
            found += [one for (one,) in listed]
            if len(found) >= rule.MAX_CANDIDATES:
                break
        return np.array(found[: rule.MAX_CANDIDATES], np.int64).view(np.uint64)

    def _newest_simhashes(self, simhashes: Hashes, limit: int) -> Hashes:
        """Return the simhashes with the newest pages: the newest pages of all are among theirs."""
        newest = self._fetch(
            # Not max(id): beside other conditions it would read all pages of a simhash.
            f"SELECT value, (SELECT p.id FROM pages p WHERE {self._in_pool}"
            "AND p.structure_simhash = value ORDER BY p.id DESC LIMIT 1) AS newest "
            f"FROM json_each(?) ORDER BY newest DESC LIMIT {limit}",
            as_json(simhashes),
        )
        return np.fromiter((simhash for simhash, _ in newest), np.int64).view(np.uint64)

    def _fetch(self, text: str, *values: object) -> list[Any]:
        return self.connection.execute(text, (*self._given, *values)).fetchall()


def by_distance(simhash: int, simhashes: Hashes) -> list[Hashes]:
    """Return *simhashes* in groups of one distance to *simhash*, the nearest first; each is sorted."""
    distances = np.bitwise_count(simhashes ^ np.uint64(simhash))
    order = np.lexsort((simhashes, distances))
    groups: list[Hashes] = np.split(simhashes[order], np.flatnonzero(np.diff(distances[order])) + 1)
    return groups


def as_json(simhashes: Hashes) -> str:
    """Return *simhashes* as they stand in the file, for ``json_each``."""
    return json.dumps(simhashes.view(np.int64).tolist())
