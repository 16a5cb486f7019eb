"""The obviously right search: a linear scan of all rows.  Slow; the oracle of the lists."""

from collections.abc import Collection, Iterator

from dedup.index import Index
from dedup.index.rows import Pool
from dedup.index.store import Store
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import simhash_distance
from dedup.model.verdict import Candidates, Canonical, KeptText, Outcome, Reason, Row
from dedup.prints.fingerprinter import DedupConfig
from dedup.rule.match import (
    COMMON_PAGES,
    MAX_CANDIDATES,
    MAX_STRUCTURE_CANDIDATES,
    STRUCTURE_MAX_DISTANCE,
    are_alike,
    has_equal_text,
    nearness,
    title_of,
    told_by,
    told_by_copy,
)


def kept_text(row: Row, repeated: bytes) -> KeptText:
    """Return what *row* tells about its site."""
    seen = row.sighting
    traits = seen.fingerprint.traits
    group, told = (seen.kind, seen.scope), told_by(seen.fingerprint.sample, traits)
    told = told if row.verdict.kept else told_by_copy(traits, repeated)
    is_new = row.verdict.reason in (Reason.NEW, Reason.NEAR_DUPLICATE)
    found = KeptText(row.id, group, seen.host, seen.run, seen.is_dry, is_new, told)
    return found._replace(is_kept=row.verdict.kept)


def tells_of_site(row: Row) -> bool:
    """Return whether *row* was kept, or was dropped as a near copy and lost a word."""
    found = row.verdict
    is_near = found.reason is Reason.NEAR_DUPLICATE and (found.lost or 0) > 0
    is_known = row.outcome is Outcome.CONFIRMED and bool(row.sighting.fingerprint.sample)
    return is_known and (found.kept or is_near)


class ScanIndex(Index):
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

    def kept_texts(self, after: int, again: Collection[int]) -> Iterator[KeptText]:
        for row in filter(tells_of_site, self.rows()):
            if row.id > after or row.id in again:
                canonical = self.row(row.verdict.canonical or row.id)
                yield kept_text(row, canonical.sighting.fingerprint.token_digest)

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[int]:
        prints = [(row.id, row.sighting.fingerprint) for row in self.rows("p.listed")]
        found = [(simhash_distance(simhash, seen.simhash(field)), row) for row, seen in prints]
        near = sorted((far, row) for far, row in found if far is not None and far <= max_distance)
        return [row for _, row in near[:limit]]


def scan(page: Fingerprint, group: list[Row], pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
    """Yield what in *pool* may repeat *page*; simhashes are capped before rows are left out of it."""
    others = [row.as_canonical() for row in group if pool.has(row)]
    prints = [row.sighting.fingerprint for row in group]
    bodies = [other for other in others if other.fingerprint.body_digest == page.body_digest]
    equal = bodies + [other for other in others if has_equal_text(other.fingerprint, page)]
    simhashes = [other.content_simhash for other in prints]
    nearest = equal + _nearest(page.content_simhash, others, simhashes, config.max_distance)
    rest = _newest(page.structure_simhash, others, [other.structure_simhash for other in prints])
    seen: set[int] = set()
    for near in (nearest, rest):
        new = {other.id: other for other in near if other.id not in seen}
        seen.update(new)
        are = are_alike(
            page, [other.fingerprint.sketch for other in new.values()], in_order=near is rest
        )
        like = [
            each for each, is_alike in zip(new.values(), are, strict=True) if is_alike or each in equal
        ]
        yield Candidates(sorted(like, key=lambda other: nearness(page, other)), len(new))
    title = title_of(page) if page.content_simhash else b""
    titled = [other for other in others if title and title_of(other.fingerprint) == title]
    if len(titled) < COMMON_PAGES:
        unlike = [each for each in titled if not are_alike(page, [each.fingerprint.sketch])[0]]
        yield Candidates(sorted(unlike, key=lambda other: nearness(page, other)), len(unlike))


def _nearest(simhash: int, others: list[Canonical], simhashes: list[int], most: int) -> list[Canonical]:
    near = _near(simhash, simhashes, most)
    found = [other for other in others if other.fingerprint.content_simhash in near]
    found.sort(key=lambda other: ((other.fingerprint.content_simhash ^ simhash).bit_count(), other.id))
    return found[:MAX_CANDIDATES]


def _newest(simhash: int, others: list[Canonical], simhashes: list[int]) -> list[Canonical]:
    near = _near(simhash, simhashes, STRUCTURE_MAX_DISTANCE)
    found = [other for other in others if other.fingerprint.structure_simhash in near]
    return found[-MAX_STRUCTURE_CANDIDATES:]


def _near(simhash: int, simhashes: list[int], limit: int) -> set[int]:
    """Return the simhashes nearest to *simhash* within *limit* bits, as many as may be looked at."""
    distances = {other: simhash_distance(simhash, other) for other in simhashes}
    near = {other for other, distance in distances.items() if distance is not None and distance <= limit}
    ordered = sorted(near, key=lambda other: ((other ^ simhash).bit_count(), other))
    return set(ordered[:MAX_CANDIDATES])
