"""The search in the lists of an index for the canonicals near one page."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice
from operator import itemgetter
from typing import Any

import numpy as np

from dedup.index.database import Damaged
from dedup.index.lists import Lists, Sketched
from dedup.index.rows import AMONG, SELECT_CANONICAL, Pool, canonical_of, of_dry_runs
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import Hashes
from dedup.model.verdict import Candidates, Canonical
from dedup.prints.config import DedupConfig
from dedup.rule.keys import (
    MAX_CANDIDATES,
    MAX_STRUCTURE_CANDIDATES,
    MIN_EQUAL_TOKENS,
    STRUCTURE_MAX_DISTANCE,
    nearness,
)
from dedup.rule.loss import are_alike

# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500
# With more simhashes than these, the newest pages of all are looked through first.
_FEW_SIMHASHES = 8
_NOTHING = Candidates((), 0)


class Search:
    """What in *pool* may be the canonical of *page*; *scope* is the number of its group."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        lists: Lists,
        page: Fingerprint,
        pool: Pool,
        config: DedupConfig,
        *,
        scope: int,
    ) -> None:
        self.connection, self.lists, self.scope = connection, lists, scope
        self.page, self.pool, self.config = page, pool, config
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
            passing = are_alike(self.page, [sketch for _, sketch in new])
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
        (has_equals,) = self.connection.execute(
            "SELECT EXISTS (SELECT 1 FROM pages WHERE scope = ? AND listed AND body_digest = ?) "
            "OR EXISTS (SELECT 1 FROM pages WHERE scope = ? AND listed AND token_digest = ?)",
            (self.scope, page.body_digest, self.scope, page.token_digest),
        ).fetchone()
        if has_equals:  # as few pages have
            yield self._equal("body_digest", page.body_digest)
            if page.tokens >= MIN_EQUAL_TOKENS:
                yield self._equal("token_digest", page.token_digest)

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
        left = MAX_CANDIDATES
        simhashes = self._nearest("content", distance)
        if len(simhashes) <= _BATCH:
            found = self._of_simhashes(simhashes, left + 1)
            if len(found) <= left:
                yield from found
                return
        for near in by_distance(self.page.content_simhash, simhashes):
            found = self._of_simhashes(near, left)
            left -= len(found)
            yield from found

    def _near_structure(self) -> list[Sketched]:
        """Return the newest canonicals of the nearest simhashes, in no order."""
        limit, simhashes = MAX_STRUCTURE_CANDIDATES, self._nearest("structure", STRUCTURE_MAX_DISTANCE)
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

    def _nearest(self, field: str, distance: int) -> Hashes:
        """Return the simhashes *field* of listed pages within *distance*, the nearest up to the cap.

        Fewer than the cap may be of no listed page.
        """
        simhash = self.page.simhash(field)
        simhashes = self.lists.simhashes(field, self.scope).near(simhash, distance)
        if len(simhashes) <= MAX_CANDIDATES:
            return simhashes
        found, ordered = simhashes[:0], np.concatenate(by_distance(simhash, simhashes))
        for start in range(0, len(ordered), MAX_CANDIDATES):
            part = ordered[start : start + MAX_CANDIDATES].view(np.int64).tolist()
            listed = self.connection.execute(
                "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM pages "
                f"WHERE scope = ? AND listed AND {field}_simhash = value)",
                (json.dumps(part), self.scope),
            )
            more = np.fromiter((one for (one,) in listed), np.int64).view(np.uint64)
            found = np.concatenate((found, more))[:MAX_CANDIDATES]
            if len(found) == MAX_CANDIDATES:
                break
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


def by_distance(simhash: int, simhashes: Hashes) -> list[Hashes]:
    """Return *simhashes* in groups of one distance to *simhash*, the nearest first; each is sorted."""
    distances = np.bitwise_count(simhashes ^ np.uint64(simhash))
    order = np.lexsort((simhashes, distances))
    groups: list[Hashes] = np.split(simhashes[order], np.flatnonzero(np.diff(distances[order])) + 1)
    return groups
