"""The clusters for a person to read: near copies first, with titles, as many as fit in a mind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from dedup.index import Row, Run
from dedup.report.answer import Answer, answer_of, is_near
from dedup.report.clusters import KEEPS
from dedup.report.columns import OUTCOMES, Columns, Integers
from dedup.report.contained import Contained
from dedup.report.losses import loss
from dedup.report.overview import Share, overview_of
from dedup.report.replay import Replay
from dedup.report.selection import Source
from dedup.values.limits import MAX_URL
from dedup.values.printable import printable, printable_url
from dedup.values.verdict import Outcome, Reason

# So many clusters, copies of each, runs and sites are shown, unless all are asked for.
CLUSTERS = 20
COPIES = 5
PARTS = 5

_TITLE = 140
_NAMES = {
    Reason.EXACT_DUPLICATE: "exact copy",
    Reason.NEAR_DUPLICATE: "near copy",
    Reason.CANONICAL_LINK: "copy by rel=canonical",
    Reason.UNCHANGED: "unchanged",
}


class Kind(StrEnum):
    """What a line says, for whoever colours it."""

    HEADING = "heading"
    TITLE = "title"
    PAGE = "page"
    LOSS = "loss"
    QUIET = "quiet"


class Line(NamedTuple):
    """A line of the report."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """Which clusters there are among the rows of a report: those in which words are lost first.

    *canonicals* has the rows kept, *sizes* how many duplicates each has, and *members* these, cluster
    by cluster: near copies first, those that lose most first of all, then as they were seen.
    *has_rehearsed* says that some of them were delivered, in a rehearsal.  *by_run* and *by_site* count
    the rows, the newest run first, and the site with most duplicates.
    """

    answer: Answer
    runs: frozenset[int]
    canonicals: Sequence[int]
    sizes: Sequence[int]
    members: Sequence[int]
    has_rehearsed: bool = False
    by_run: Sequence[Share] = ()
    by_site: Sequence[Share] = ()

    def clusters(self, limit: int, copies: int) -> Iterator[tuple[int, int, Sequence[int]]]:
        """Yield canonical, size and the first *copies* members of *limit* clusters; 0 stands for all."""
        start = 0
        for place, (canonical, size) in enumerate(zip(self.canonicals, self.sizes, strict=True)):
            if limit and place == limit:
                return
            yield canonical, size, self.members[start : start + min(size, copies or size)]
            start += size


def outline_of(columns: Columns) -> Outline:
    """Return the outline: the clusters with a copy that loses most come first, then the largest.

    Near copies come before exact ones, and of equals the oldest first.
    """
    places = np.flatnonzero(columns.duplicates)
    lost = np.where(is_near(columns), columns.lost + 1, -1)[places]  # not measured is 0, exact -1
    owners, owner, sizes = np.unique(columns.canonical[places], return_inverse=True, return_counts=True)
    most = np.full(len(owners), -1)
    np.maximum.at(most, owner, lost)
    order = np.lexsort((owners, -sizes, -most))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    members = places[np.lexsort((columns.id[places], -lost, rank[owner]))]
    overview = overview_of(columns)
    return Outline(
        answer_of(columns),
        frozenset(np.unique(columns.run[places]).tolist()),
        _listed(owners[order]),
        _listed(sizes[order]),
        _listed(columns.id[members]),
        bool((columns.outcome[places] == OUTCOMES.index(Outcome.REHEARSED)).any()),
        overview.runs[::-1],
        overview.sites,
    )


def _listed(numbers: Integers) -> list[int]:
    found: list[int] = numbers.tolist()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The report on the clusters of *outline*, whose rows are those of *source*.

    *limit* clusters are told, and of each `COPIES`; 0 for all of both.  *keep* is the rule for the best
    page (`dedup.report.clusters.KEEPS`), *replay* what the rows come from if not from the index itself,
    *more* says where all clusters are.  *contained* are kept pages that other kept pages hold.
    """

    outline: Outline
    source: Source
    keep: str = "first"
    limit: int = CLUSTERS
    replay: Replay | None = None
    more: str = "--all shows all"
    contained: Sequence[Contained] = ()

    def lines(self) -> Iterator[Line]:
        """Yield the lines, each when it is asked for."""
        if self.replay:
            yield Line(Kind.QUIET, str(self.replay))
        runs = {run.id: run for run in self.source.runs()}
        yield Line(Kind.HEADING, self._headline(runs))
        if answer := str(self.outline.answer):
            yield Line(Kind.HEADING, answer)
        yield from self._parts("run ", "run", self.outline.by_run)
        yield from self._parts("", "site", self.outline.by_site)
        for canonical, size, members in self.outline.clusters(self.limit, self._copies):
            yield Line(Kind.QUIET)
            yield from self._cluster(canonical, size, members, runs)
        left = len(self.outline.canonicals) - self.limit
        if self.limit and left > 0:
            yield Line(Kind.QUIET)
            yield Line(Kind.QUIET, f"{counted(left, 'more cluster')}: {self.more}")
        yield from self._contained()

    def _contained(self) -> Iterator[Line]:
        """Yield which pages were kept although another page holds most of them."""
        if self.contained:
            yield Line(Kind.QUIET)
            pages = counted(len(self.contained), "page")
            yield Line(Kind.HEADING, f"{pages} kept, most of which another kept page holds")
        for page, by, share in self.contained:
            held, holds = self.source.rows_of((page, by))
            yield Line(Kind.PAGE, f"  {_url(holds)}")
            yield Line(Kind.QUIET, f"    holds {share:.0%} of {_url(held)}")

    def _parts(self, before: str, what: str, shares: Sequence[Share]) -> Iterator[Line]:
        """Yield how many pages of each run or site are copies, nothing where there is but one."""
        if len(shares) < 2:
            return
        shown = shares[: PARTS if self.limit else None]
        for share in shown:
            pages = counted(share.pages, "page")
            line = f"  {before}{share.name}: {pages}, {share.duplicates:,} of them copies"
            yield Line(Kind.QUIET, line)
        if left := len(shares) - len(shown):
            yield Line(Kind.QUIET, f"  and {counted(left, f'more {what}')}")

    @property
    def _copies(self) -> int:
        return COPIES if self.limit and self.keep == "first" else 0

    def _headline(self, runs: Mapping[int, Run]) -> str:
        pages = counted(len(self.outline.members), "page")
        clusters = counted(len(self.outline.canonicals), "cluster")
        if self.replay:
            return f"{pages} would be dropped in {clusters}"
        actions = {runs[run].action for run in self.outline.runs if run in runs}
        if actions <= {"drop"} and not self.outline.has_rehearsed:
            return f"{pages} dropped in {clusters}"
        copies = "copy" if len(self.outline.members) == 1 else "copies"
        return f"{len(self.outline.members):,} {copies} in {clusters}, not all of them dropped"

    def _cluster(
        self, canonical: int, size: int, members: Sequence[int], runs: Mapping[int, Run]
    ) -> Iterator[Line]:
        kept, *copies = rows = list(self.source.rows_of((canonical, *members)))
        yield Line(Kind.TITLE, printable(kept.sighting.title.strip(), _TITLE) or "(no title)")
        yield Line(Kind.QUIET, f"  kept in run {kept.sighting.run}{_state(kept)}")
        yield Line(Kind.PAGE, f"    {_url(kept)}")
        best = KEEPS[self.keep](sorted(rows, key=lambda row: row.id))
        if best.id != kept.id:
            yield Line(Kind.QUIET, f"  best by {self.keep}, seen in run {best.sighting.run}")
            yield Line(Kind.PAGE, f"    {_url(best)}")
        for row in copies[: COPIES if self.limit else None]:
            yield Line(Kind.LOSS if row.verdict.lost else Kind.QUIET, f"  {_what(row, runs)}")
            yield Line(Kind.PAGE, f"    {_url(row)}")
        if left := size - (min(size, COPIES) if self.limit else size):
            yield Line(Kind.QUIET, f"  and {left:,} more")


def _what(row: Row, runs: Mapping[int, Run]) -> str:
    """Return what a duplicate is and loses, and where it was seen."""
    run = row.sighting.run
    action = runs[run].action if run in runs else "drop"
    parts = [_NAMES.get(row.verdict.reason, row.verdict.reason.value.replace("_", " "))]
    if row.verdict.reason is not Reason.EXACT_DUPLICATE and (lost := loss(row)):
        parts.append(f"loses {lost}" if row.verdict.lost else "loses nothing")
    parts.append(f"run {run}{_state(row)}")
    return ", ".join(parts + ([] if action == "drop" else [printable(action)]))


def _url(row: Row) -> str:
    return printable_url(row.sighting.url, MAX_URL) or "(no URL)"


def _state(row: Row) -> str:
    return "" if row.outcome == "confirmed" else f", {row.outcome}"


def counted(number: int, noun: str) -> str:
    """Return *number* and *noun*, whose plural ends in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
