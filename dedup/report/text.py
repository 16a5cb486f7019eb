"""The clusters for a person to read: near copies first, with titles, as many as fit in a mind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from dedup.index import Index, Row, Run
from dedup.index.notes import left_out
from dedup.report.clusters import Clusters, most_lost_first
from dedup.report.columns import Columns
from dedup.report.losses import EXAMPLES, Example, Losses
from dedup.report.overview import (
    Share,
    counted,
    loss,
    other_fields,
    overview_of,
)
from dedup.report.replay import JudgedAgain
from dedup.report.side_by_side import Span
from dedup.values.limits import MAX_URL
from dedup.values.printable import moment, printable, printable_url
from dedup.values.verdict import Reason

# So many clusters, copies of each, runs and sites are shown, unless all are asked for.
CLUSTERS = 20
COPIES = 5
PARTS = 5
_TITLE = 140
# A line that differs is cut there.
MAX_LINE = 160
# Of a part of it that does not, so many words at each end are shown.
_AROUND = 6

_NAMES = {
    Reason.EXACT_DUPLICATE: "exact copy",
    Reason.NEAR_DUPLICATE: "near copy",
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

    Of each, near copies come first, those that lose most first of all, then as they were seen.
    *by_run* and *by_site* count the rows, the newest run first, and the site with most duplicates.
    """

    losses: Losses
    runs: frozenset[int]
    clusters: Clusters
    by_run: Sequence[Share] = ()
    by_site: Sequence[Share] = ()

    @property
    def copies(self) -> int:
        """How many duplicates there are."""
        return len(self.clusters.members)


