"""Kept pages that are almost copies: look at these to judge whether a threshold is too strict."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dedup.index import Index
from dedup.recipes.config import DedupConfig
from dedup.report.columns import Columns, Integers
from dedup.rule.keys import loosened
from dedup.rule.match import match
from dedup.rule.verifier import verifier_of
from dedup.values.match import Match
from dedup.values.verdict import Reason

# So many pairs are shown.
PAIRS = 100
# So many kept pages are looked up for others just outside the threshold, evenly spread over the index.
LOOKUPS = 1000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows that were kept, by number: *second* came later; *match* is how they stand."""

    first: int
    second: int
    match: Match


@dataclass(frozen=True, slots=True)
class Borderline:
    """*pairs* of kept pages, the nearest to the threshold first; *looked_up* of *kept* were tried."""

    pairs: tuple[Pair, ...]
    looked_up: int
    kept: int


def borderline_of(columns: Columns, index: Index, config: DedupConfig) -> Borderline:
    """Return the pairs that are just outside the rule of *config*."""
    kept = columns.id[columns.listed]
    sample = kept[np.linspace(0, len(kept) - 1, min(LOOKUPS, len(kept))).astype(np.int64)]
    return Borderline(_outside(sample, index, config), len(sample), len(kept))


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
