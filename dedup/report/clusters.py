"""Rows of an index grouped into clusters: a canonical and the pages that repeat it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dedup.index import Index, Row
from dedup.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Cluster:
    """A page that was kept, its *duplicates* as they were seen, and the *best* of all of them."""

    canonical: Row
    duplicates: tuple[Row, ...]
    best: Row


@dataclass(frozen=True, slots=True)
class Report:
    """The clusters of an index, the largest first.

    *keep* is the rule that chose the best of each, a key of `KEEPS`; *actions* says for each run
    what was done with copies (see `dedup.index.Run`).
    """

    clusters: tuple[Cluster, ...]
    keep: str = "first"
    actions: Mapping[int, str] = field(default_factory=dict)

    @property
    def duplicates(self) -> int:
        """How many pages repeat another one."""
        return sum(len(cluster.duplicates) for cluster in self.clusters)


def report_of(index: Index, run: int | None = None, *, keep: str = "first") -> Report:
    """Return the report on *index*; with *run*, only on what that run took for copies.

    A crawl keeps the first page that it sees of several copies.  *keep* is another rule to choose
    one by: `first`, `newest`, `longest` (most words), `shortest-url`, `https` or `canonical-link`
    (the one that the members name as their ``rel=canonical``); among equals, the first seen.  A
    page that several runs saw counts once for each.  Forgotten rows are left out.
    """
    duplicates: defaultdict[int, list[Row]] = defaultdict(list)
    for row in index.rows():
        canonical = row.verdict.canonical
        is_copy = not row.verdict.kept and row.outcome is not Outcome.FORGOTTEN
        if is_copy and canonical is not None and run in (None, row.sighting.run):
            duplicates[canonical].append(row)
    found = [_cluster(index.row(canonical), rows, keep) for canonical, rows in duplicates.items()]
    found.sort(key=lambda cluster: (-len(cluster.duplicates), cluster.canonical.id))
    return Report(tuple(found), keep, {made.id: made.action for made in index.runs()})


def _cluster(canonical: Row, duplicates: Sequence[Row], keep: str) -> Cluster:
    return Cluster(canonical, tuple(duplicates), KEEPS[keep]((canonical, *duplicates)))


def _first(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: row.id)


def _newest(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: row.id)


def _longest(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: (-row.sighting.fingerprint.tokens, row.id))


def _shortest_url(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: (not row.sighting.url, len(row.sighting.url), row.id))


def _https(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: (not row.sighting.url_key.startswith("https:"), row.id))


def _canonical_link(rows: Sequence[Row]) -> Row:
    named = Counter(key for row in rows if (key := row.sighting.canonical_key))
    return min(rows, key=lambda row: (-named[row.sighting.url_key], row.id))


# Rules to choose one of several copies by.
KEEPS: dict[str, Callable[[Sequence[Row]], Row]] = {
    "first": _first,
    "newest": _newest,
    "longest": _longest,
    "shortest-url": _shortest_url,
    "https": _https,
    "canonical-link": _canonical_link,
}
