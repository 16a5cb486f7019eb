"""The clusters for a person to read: near copies first, with titles, as many as fit in a mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dedup.index import Row
from dedup.model.printable import moment, printable, printable_url
from dedup.model.urls import MAX_URL
from dedup.report.clusters import Report, what_is
from dedup.report.counts import counted
from dedup.report.diff import BOTH, COPY, KEPT, Span
from dedup.report.explanation import differing, told_fields
from dedup.report.losses import Example

# What is shown, unless all is asked for.
CLUSTERS = 20
COPIES = 5  # of each cluster
PARTS = 5  # runs, sites, places
MAX_LINE = 160  # characters of a line that differs
_AROUND = 6  # words before and after what differs in it

# What a line says, for whoever colours it.
HEADING, TITLE, PAGE, LOSS, QUIET = "heading", "title", "page", "loss", "quiet"
Line = tuple[str, str]


def lines(report: Report, limit: int = CLUSTERS, more: str = "--all shows all") -> Iterator[Line]:
    """Yield the lines of *report*, each with its kind; all is read before the first.

    *limit* clusters are told, and of each `COPIES`; 0 for all of both.  *more* says where all are.
    """
    answer, most = report.answer, PARTS if limit else None
    yield HEADING, report.verdict
    yield HEADING, str(answer)
    yield from _places(report, most)
    yield from ((QUIET, f"  {line}") for line in shares(report, most))
    clusters = len(report.ranked)
    if answer.copies:
        yield HEADING, _headline(report, clusters)
    for size, kept, copies in report.clusters(limit, COPIES if limit else 0):
        yield QUIET, ""
        yield from _cluster(report, size, kept, copies)
    if limit and clusters > limit:
        yield QUIET, ""
        yield QUIET, f"{counted(clusters - limit, 'more cluster')}: {more}"


def _places(report: Report, most: int | None) -> Iterator[Line]:
    """Yield where copies differ from the pages kept, and what was left out of all."""
    losses, losing = report.losses, report.answer.losing
    if losses.places:
        some = f" ({len(losses.texts):,} compared)" * (losing > len(losses.texts))
        found = counted(len(losses.places), "place")
        yield HEADING, f"Copies differ from the pages kept in {found}{some}:"
    for number, place in enumerate(losses.places[:most], 1):
        yield TITLE, f"  {number}. {place}"
        for example in place.examples:
            if shown := _differing(example):
                yield LOSS, f"     {shown}"
    if most and len(losses.places) > most:
        yield QUIET, f"  and {counted(len(losses.places) - most, 'more place')}"
    for host, gaps in [*report.left_out.items()][:most]:
        yield QUIET, f"  left out on {host}: {'; '.join(gaps[:PARTS])} (dedup places)"


def shares(report: Report, most: int | None) -> Iterator[str]:
    """Yield how many pages of each run and site are copies, of *most* of both."""
    counts = report.counts
    runs = [one._replace(name=_run(report, one.name)) for one in counts.by_run[::-1]]
    for what, some in (("run", runs), ("site", counts.by_site if len(counts.sites) > 1 else [])):
        for name, pages, copies in some[:most]:
            among = counted(copies, "copy", "copies")
            yield f"{name}: {counted(pages, 'page')}, {among} among them"
        if most and len(some) > most:
            yield f"and {counted(len(some) - most, f'more {what}')}"


def _headline(report: Report, clusters: int) -> str:
    copies, found = report.answer.copies, counted(clusters, "cluster")
    repeating = (report.runs.get(int(run.name)) for run in report.counts.by_run if run.duplicates)
    if {run.action for run in repeating if run} <= {"drop"}:
        return f"{counted(copies, 'page')} dropped in {found}"
    return f"{counted(copies, 'copy', 'copies')} in {found}, not all of them dropped"


def _cluster(report: Report, size: int, kept: Row, copies: Sequence[Row]) -> Iterator[Line]:
    yield TITLE, report.title(kept) or "(no title)"
    yield QUIET, f"  kept in run {kept.sighting.run}{_state(kept)}"
    yield PAGE, f"    {printable_url(kept.sighting.url, MAX_URL)}"
    for row in copies:
        lost, words = report.loss(row), report.losses.words(row.id)
        loses = f", loses {lost}" * bool(lost) + f": {words}" * bool(words)
        yield LOSS if row.verdict.nowhere else QUIET, f"  {what_is(row)}{loses}, {seen(report, row)}"
        yield PAGE, f"    {printable_url(row.sighting.url, MAX_URL)}"
        if others := report.losses.fields.get(row.id) or told_fields(differing(kept, row)):
            yield LOSS, f"    {others}"
    if size > len(copies):
        yield QUIET, f"  and {size - len(copies):,} more"


def seen(report: Report, row: Row) -> str:
    """Return which run saw a copy, and what became of it if it is not only dropped."""
    action = report.action(row)
    did = "" if action == "drop" else f", {printable(action)}"
    return f"run {row.sighting.run}{_state(row)}{did}"


def _state(row: Row) -> str:
    return "" if row.outcome == "confirmed" else f", {row.outcome}"


def _run(report: Report, name: str) -> str:
    """Return what there is to know of a run, on one line."""
    run = report.runs.get(int(name))
    if run is None:
        return f"run {name}"
    parts = [f"{moment(run.started)} UTC", run.ending or "running", run.spider]
    parts += [] if run.action == "drop" else [run.action]
    return f"run {name}, {', '.join(printable(part) for part in parts if part)}"


def _differing(example: Example) -> str:
    """Return the line of a copy, with what is lost in it marked, and how the page kept has it."""
    copy = "".join(_near(span) for span in example.line if span.of != KEPT).strip()
    kept = "".join(_near(span._replace(of=BOTH)) for span in example.line if span.of != COPY).strip()
    return printable(f"{copy}  for  {kept}" if kept else copy, MAX_LINE)


def _near(span: Span) -> str:
    """Return a part of a line, marked where it is lost; of a long part that is not, the ends."""
    if span.of == COPY:
        return f"{' ' * span.text.startswith(' ')}{{+{span.text.strip()}+}}"
    words, ends = span.text.split(" "), slice(_AROUND, -_AROUND)
    words[ends] = ["…"] if words[ends] else []
    return " ".join(words)
