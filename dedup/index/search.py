"""The search for the canonicals near one page, in the tables of an index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from operator import itemgetter
from typing import Any

import numpy as np

from dedup.index.bands import BandList, Sketched
from dedup.index.files import Damaged
from dedup.index.postings import PostingList
from dedup.index.tables import MET, SELECT_CANONICAL, canonical_of
from dedup.recipes.config import DedupConfig
from dedup.rule.decide import nearness
from dedup.rule.verifier import MIN_EQUAL_TOKENS, may_verify, uses_content, uses_structure
from dedup.values.hashes import Hashes
from dedup.values.run import Crawl
from dedup.values.sighting import Sighting
from dedup.values.verdict import Candidates, Canonical

# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500
_NOTHING = Candidates((), 0)
# With more simhashes than these, the newest pages of all are looked through first: this many for each
# that is wanted.
_FEW_SIMHASHES = 8
_NEWEST = 4


def listed(numbers: Iterable[int]) -> str:
    """Return *numbers* as SQL takes them behind ``IN``."""
    return f"({','.join(map(str, sorted(numbers)))})"


def dry_clause(sighting: Sighting, crawl: Crawl, table: str = "") -> str:
    """Return the condition that leaves out rows of dry runs, but for those of a dry run's own crawl."""
    is_own = f" OR {table}run IN {listed(crawl.alive)}" if sighting.is_dry else ""
    return f"AND (NOT {table}is_dry{is_own}) "


def not_own(sighting: Sighting, crawl: Crawl) -> str:
    """Return the condition that leaves out what *sighting* is not compared with.

    Versions of its own from other crawls, unless its crawl has met them again, and what has another
    key.  It takes the scope as ``?1``, the value of the identity as ``?2``.
    """
    dry, own = dry_clause(sighting, crawl), listed(crawl.own)
    if not sighting.is_named:
        return f"{dry}AND ?2 IS NOT NULL "  # so that both values are used
    column, _ = sighting.identity
    others = "AND item_key = ?2 " if column == "item_key" else ""
    met = MET.replace("m.", "")
    return (
        f"{others}{dry}AND NOT ({column} = ?2 AND run NOT IN {own} AND id NOT IN ("
        f"SELECT canonical FROM pages WHERE scope = ?1 AND {column} = ?2 AND {column} != '' "
        f"AND run IN {own} AND {met} AND is_dry <= {sighting.is_dry:d})) "
    )


