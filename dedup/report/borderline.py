"""Pairs of pages on the edge of the rule: look at these to judge a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dedup.index import Index
from dedup.recipes.config import DedupConfig
from dedup.report.columns import REASONS, Columns, Integers
from dedup.rule.keys import loosened
from dedup.rule.match import match
from dedup.rule.verifier import verifier_of
from dedup.values.match import Match
from dedup.values.verdict import Reason

# So many pairs are shown on each side of the threshold.
PAIRS = 100
# So many kept pages are looked up for neighbours just outside, evenly spread over the index; and of
# the duplicates so many that are least alike, and as many that are farthest away, are compared again.
LOOKUPS = 1000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows, by number: *first* was kept, *second* came later; *match* is how they stand."""

    first: int
    second: int
    match: Match


@dataclass(frozen=True, slots=True)
class Borderline:
    """Duplicates that just passed, and kept pages that almost did, the nearest to the edge first.

    For the latter *looked_up* of the *kept* canonicals were looked at.
    """

    inside: tuple[Pair, ...]
    outside: tuple[Pair, ...]
    looked_up: int
    kept: int


def borderline_of(columns: Columns, index: Index, config: DedupConfig) -> Borderline:
    """Return the pairs on the edge of the rule of *config*."""
    kept = columns.id[columns.listed]
    sample = kept[np.linspace(0, len(kept) - 1, min(LOOKUPS, len(kept))).astype(np.int64)]
    return Borderline(
        _inside(columns, index, config), _outside(sample, index, config), len(sample), len(kept)
    )


def _inside(columns: Columns, index: Index, config: DedupConfig) -> tuple[Pair, ...]:
    pairs = [pair for pair in _duplicates(columns, index, config) if pair.match.check.margin <= 1]
    return tuple(sorted(pairs, key=lambda pair: (pair.match.check.margin, pair.second))[:PAIRS])


def _duplicates(columns: Columns, index: Index, config: DedupConfig) -> Iterator[Pair]:
    """Yield the near-duplicates that are likeliest to be on the edge, as they stand today."""
    near = np.flatnonzero(columns.duplicates & (columns.reason == REASONS.index(Reason.NEAR_DUPLICATE)))
    least_alike = near[np.argsort(columns.similarity[near], kind="stable")][:LOOKUPS]
    farthest = near[np.argsort(-columns.content_distance[near], kind="stable")][:LOOKUPS]
    places = np.union1d(least_alike, farthest)
    rows = index.rows_of(columns.id[places].tolist())
    canonicals = index.rows_of(columns.canonical[places].tolist())
    for kept, row in zip(canonicals, rows, strict=True):
        compared = match(kept.sighting.fingerprint, row.sighting.fingerprint, config)
        yield Pair(kept.id, row.id, compared)


def _outside(sample: Integers, index: Index, config: DedupConfig) -> tuple[Pair, ...]:
    wider = replace(loosened(verifier_of(config).loosened()), candidates="simhash")
    pairs: dict[tuple[int, int], Pair] = {}
    for row in index.rows_of(sample.tolist()):
        for canonical in index.views.candidates_of(row, wider):
            first, second = sorted((canonical, row.as_canonical()), key=lambda page: page.id)
            compared = match(first.fingerprint, second.fingerprint, config)
            if compared.reason is Reason.NEW:
                pairs[first.id, second.id] = Pair(first.id, second.id, compared)
    return tuple(sorted(pairs.values(), key=_shortfall)[:PAIRS])


def _shortfall(pair: Pair) -> tuple[float, ...]:
    """Return how far a pair is from being one page: by the verifier, then in bits."""
    bits = pair.match.content_distance or 0
    return (max(0.0, -pair.match.check.margin), bits, pair.first, pair.second)
