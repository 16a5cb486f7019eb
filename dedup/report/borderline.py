"""Pairs of pages on the edge of the rule: look at these to judge a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dedup.index import Index
from dedup.recipes.config import DedupConfig
from dedup.report.columns import REASONS, Columns, Integers
from dedup.report.losses import by_site, on_record
from dedup.rule.keys import loosened
from dedup.rule.match import match
from dedup.rule.verifier import verifier_of
from dedup.values.match import Match
from dedup.values.verdict import Reason

# So many pairs are shown on each side of the threshold.
PAIRS = 100
# So many kept pages are looked up for neighbours just outside, evenly spread over the index; and of
# the duplicates so many that are least alike, as many that are farthest away, and as many that lose most
# are compared again.
LOOKUPS = 1000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows, by number: *first* was kept, *second* came later; *match* is how they stand.

    *by_site* says that their site decided, where that is so (`dedup.report.losses.by_site`); of a copy
    *on_record* says why it was dropped.
    """

    first: int
    second: int
    match: Match
    by_site: str = ""
    on_record: str = ""

    @property
    def margin(self) -> float:
        """How far it is from the bound; what its site decided is on the edge."""
        return 0.0 if self.by_site else self.match.check.margin

    @property
    def reason(self) -> Reason:
        """The reason of the crawl."""
        return Reason.NEAR_DUPLICATE if self.on_record else self.match.reason

    @property
    def lost(self) -> int:
        """How many words, about, are lost with the second; 0 where none was counted."""
        return self.match.lost or 0


@dataclass(frozen=True, slots=True)
class Borderline:
    """Duplicates that just passed, and kept pages that almost did, the nearest to the edge first.

    For the latter *looked_up* of the *kept* canonicals were looked at.  *losing* are the duplicates
    with which most words are lost, these first.
    """

    inside: tuple[Pair, ...]
    losing: tuple[Pair, ...]
    outside: tuple[Pair, ...]
    looked_up: int
    kept: int


def borderline_of(columns: Columns, index: Index, config: DedupConfig) -> Borderline:
    """Return the pairs on the edge of the rule of *config*."""
    kept = columns.id[columns.listed]
    sample = kept[np.linspace(0, len(kept) - 1, min(LOOKUPS, len(kept))).astype(np.int64)]
    duplicates = list(_duplicates(columns, index, config))
    inside = sorted(
        (pair for pair in duplicates if pair.margin <= 1), key=lambda pair: (pair.margin, pair.second)
    )
    losing = sorted(
        (pair for pair in duplicates if pair.lost), key=lambda pair: (-pair.lost, pair.second)
    )
    return Borderline(
        *(tuple(inside[:PAIRS]), tuple(losing[:PAIRS]), _outside(sample, index, config)),
        *(len(sample), len(kept)),
    )


def _duplicates(columns: Columns, index: Index, config: DedupConfig) -> Iterator[Pair]:
    """Yield the near-duplicates that are likeliest to be on the edge, as they stand today."""
    near = np.flatnonzero(columns.duplicates & (columns.reason == REASONS.index(Reason.NEAR_DUPLICATE)))
    least_alike = near[np.argsort(columns.similarity[near], kind="stable")][:LOOKUPS]
    farthest = near[np.argsort(-columns.content_distance[near], kind="stable")][:LOOKUPS]
    losing = near[np.argsort(-columns.lost[near], kind="stable")][:LOOKUPS]
    places = np.unique(np.concatenate((least_alike, farthest, losing)))
    rows = index.rows_of(columns.id[places].tolist())
    canonicals = index.rows_of(columns.canonical[places].tolist())
    for kept, row in zip(canonicals, rows, strict=True):
        compared = match(kept.sighting.fingerprint, row.sighting.fingerprint, config)
        yield Pair(kept.id, row.id, compared, by_site(row, compared.check, config), on_record(row))


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