def outline_of(columns: Columns, losses: Losses) -> Outline:
    """Return the outline; *losses* are those of *columns*."""
    copies, overview = columns.duplicates, overview_of(columns)
    return Outline(
        losses,
        frozenset(np.unique(columns.run[copies]).tolist()),
        most_lost_first(columns),
        overview.runs[::-1],
        overview.sites,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The report on the clusters of *outline*, whose rows are those of *index*.

    *limit* clusters are told, and of each `COPIES`; 0 for all of both.  *replay* is what
    the rows come from if not from the index itself, *more* says where all clusters are.
    """

    outline: Outline
    index: Index
    limit: int = CLUSTERS
    replay: JudgedAgain | None = None
    more: str = "--all shows all"

    def lines(self) -> Iterator[Line]:
        """Yield the lines, each when it is asked for."""
        if self.replay:
            yield Line(Kind.QUIET, str(self.replay))
        runs = {run.id: run for run in self.index.runs.all()}
        losses = self.outline.losses
        yield Line(Kind.HEADING, losses.verdict)
        yield Line(Kind.HEADING, str(losses.answer))
        yield from self._places()
        yield from self._parts("run", self.outline.by_run, lambda name: _run(runs, int(name)))
        if len(self.outline.by_site) > 1:
            yield from self._parts("site", self.outline.by_site, str)
        if self.outline.copies:
            yield Line(Kind.HEADING, self._headline(runs))
        for canonical, size, members in self.outline.clusters.each(self.limit, self._copies):
            yield Line(Kind.QUIET)
            yield from self._cluster(canonical, size, members, runs)
        left = len(self.outline.clusters.sizes) - self.limit
        if self.limit and left > 0:
            yield Line(Kind.QUIET)
            yield Line(Kind.QUIET, f"{counted(left, 'more cluster')}: {self.more}")

    def _places(self) -> Iterator[Line]:
        """Yield where copies differ from the pages kept, and what was left out of all."""
        places = self.outline.losses.places
        if places:
            found, losses = counted(len(places), "place"), self.outline.losses
            some = f" ({len(losses.texts):,} compared)" * (losses.answer.losing > len(losses.texts))
            yield Line(Kind.HEADING, f"Copies differ from the pages kept in {found}{some}:")
        for number, place in enumerate(places[: PARTS if self.limit else None], 1):
            yield Line(Kind.TITLE, f"  {number}. {place}")
            for example in place.examples[: EXAMPLES if self.limit else None]:
                yield Line(Kind.LOSS, f"     {_differing(example)}")
        if self.limit and len(places) > PARTS:
            yield Line(Kind.QUIET, f"  and {counted(len(places) - PARTS, 'more place')}")
        for host, gaps in list(left_out(self.index.store).items())[: PARTS if self.limit else None]:
            shown = printable("; ".join(gaps[:PARTS]))
            yield Line(Kind.QUIET, f"  left out on {printable(host)}: {shown} (dedup places)")

    def _parts(self, what: str, shares: Sequence[Share], named: Callable[[str], str]) -> Iterator[Line]:
        """Yield how many pages of each run or site are copies."""
        shown = shares[: PARTS if self.limit else None]
        for share in shown:
            pages = counted(share.pages, "page")
            yield Line(
                Kind.QUIET, f"  {named(share.name)}: {pages}, {share.duplicates:,} of them copies"
            )
        if left := len(shares) - len(shown):
            yield Line(Kind.QUIET, f"  and {counted(left, f'more {what}')}")

    def _what(self, row: Row, runs: Mapping[int, Run]) -> str:
        """Return what a duplicate is and loses, and where it was seen."""
        run, losses = row.sighting.run, self.outline.losses
        action = runs[run].action if run in runs else "drop"
        parts = [_NAMES.get(row.verdict.reason, row.verdict.reason.value.replace("_", " "))]
        if row.verdict.reason is not Reason.EXACT_DUPLICATE and (lost := loss(row)):
            texts, words = losses.texts.get(row.id), losses.words(row.id)
            said = f"loses {texts.counted(lost) if texts else lost}"
            parts.append(f"{said}: {words}" if words else said)
        parts.append(f"run {run}{_state(row)}")
        return ", ".join(parts + ([] if action == "drop" else [printable(action)]))

    @property
    def _copies(self) -> int:
        return COPIES if self.limit else 0

    def _headline(self, runs: Mapping[int, Run]) -> str:
        pages = counted(self.outline.copies, "page")
        clusters = counted(len(self.outline.clusters.sizes), "cluster")
        if self.replay:
            return f"{pages} would be dropped in {clusters}"
        actions = {runs[run].action for run in self.outline.runs if run in runs}
        if actions <= {"drop"}:
            return f"{pages} dropped in {clusters}"
        copies = counted(self.outline.copies, "copy", "copies")
        return f"{copies} in {clusters}, not all of them dropped"

    def _cluster(
        self, canonical: int, size: int, members: Sequence[int], runs: Mapping[int, Run]
    ) -> Iterator[Line]:
        kept, *copies = list(self.index.rows_of((canonical, *members)))
        yield Line(Kind.TITLE, heading(kept, self.index) or "(no title)")
        yield Line(Kind.QUIET, f"  kept in run {kept.sighting.run}{_state(kept)}")
        yield Line(Kind.PAGE, f"    {_url(kept)}")
        for row in copies[: COPIES if self.limit else None]:
            yield Line(Kind.LOSS if row.verdict.nowhere else Kind.QUIET, f"  {self._what(row, runs)}")
            yield Line(Kind.PAGE, f"    {_url(row)}")
            if others := self.outline.losses.fields.get(row.id) or other_fields(kept, row):
                yield Line(Kind.LOSS, f"    {others}")
        if left := size - (min(size, COPIES) if self.limit else size):
            yield Line(Kind.QUIET, f"  and {left:,} more")


def heading(row: Row, index: Index) -> str:
    """Return the title of a page as it is shown, or else how its stored text begins, "" for neither."""
    title = row.sighting.title.strip() or (index.text_of(row) or "").strip()
    return printable(title.partition("\n")[0], _TITLE)


def _run(runs: Mapping[int, Run], number: int) -> str:
    """Return what there is to know of a run, on one line."""
    if number not in runs:
        return f"run {number}"
    run = runs[number]
    parts = [f"{moment(run.started)} UTC", run.ending or "running", run.spider]
    parts += [] if run.action == "drop" else [run.action]
    return f"run {number}, {', '.join(printable(part) for part in parts if part)}"


def _near(span: Span) -> str:
    """Return a part of a line, marked where it differs; of a long part that does not, the ends."""
    if span.is_changed:
        return f"{' ' * span.text.startswith(' ')}{{+{span.text.strip()}+}}"
    words, ends = span.text.split(" "), slice(_AROUND, -_AROUND)
    words[ends] = ["…"] if words[ends] else []
    return " ".join(words)


def _differing(example: Example) -> str:
    """Return the line of a copy, with what is lost in it marked, and how the page kept has it."""
    copy = "".join(map(_near, example.lines.after)).strip()
    kept = "".join(_near(span._replace(is_changed=False)) for span in example.lines.before).strip()
    return printable(f"{copy}  for  {kept}" if kept else copy, MAX_LINE)


def _url(row: Row) -> str:
    return printable_url(row.sighting.url, MAX_URL)


def _state(row: Row) -> str:
    return "" if row.outcome == "confirmed" else f", {row.outcome}"
