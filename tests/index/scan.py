"""The search for the canonicals near one page by looking at all of them: what the lists must find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dedup.index.rows import Pool
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import simhash_distance
from dedup.model.row import Row
from dedup.model.verdict import Candidates, Canonical
from dedup.prints.config import DedupConfig
from dedup.rule.loss import (
    MAX_CANDIDATES,
    MAX_STRUCTURE_CANDIDATES,
    STRUCTURE_MAX_DISTANCE,
    has_equal_text,
    nearness,
)


def scan(
    page: Fingerprint, group: Sequence[Row], pool: Pool, config: DedupConfig
) -> Iterator[Candidates]:
    """Yield what in *pool* may repeat *page*, out of the listed rows of its *group*.

    Simhashes are capped before rows are left out, as they stand in the lists of all the group.
    """
    others = [row.as_canonical() for row in group if pool.has(row)]
    prints = [row.sighting.fingerprint for row in group]
    nearest = [other for other in others if _is_equal(page, other.fingerprint)]
    simhashes = [other.content_simhash for other in prints]
    nearest += _nearest(page.content_simhash, others, simhashes, config.max_distance)
    rest = _newest(page.structure_simhash, others, [other.structure_simhash for other in prints])
    seen: set[int] = set()
    for near in (nearest, rest):
        new = {other.id: other for other in near if other.id not in seen}
        seen.update(new)
        ordered = sorted(new.values(), key=lambda other: nearness(page, other))
        yield Candidates(ordered, len(ordered))


def _is_equal(page: Fingerprint, other: Fingerprint) -> bool:
    return page.body_digest == other.body_digest or has_equal_text(other, page)


def _nearest(
    simhash: int, others: list[Canonical], simhashes: list[int], max_distance: int
) -> list[Canonical]:
    near = _near(simhash, simhashes, max_distance)
    found = [other for other in others if other.fingerprint.content_simhash in near]
    found.sort(key=lambda other: ((other.fingerprint.content_simhash ^ simhash).bit_count(), other.id))
    return found[:MAX_CANDIDATES]


def _newest(simhash: int, others: list[Canonical], simhashes: list[int]) -> list[Canonical]:
    near = _near(simhash, simhashes, STRUCTURE_MAX_DISTANCE)
    found = [other for other in others if other.fingerprint.structure_simhash in near]
    return found[-MAX_STRUCTURE_CANDIDATES:]


def _near(simhash: int, simhashes: list[int], limit: int) -> set[int]:
    """Return the simhashes nearest to *simhash* within *limit* bits, as many as may be looked at."""
    near = {other for other in simhashes if _is_near(simhash, other, limit)}
    ordered = sorted(near, key=lambda other: ((other ^ simhash).bit_count(), other))
    return set(ordered[:MAX_CANDIDATES])


def _is_near(a: int, b: int, limit: int) -> bool:
    distance = simhash_distance(a, b)
    return distance is not None and distance <= limit
