"""Rows of an index grouped into clusters: a canonical and the pages dropped for it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from dedup.index import Index, Row
from dedup.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Cluster:
    """A page that was kept, and its *duplicates* in the order in which they were seen."""

    canonical: Row
    duplicates: tuple[Row, ...]


def clusters(index: Index, run: int | None = None) -> list[Cluster]:
    """Return the clusters of *index*, the largest first; with *run*, only what that run dropped.

    A page that several runs dropped counts once for each.  Forgotten rows are left out.
    """
    duplicates: defaultdict[int, list[Row]] = defaultdict(list)
    for row in index.rows():
        canonical = row.verdict.canonical
        is_dropped = not row.verdict.kept and row.outcome is not Outcome.FORGOTTEN
        if is_dropped and canonical is not None and run in (None, row.sighting.run):
            duplicates[canonical].append(row)
    found = [Cluster(index.row(canonical), tuple(rows)) for canonical, rows in duplicates.items()]
    return sorted(found, key=lambda cluster: (-len(cluster.duplicates), cluster.canonical.id))
