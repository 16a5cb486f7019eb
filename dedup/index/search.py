"""The search for the canonicals near one page, by lists of simhashes that are held in memory.

What is held can be made anew from the rows at any time, and follows them by their numbers.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress, islice

import numpy as np

from dedup.index.blocks import Simhashes, distinct
from dedup.index.rows import AMONG, LISTED, OF_TITLE, ROWS, Pool, of_dry_runs
from dedup.index.sqlite_file import Damaged
from dedup.model.fingerprint import SIMHASH_FIELDS, Fingerprint
from dedup.model.hashes import Hashes, signed, unsigned
from dedup.model.verdict import Candidates
from dedup.prints.fingerprinter import DedupConfig
from dedup.rule import match as rule

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
        self.version = 0  # of the file, as others have changed it
        self.clear()

    def clear(self) -> None:
        """Hold nothing any more, as after a transaction that was undone."""
        self._lists: OrderedDict[tuple[str, int], Simhashes] = OrderedDict()
        self._sketches: dict[int, bytes] = {}
        # Every listed row from the first of these on, which are the newest.
        self._newest = deque[tuple[int, int, int, bool, int]](maxlen=_LATEST)
        self._read_to: tuple[int, int] | None = None  # the last row, and the last entry of `relisted`
        self._read_at = 0, -1  # which version, and after how many changes of its own

    def sketches(self, rows: Sequence[int]) -> list[bytes]:
        """Return the sketches of *rows*: most rows are ruled out by that, and nothing else is read."""
        held = self._sketches
        if missing := [row for row in rows if row not in held]:
            text = f"SELECT id, sketch FROM pages WHERE id {AMONG}"
            held.update(self.connection.execute(text, (json.dumps(missing),)))
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
        if self._read_at != (now := (self.version, self.connection.total_changes)):
            self._read_on()
            self._read_at = now
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
        self._given: dict[str, object] = {"scope": scope, "without": json.dumps([*pool.without])}
        self._in_pool = f"{LISTED} AND {of_dry_runs(pool.dry_runs)}"
        if pool.without:
            self._in_pool += " AND p.id NOT IN (SELECT value FROM json_each(:without))"

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        for found in self._equals():
            self._seen.update(found)
            yield self._read(found, len(found))
        most = self.config.max_distance
        if self.page.content_simhash:
            for distance in sorted({min(NEAR, most), most}):
                yield self._near(self._near_content(distance))
        if self.page.structure_simhash:
            rows = self._near_structure()
            yield self._near(dict(zip(rows, self.lists.sketches(rows), strict=True)))
        if self.page.content_simhash and (title := rule.title_of(self.page)):
            yield self._titled(title)

    def _near(self, sketches: Mapping[int, bytes]) -> Candidates:
        """Return rows not seen before that their *sketches* do not rule out; mostly there are none."""
        new = [row for row in sketches if row not in self._seen]
        self._seen.update(new)
        try:
            passing = rule.are_alike(self.page, [sketches[row] for row in new])
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
        stored = self.connection.execute(text, (json.dumps(rows),)) if rows else ()
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
        found: dict[int, bytes] = {}
        if not len(simhashes := self._nearest("content", distance)):
            return found
        text = (
            "SELECT p.id, p.sketch FROM json_each(:near) w CROSS JOIN pages p "
            f"INDEXED BY pages_by_content ON p.content_simhash = w.value AND {self._in_pool} "
            f"{{}} LIMIT {rule.MAX_CANDIDATES}"
        )
        given = {"near": as_json(simhashes), "simhash": signed(self.page.content_simhash), **self._given}
        for order in ("", "ORDER BY apart(w.value, :simhash), p.id"):
            found = dict(self.connection.execute(text.format(order), given))
            if len(found) < rule.MAX_CANDIDATES:  # these are all, and are in any order
                break
        return found

    def _near_structure(self) -> list[int]:
        """Return the newest rows of the nearest simhashes, in no order."""
        limit = rule.MAX_STRUCTURE_CANDIDATES
        simhashes = self._nearest("structure", rule.STRUCTURE_MAX_DISTANCE)
        near, found = simhashes.view(np.int64).tolist(), list[int]()
        # On a site of one template nearly all of the newest pages are wanted, of many simhashes.
        if len(near) > _FEW_SIMHASHES:
            newest = list(islice(self.lists.newest(self.scope, {*near}, self.pool), limit))
            if len(newest) == limit:
                return newest
        of_it = f"SELECT p.id FROM pages p WHERE {self._in_pool} AND p.structure_simhash"
        if len(near) > limit:  # those with the newest pages: the newest of all are among theirs
            last = f"{of_it} = value ORDER BY p.id DESC LIMIT 1"  # max(id) would read all
            text = f"SELECT value FROM json_each(:near) ORDER BY ({last}) DESC LIMIT {limit}"
            near = self._rows(text, near=as_json(simhashes))
        text = f"{of_it} = :simhash AND p.id > :oldest ORDER BY p.id DESC LIMIT {limit}"
        for simhash in near:
            oldest = found[0] if len(found) == limit else 0
            found = sorted(found + self._rows(text, simhash=simhash, oldest=oldest))[-limit:]
        return found

    def _nearest(self, field: str, distance: int) -> Hashes:
        """Return simhashes *field* within *distance*, the nearest up to the cap; below it all held."""
        simhash = self.page.simhash(field)
        simhashes = self.lists.simhashes(field, self.scope).near(simhash, distance)
        if len(simhashes) <= rule.MAX_CANDIDATES:
            return simhashes
        distances = np.bitwise_count(simhashes ^ np.uint64(simhash))
        ordered, found = simhashes[distances.argsort(kind="stable")], list[int]()
        for start in range(0, len(ordered), rule.MAX_CANDIDATES):
            found += self._rows(
                "SELECT value FROM json_each(:near) WHERE EXISTS (SELECT 1 FROM pages p "
                f"WHERE {LISTED} AND p.{field}_simhash = value)",
                near=as_json(ordered[start : start + rule.MAX_CANDIDATES]),
            )
            if len(found) >= rule.MAX_CANDIDATES:
                break
        return np.array(found[: rule.MAX_CANDIDATES], np.int64).view(np.uint64)

    def _rows(self, text: str, **values: object) -> list[int]:
        """Return the numbers that *text* selects, with these *values* and those of the pool."""
        return [row for (row,) in self.connection.execute(text, self._given | values)]


def as_json(simhashes: Hashes) -> str:
    """Return *simhashes* as they stand in the file, for ``json_each``."""
    return json.dumps(simhashes.view(np.int64).tolist())
