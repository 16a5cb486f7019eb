"""Pairs of pages on the edge of the rule: look at these to judge a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dedup.index import Index
from dedup.recipes.config import DedupConfig
from dedup.report.columns import REASONS, Columns, Integers
from dedup.rule.verifier import match
from dedup.values.verdict import Match, Reason

# So many pairs are shown on each side of the threshold.
PAIRS = 100
# Similarities this near to the threshold, and distances so many bits beyond it, are on the edge.
MARGIN = 0.15
BITS = 2
# So many kept pages are looked up for neighbours just outside, evenly spread over the index.
LOOKUPS = 1000
# The radius of the index's lookup is at most this.
_MAX_DISTANCE = 12


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows, by number: *first* was kept, *second* came later; *match* is how they stand."""

    first: int
    second: int
    match: Match


@dataclass(frozen=True, slots=True)
class Borderline:
    """Copies that passed just so, and pages kept that almost were copies, the nearest to the edge first.

    For the latter *looked_up* of the *kept* canonicals were looked at.
    """

    inside: tuple[Pair, ...]
    outside: tuple[Pair, ...]
    looked_up: int
    kept: int


def borderline_of(columns: Columns, index: Index, config: DedupConfig) -> Borderline:
    """Return the pairs on the edge of the thresholds of *config*."""
    kept = columns.id[columns.listed]
    sample = kept[np.linspace(0, len(kept) - 1, min(LOOKUPS, len(kept))).astype(np.int64)]
    return Borderline(_inside(columns, config), _outside(sample, index, config), len(sample), len(kept))


def _inside(columns: Columns, config: DedupConfig) -> tuple[Pair, ...]:
    near = columns.duplicates & (columns.reason == REASONS.index(Reason.NEAR_DUPLICATE))
    if config.verify:
        near &= columns.similarity < config.min_similarity + MARGIN
        order = np.flatnonzero(near)[np.argsort(columns.similarity[near], kind="stable")]
    else:
        near &= columns.content_distance >= config.max_distance - BITS
        order = np.flatnonzero(near)[np.argsort(-columns.content_distance[near], kind="stable")]
    return tuple(_pair(columns, place) for place in order[:PAIRS].tolist())


def _pair(columns: Columns, place: int) -> Pair:
    content, structure = columns.content_distance[place], columns.structure_distance[place]
    found = Match(
        REASONS[columns.reason[place]],
        int(content) if content >= 0 else None,
        int(structure) if structure >= 0 else None,
        float(columns.similarity[place]),
    )
    return Pair(int(columns.canonical[place]), int(columns.id[place]), found)


def _outside(sample: Integers, index: Index, config: DedupConfig) -> tuple[Pair, ...]:
    loose = replace(
        config,
        max_distance=min(config.max_distance + BITS, _MAX_DISTANCE),
        min_similarity=max(0.0, config.min_similarity - MARGIN),
        candidates="simhash",
    )
    pairs: dict[tuple[int, int], Pair] = {}
    for row in index.rows_of(sample.tolist()):
        for canonical in index.candidates_of(row, loose):
            numbers = (min(canonical.id, row.id), max(canonical.id, row.id))
            found = match(canonical.fingerprint, row.sighting.fingerprint, config)
            if found.reason is Reason.NEW:
                pairs[numbers] = Pair(*numbers, found)
    return tuple(sorted(pairs.values(), key=lambda pair: _shortfall(pair, config))[:PAIRS])


def _shortfall(pair: Pair, config: DedupConfig) -> tuple[float, ...]:
    """Return how far a pair is from being one page: in similarity, then in bits."""
    found = pair.match
    missing = max(0.0, config.min_similarity - found.similarity) if config.verify else 0.0
    bits = max(0, (found.content_distance or 0) - config.max_distance)
    return (missing, bits, pair.first, pair.second)
