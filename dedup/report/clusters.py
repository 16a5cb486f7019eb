"""Rows of an index grouped into clusters: a canonical and the pages that repeat it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dedup.index import Index, Row
from dedup.model.marks import NO_EXCEPTIONS, Exceptions
from dedup.model.row import Glance, glance_of
from dedup.model.urls import host_of, url_key
from dedup.report.columns import Columns, Integers, columns_of
from dedup.report.losses import Losses, PageOf, losses_of
from dedup.report.overview import Overview, is_near, overview_of
from dedup.report.replay import JudgedAgain

# No page has so many words.
_ALL_WORDS = 1 << 32


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of one *run*, seen *since* (seconds since 1970), of a *domain* and its subdomains.

    None, 0 and "" select all.  What was forgotten is never selected.  It is the page itself that
    is selected: its canonical may be of another run or domain.
    """

    run: int | None = None
    since: float = 0.0
    domain: str = ""

    def rows(self, index: Index) -> Iterator[Row]:
        """Yield the selected rows of *index* as they were seen."""
        domain = host_of(url_key(f"http://{self.domain}/")) or self.domain.lower()
        for row in index.rows(self.run):
            seen = row.sighting
            if (
                row.outcome != "forgotten"
                and seen.time >= self.since
                and (not domain or f".{host_of(seen.url_key)}".endswith(f".{domain}"))
            ):
                yield row

    def glances(self, index: Index) -> Iterable[Glance]:
        """Return what a report counts of the selected rows; where all are, forgotten ones too."""
        return index.store.glances() if self == ALL else map(glance_of, self.rows(index))


ALL = Selection()


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which clusters there are, by the numbers of their rows.

    *canonicals* are the rows kept, *sizes* how many duplicates each has, and *members* these, cluster by
    cluster.
    """

    canonicals: Integers
    sizes: Integers
    members: Integers

    def each(self, limit: int = 0, copies: int = 0) -> Iterator[tuple[int, int, list[int]]]:
        """Yield canonical, size and the first *copies* members of *limit* clusters; 0 stands for all."""
        start = 0
        for canonical, size in zip(self.canonicals[: limit or None], self.sizes, strict=False):
            members = self.members[start : start + min(size, copies or size)]
            yield int(canonical), int(size), members.tolist()
            start += size


def most_lost_first(columns: Columns, records: Collection[int] = ()) -> Clusters:
    """Return the clusters, those with one of the *records* (rows) first, then those that lose most.

    Then come the largest.  Near copies come before exact ones, and of equals the oldest first.
    """
    # What is not measured is 0.
    urgency = np.where(is_near(columns) | columns.differs, columns.nowhere + 1, -1).astype(np.int64)
    urgency[columns.places(np.array(sorted(records), np.int64))] += _ALL_WORDS
    return clusters_of(columns, urgency)


def clusters_of(columns: Columns, urgency: Integers | None = None) -> Clusters:
    """Return the clusters, the largest first, and of equally large ones the oldest.

    Where each row has an *urgency* (-1 or more), clusters with the most urgent duplicate come first, and
    of each cluster the most urgent duplicates; else these are as they were seen.
    """
    places = np.flatnonzero(columns.duplicates)
    urgent = np.zeros(len(places), np.int64) if urgency is None else urgency[places]
    owners, owner, sizes = np.unique(columns.canonical[places], return_inverse=True, return_counts=True)
    most = np.full(len(owners), -1)
    np.maximum.at(most, owner, urgent)
    order = np.lexsort((owners, -sizes, -most))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    members = places[np.lexsort((columns.id[places], -urgent, rank[owner]))]
    return Clusters(owners[order], sizes[order], columns.id[members])


@dataclass(frozen=True, slots=True)
class Cluster:
    """A page that was kept, its *duplicates* as they were seen."""

    canonical: Row
    duplicates: tuple[Row, ...]


@dataclass(frozen=True)
class Report:
    """The duplicates among the *selection* of *index*, and their canonicals.

    A page that several runs saw counts once for each.  Forgotten rows are left out.  *replay* is what
    the rows come from if they were judged again, *exceptions* are marks; *page_of* gives stored pages.

    Rows are read when they are asked for: no more of them are held than the largest cluster has, and
    some numbers for each row.
    """

    index: Index
    selection: Selection = ALL
    replay: JudgedAgain | None = None
    exceptions: Exceptions = NO_EXCEPTIONS
    page_of: PageOf | None = None

    def clusters(self) -> Iterator[Cluster]:
        """Yield the clusters, the largest first, of equally large ones the oldest."""
        for canonical, _, members in clusters_of(self.columns).each():
            kept, *duplicates = self.index.rows_of((canonical, *members))
            yield Cluster(kept, tuple(duplicates))

    @cached_property
    def columns(self) -> Columns:
        """What is counted of the rows; `losses` corrects some of it."""
        return columns_of(self.selection.glances(self.index))

    @cached_property
    def losses(self) -> Losses:
        """What is lost with the duplicates."""
        return losses_of(self.index, self.columns, self.exceptions, self.page_of)

    @cached_property
    def ranked(self) -> Clusters:
        """Which clusters there are: those with records first, then those with a copy that loses most."""
        return most_lost_first(self.columns, self.losses.records)

    @cached_property
    def overview(self) -> Overview:
        """The figures of all selected rows."""
        return overview_of(self.columns)

    @cached_property
    def actions(self) -> Mapping[int, str]:
        """What was done with the duplicates of each run, by its number (see `dedup.index.Run`)."""
        return {run.id: run.action for run in self.index.runs.all()}


def is_duplicate(row: Row) -> bool:
    """Return whether the page of *row* was judged a duplicate of another one."""
    return not row.verdict.kept and row.verdict.canonical is not None