@dataclass(slots=True)
class Search:
    """What may be the canonical of *sighting*; *scope* is the number of its group.

    *own* is `not_own`, what it is not compared with.
    *content* and *structure* are the posting lists of the group, *bands* its list of bands, None
    where bands find no candidates.
    """

    connection: sqlite3.Connection
    sighting: Sighting
    own: str
    scope: int
    content: PostingList
    structure: PostingList
    bands: BandList | None
    config: DedupConfig
    _seen: set[int] = field(default_factory=set)

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        page, config = self.sighting.fingerprint, self.config
        if self.sighting.item_key:
            found = self._canonicals("ORDER BY id", [])
            yield Candidates(self._ordered(found), len(found))
            return
        yield self._equal("body_digest", page.body_digest)
        if page.tokens >= MIN_EQUAL_TOKENS:
            yield self._equal("token_digest", page.token_digest)
        if page.content_simhash and uses_content(config):
            for distance in sorted({min(NEAR, config.max_distance), config.max_distance}):
                yield self._near(self._near_content(distance))
        others: dict[int, bytes] = {}
        if page.structure_simhash and uses_structure(config):
            others.update(self._near_structure())
        if self.bands:
            others.update(self._near_bands(self.bands))
        yield self._near(others.items())

    def _equal(self, column: str, value: bytes) -> Candidates:
        where = f"AND {column} = ? ORDER BY id LIMIT ?"
        found = self._canonicals(where, [value, self.config.max_candidates])
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
            passing = may_verify(self.sighting.fingerprint, [sketch for _, sketch in new], self.config)
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        rows = [row for row, _ in compress(new, passing)]
        canonicals = [
            canonical
            for start in range(0, len(rows), _BATCH)
            for canonical in self._of_rows(rows[start : start + _BATCH])
        ]
        return Candidates(self._ordered(canonicals), len(new))

    def _of_rows(self, rows: list[int]) -> list[Canonical]:
        return self._canonicals(f"AND id IN ({','.join('?' * len(rows))})", rows)

    def _ordered(self, found: list[Canonical]) -> list[Canonical]:
        page = self.sighting.fingerprint
        return sorted(found, key=lambda canonical: nearness(page, canonical))

    def _near_content(self, distance: int) -> Iterator[Sketched]:
        """Yield canonicals of the nearest simhashes, of equally near ones the oldest, up to the cap."""
        page, left = self.sighting.fingerprint.content_simhash, self.config.max_candidates
        simhashes = self.content.near(page, distance)
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
        page, limit = self.sighting.fingerprint.structure_simhash, self.config.max_structure_candidates
        simhashes = self.structure.near(page, self.config.structure_max_distance)
        if len(simhashes) > min(limit, self.config.max_candidates):
            simhashes = np.concatenate(list(by_distance(page, simhashes, self.config.max_candidates)))
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
            where = "AND structure_simhash = ? AND id > ? ORDER BY id DESC LIMIT ?"
            found += self._sketches(where, [simhash, oldest, limit])
            found = sorted(found, key=itemgetter(0))[-limit:]
        return found

    def _newest_with(self, simhashes: Hashes, limit: int) -> list[Sketched]:
        """Return the newest canonicals of *simhashes*, as far as they are among the newest pages of all.

        On a site of one template nearly all pages are; asking one by one reads many times as many.
        """
        wanted = set(simhashes.view(np.int64).tolist())
        rows = self.connection.execute(
            "SELECT id, sketch, structure_simhash FROM pages NOT INDEXED WHERE scope = ?1 AND listed "
            f"{self.own} AND id > (SELECT max(id) FROM pages) - ?3 ORDER BY id DESC",
            (*self._given, _NEWEST * limit),
        )
        found = ((row, sketch) for row, sketch, simhash in rows if simhash in wanted)
        return list(islice(found, limit))

    def _near_bands(self, bands: BandList) -> list[Sketched]:
        """Return the canonicals with most bands in common, of equal ones the oldest, up to the cap."""
        rows, limit = bands.find(self.sighting.fingerprint.sketch), self.config.max_candidates
        found: dict[int, bytes] = {}
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            found.update(self._sketches(f"AND id IN ({','.join('?' * len(batch))})", batch))
            if len(found) >= limit:
                break
        return [(row, found[row]) for row in rows if row in found][:limit]

    def _newest_simhashes(self, simhashes: Hashes, limit: int) -> Hashes:
        """Return the simhashes with the newest pages: the newest pages of all are among theirs."""
        newest = self.connection.execute(
            # Not max(id): beside other conditions it would read all pages of a simhash.
            "SELECT value, (SELECT id FROM pages WHERE scope = ?1 AND listed "
            f"{self.own} AND structure_simhash = value ORDER BY id DESC LIMIT 1) AS newest "
            "FROM json_each(?3) ORDER BY newest DESC LIMIT ?4",
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
        return self._fetch("SELECT id, sketch FROM pages WHERE scope = ?1 AND listed ", where, values)

    def _canonicals(self, where: str, values: Sequence[object]) -> list[Canonical]:
        return [canonical_of(fields) for fields in self._fetch(SELECT_CANONICAL, where, values)]

    def _fetch(self, select: str, where: str, values: Sequence[object]) -> list[Any]:
        return self.connection.execute(select + self.own + where, (*self._given, *values)).fetchall()

    @property
    def _given(self) -> tuple[int, str | bytes]:
        """What `not_own` and the scope before it take."""
        return self.scope, self.sighting.identity[1]


def by_distance(simhash: int, simhashes: Hashes, limit: int) -> list[Hashes]:
    """Return the *limit* of *simhashes* nearest to *simhash*, by distance; among equals the smallest."""
    distances = np.bitwise_count(simhashes ^ np.uint64(simhash))
    order = np.lexsort((simhashes, distances))[:limit]
    groups: list[Hashes] = np.split(simhashes[order], np.flatnonzero(np.diff(distances[order])) + 1)
    return groups
