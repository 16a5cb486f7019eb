"""Rows of an index grouped into clusters: a canonical and the pages that repeat it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from dedup.index import Row
from dedup.report.columns import MAX_SITES, OTHER_SITES, SiteNames
from dedup.report.replay import Replay
from dedup.report.selection import Selection, Source

K = TypeVar("K", int, str)
_ALL = Selection()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A page that was kept, its *duplicates* as they were seen, and the *best* of all of them."""

    canonical: Row
    duplicates: tuple[Row, ...]
    best: Row


@dataclass(frozen=True, slots=True)
class Totals:
    """How many selected pages there are by reason, and pages and duplicates by run and by site.

    *members* are the numbers of the duplicates, cluster by cluster, the largest first; *sizes* is how
    many each cluster has, *canonicals* the canonical of each.
    """

    reasons: Mapping[str, int]
    runs: Mapping[int, tuple[int, int]]
    sites: Mapping[str, tuple[int, int]]
    canonicals: Sequence[int]
    sizes: Sequence[int]
    members: Sequence[int]


@dataclass(frozen=True)
class Report:
    """The duplicates among a *selection* of *source*, and their canonicals; see `report_of`.

    *actions* says for each run what was done with duplicates (see `dedup.index.Run`), *replay* is what
    the rows come from if not from the index itself.  Rows are read when they are asked for: no more
    of them are held than the largest cluster has, and two numbers for each duplicate.
    """

    source: Source
    selection: Selection = _ALL
    keep: str = "first"
    actions: Mapping[int, str] = field(default_factory=dict)
    replay: Replay | None = None

    def rows(self) -> Iterator[Row]:
        """Yield the selected rows, duplicates or not, in the order in which they were seen."""
        return self.selection.rows(self.source)

    def clusters(self) -> Iterator[Cluster]:
        """Yield the clusters, the largest first, of equally large ones the oldest."""
        totals, start = self.totals, 0
        for canonical, size in zip(totals.canonicals, totals.sizes, strict=True):
            numbers = (canonical, *totals.members[start : start + size])
            kept, *duplicates = rows = list(self.source.rows_of(numbers))
            yield Cluster(kept, tuple(duplicates), KEEPS[self.keep](rows))
            start += size

    @property
    def size(self) -> int:
        """How many clusters there are."""
        return len(self.totals.canonicals)

    @property
    def duplicates(self) -> int:
        """How many duplicates there are."""
        return len(self.totals.members)

    @cached_property
    def totals(self) -> Totals:
        """What one reading of all rows tells."""
        reasons: Counter[str] = Counter()
        runs, sites, names = Counter[tuple[int, bool]](), Counter[tuple[str, bool]](), SiteNames()
        canonicals, members = array("q"), array("q")
        for row in self.rows():
            reasons[row.verdict.reason.value] += 1
            runs[row.sighting.run, is_duplicate(row)] += 1
            site = names.of(row.sighting.url)
            is_one_more = len(sites) >= 2 * MAX_SITES and (site, is_duplicate(row)) not in sites
            sites[OTHER_SITES if is_one_more else site, is_duplicate(row)] += 1
            if is_duplicate(row):
                canonicals.append(row.verdict.canonical or 0)
                members.append(row.id)
        return Totals(reasons, _parts(runs), _parts(sites), *_grouped(canonicals, members))

    @cached_property
    def best_urls(self) -> Mapping[int, str]:
        """The URL of the best page of a cluster by its canonical, unless that is the best itself."""
        if self.keep == "first":
            return {}
        return {
            cluster.canonical.id: cluster.best.sighting.url
            for cluster in self.clusters()
            if cluster.best is not cluster.canonical
        }


def report_of(
    source: Source, selection: Selection = _ALL, *, keep: str = "first", replay: Replay | None = None
) -> Report:
    """Return the report on the *selection* of *source*, an index or its *replay*.

    A crawl keeps the first page of a cluster that it sees.  *keep* is another rule to choose the best
    one by: `first`, `newest`, `longest` (most tokens), `shortest-url`, `https` or `canonical-link`
    (the one that the members name as their ``rel=canonical``); among equals, the first seen.  A
    page that several runs saw counts once for each.  Forgotten rows are left out.
    """
    actions = {run.id: run.action for run in source.runs()}
    return Report(source, selection, keep, actions, replay)


def is_duplicate(row: Row) -> bool:
    """Return whether the page of *row* was judged a duplicate of another one."""
    return not row.verdict.kept and row.verdict.canonical is not None


def _parts(counts: Mapping[tuple[K, bool], int]) -> dict[K, tuple[int, int]]:
    """Return how many pages and how many duplicates each name has, the most pages first."""
    parts = {
        name: (counts.get((name, False), 0) + counts.get((name, True), 0), counts.get((name, True), 0))
        for name, _ in counts
    }
    return dict(sorted(parts.items(), key=lambda part: -part[1][0]))


def _grouped(canonicals: array[int], members: array[int]) -> tuple[array[int], array[int], array[int]]:
    """Return distinct *canonicals*, how many *members* each has, and the members in that order."""
    owners, rows = np.array(canonicals, np.int64), np.array(members, np.int64)
    distinct, owner, counts = np.unique(owners, return_inverse=True, return_counts=True)
    order = np.lexsort((rows, owners, -counts[owner]))
    largest = np.argsort(-counts, kind="stable")
    return tuple(
        array("q", part.tobytes()) for part in (distinct[largest], counts[largest], rows[order])
    )  # type: ignore[return-value]


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


# Rules to choose the best page of a cluster by.
KEEPS: dict[str, Callable[[Sequence[Row]], Row]] = {
    "first": _first,
    "newest": _newest,
    "longest": _longest,
    "shortest-url": _shortest_url,
    "https": _https,
    "canonical-link": _canonical_link,
}
