"""The obviously right search: a linear scan of all rows.  Slow; the oracle of the lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dedup.index import Index
from dedup.index.rows import Pool
from dedup.index.store import Store
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import simhash_distance
from dedup.model.row import KeptText, Row
from dedup.model.verdict import Candidates, Reason
from dedup.prints.config import DedupConfig
from dedup.rule.site import told_by, told_by_copy
from tests.index.scan import scan


def kept_text(row: Row, repeated: bytes) -> KeptText:
    """Return what *row* tells about its site."""
    seen = row.sighting
    traits = seen.fingerprint.traits
    group, told = (seen.kind, seen.scope), told_by(seen.fingerprint.sample, traits)
    told = told if row.verdict.kept else told_by_copy(traits, repeated)
    is_new = row.verdict.reason in (Reason.NEW, Reason.NEAR_DUPLICATE)
    found = KeptText(row.id, group, seen.host, seen.run, seen.is_dry, is_new, row.outcome, told)
    return found._replace(is_kept=row.verdict.kept)


def tells_of_site(row: Row) -> bool:
    """Return whether *row* was kept, or was dropped as a near copy and lost a word."""
    found = row.verdict
    is_near = found.reason is Reason.NEAR_DUPLICATE and (found.lost or 0) > 0
    return bool(row.sighting.fingerprint.sample) and (found.kept or is_near)


class ScanIndex(Index):
    """The index over a `ScanStore`."""

    def __init__(self) -> None:
        super().__init__(ScanStore())


class ScanStore(Store):
    """A store in memory that looks at all rows where others search."""

    def __init__(self) -> None:
        super().__init__(None)
        self.name = "the index of the oracle"

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        group = list(self.rows("p.scope = ? AND p.listed", self.scope(pool.group)))
        return scan(page, group, pool, config)

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        found = self.rows() if rows is None else self.rows_of(sorted(rows))
        for row in filter(tells_of_site, found):
            if rows is not None or row.id > after:
                canonical = self.row(row.verdict.canonical or row.id)
                yield kept_text(row, canonical.sighting.fingerprint.token_digest)

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[tuple[int, int]]:
        found = [
            (distance, row.id)
            for row in self.rows("p.listed")
            if (distance := simhash_distance(simhash, row.sighting.fingerprint.simhash(field)))
            is not None
            and distance <= max_distance
        ]
        return sorted(found)[:limit]
