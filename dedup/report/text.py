"""The clusters for a person to read: near copies first, with titles, as many as fit in a mind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dedup.index import Index, Row, Run
from dedup.index.notes import left_out
from dedup.model.limits import MAX_URL
from dedup.model.printable import moment, printable, printable_url
from dedup.model.verdict import Reason
from dedup.report.clusters import Report
from dedup.report.diff import Span
from dedup.report.explanation import loss, other_fields
from dedup.report.losses import EXAMPLES, Example
from dedup.report.overview import Share, counted

# What is shown, unless all is asked for.
CLUSTERS = 20
COPIES = 5  # of each cluster
PARTS = 5  # runs, sites, places
_TITLE = 140  # characters
MAX_LINE = 160  # characters of a line that differs
_AROUND = 6  # words before and after what differs in it

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
class Told:
    """A *report* in lines.

    *limit* clusters are told, and of each `COPIES`; 0 for all of both.  *more* says where all are.
    """

    report: Report
    limit: int = CLUSTERS
    more: str = "--all shows all"

    def lines(self) -> Iterator[Line]:
        """Yield the lines, each when it is asked for."""
        report, losses = self.report, self.report.losses
        if report.replay:
            yield Line(Kind.QUIET, str(report.replay))
        runs = {run.id: run for run in report.index.runs.all()}
        yield Line(Kind.HEADING, losses.verdict)
        yield Line(Kind.HEADING, str(losses.answer))
        yield from self._places()
        yield from self._parts("run", report.overview.runs[::-1], lambda name: _run(runs, int(name)))
        if len(report.overview.sites) > 1:
            yield from self._parts("site", report.overview.sites, str)
        if report.overview.duplicates:
            yield Line(Kind.HEADING, self._headline(runs))
        for canonical, size, members in report.ranked.each(self.limit, COPIES if self.limit else 0):
            yield Line(Kind.QUIET)
            yield from self._cluster(canonical, size, members, runs)
        left = report.overview.clusters - self.limit
        if self.limit and left > 0:
            yield Line(Kind.QUIET)
            yield Line(Kind.QUIET, f"{counted(left, 'more cluster')}: {self.more}")

    def _places(self) -> Iterator[Line]:
        """Yield where copies differ from the pages kept, and what was left out of all."""
        places = self.report.losses.places
        if places:
            found, losses = counted(len(places), "place"), self.report.losses
            some = f" ({len(losses.texts):,} compared)" * (losses.answer.losing > len(losses.texts))
            yield Line(Kind.HEADING, f"Copies differ from the pages kept in {found}{some}:")
        for number, place in enumerate(places[: PARTS if self.limit else None], 1):
            yield Line(Kind.TITLE, f"  {number}. {place}")
            for example in place.examples[: EXAMPLES if self.limit else None]:
                yield Line(Kind.LOSS, f"     {_differing(example)}")
        if self.limit and len(places) > PARTS:
            yield Line(Kind.QUIET, f"  and {counted(len(places) - PARTS, 'more place')}")
        for host, gaps in list(left_out(self.report.index.store).items())[
            : PARTS if self.limit else None
        ]:
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
        run, losses = row.sighting.run, self.report.losses
        action = runs[run].action if run in runs else "drop"
        parts = [_NAMES.get(row.verdict.reason, row.verdict.reason.value.replace("_", " "))]
        if row.verdict.reason is not Reason.EXACT_DUPLICATE and (lost := loss(row)):
            texts, words = losses.texts.get(row.id), losses.words(row.id)
            said = f"loses {texts.counted(lost) if texts else lost}"
            parts.append(f"{said}: {words}" if words else said)
        parts.append(f"run {run}{_state(row)}")
        return ", ".join(parts + ([] if action == "drop" else [printable(action)]))

    def _headline(self, runs: Mapping[int, Run]) -> str:
        pages = counted(self.report.overview.duplicates, "page")
        clusters = counted(self.report.overview.clusters, "cluster")
        if self.report.replay:
            return f"{pages} would be dropped in {clusters}"
        repeating = (int(run.name) for run in self.report.overview.runs if run.duplicates)
        actions = {runs[run].action for run in repeating if run in runs}
        if actions <= {"drop"}:
            return f"{pages} dropped in {clusters}"
        copies = counted(self.report.overview.duplicates, "copy", "copies")
        return f"{copies} in {clusters}, not all of them dropped"

    def _cluster(
        self, canonical: int, size: int, members: Sequence[int], runs: Mapping[int, Run]
    ) -> Iterator[Line]:
        kept, *copies = list(self.report.index.rows_of((canonical, *members)))
        yield Line(Kind.TITLE, heading(kept, self.report.index) or "(no title)")
        yield Line(Kind.QUIET, f"  kept in run {kept.sighting.run}{_state(kept)}")
        yield Line(Kind.PAGE, f"    {_url(kept)}")
        for row in copies[: COPIES if self.limit else None]:
            yield Line(Kind.LOSS if row.verdict.nowhere else Kind.QUIET, f"  {self._what(row, runs)}")
            yield Line(Kind.PAGE, f"    {_url(row)}")
            if others := self.report.losses.fields.get(row.id) or other_fields(kept, row):
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
