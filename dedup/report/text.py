"""What a person reads: the clusters with titles, as many as fit in a mind; the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os.path import abspath, isfile
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from dedup.index import Index, Row, Run
from dedup.model.errors import counted, moment, printable, printable_url
from dedup.model.urls import MAX_URL
from dedup.model.verdict import FATE_OF
from dedup.reading.markup import Excess
from dedup.replay import differing
from dedup.report.diff import BOTH, COPY, KEPT, shortened
from dedup.report.explanation import EXACT, NEAR, UNCHANGED, kinds, told_fields

if TYPE_CHECKING:
    from dedup.report.clusters import Report
    from dedup.report.losses import Losses, LostLine

# So many are shown unless all is asked for: clusters, copies of each; runs, places, feeds.
CLUSTERS, COPIES, PARTS = 20, 5, 5
MAX_LINE, _FATE = 160, 16  # characters of a line that differs, and of what became of a page
_MARKS = {COPY: "{{+{}+}}", KEPT: "{{-{}-}}", BOTH: "{}"}  # of a part of it, by who says it
DIFFER = "Copies differ from the pages kept"
BESIDE = "Pages were kept though much like others, as they differ from these"
# Of so many copies of one page, and from this share of all pages on, it may swallow what is none.
MIN_COPIES, LARGE_SHARE = 20, 0.2

# How a line is shown, by what it says: as `click.style` takes it.
Style = Mapping[str, Any]
HEADING, TITLE, LOSS = {"bold": True}, {"bold": True, "fg": "cyan"}, {"fg": "yellow"}
PAGE, QUIET = dict[str, Any](), {"dim": True}
ToldLine = tuple[Style, str]


def lines(report: Report, limit: int = CLUSTERS, more: str = "--all shows all") -> Iterator[ToldLine]:
    """Yield the lines of *report*, each with its style.

    *limit* clusters are told, and of each `COPIES`; 0 for all of both.  *more* says where all are.
    """
    counts, most = report.counts, PARTS if limit else None
    yield HEADING, report.verdict
    yield HEADING, str(counts)
    yield from places(report.losses, most, DIFFER)
    yield from places(report.beside, most, BESIDE)
    yield HEADING, "Runs:"
    yield from ((QUIET, f"  {line}") for line in first([*shares(report)], most))
    clusters = len(report.ranked)
    if counts.told:
        yield HEADING, f"{counted(counts.told, 'copy', 'copies')} in {counted(clusters, 'cluster')}"
    for size, kept, copies in report.clusters(limit, COPIES if limit else 0):
        yield QUIET, ""
        yield from _cluster(report, size, kept, copies)
    if limit and clusters > limit:
        yield QUIET, ""
        yield QUIET, f"{counted(clusters - limit, 'more cluster')}: {more}"


def places(losses: Losses, most: int | None, differ: str) -> Iterator[ToldLine]:
    """Yield where pages *differ*, and which places are made of several, *most* of both."""
    groups = losses.groups
    if groups:
        yield HEADING, f"{differ} in {counted(len(groups), 'place')}:"
    for number, (place, *others) in enumerate(groups[:most], 1):
        yield TITLE, f"  {number}. {place.shown} ({place.where}){place.means}"
        yield from ((LOSS, f"     {_marked(example)}") for example in place.examples)
        # A view for print differs in several.
        also = [f"{len(one.copies):,} of these pages also: {one.shown}{one.means}" for one in others]
        yield from ((LOSS, f"     {line}") for line in first(also, most))
        for example in place.examples[:1]:
            yield QUIET, f"     {_url(example.copy)} beside {_url(example.kept)}"
    if most and len(groups) > most:
        yield QUIET, f"  and {counted(len(groups) - most, 'more place')}"


def _url(row: Row) -> str:
    return printable_url(row.sighting.url, MAX_URL)


def shares(report: Report) -> Iterator[str]:
    """Yield how many pages of each run are copies, the last first."""
    for number, pages, copies in report.counts.by_run[::-1]:
        run = report.again.runs[number]
        parts = [f"run {number}", f"{moment(run.started)} UTC", run.ending or "running", run.spider]
        parts += [run.action] * (run.action != "drop")
        told = ", ".join(printable(part) for part in parts if part)
        yield f"{told}: {counted(pages, 'page')}, {counted(copies, 'copy', 'copies')} among them"


def _cluster(report: Report, size: int, kept: Row, copies: Sequence[Row]) -> Iterator[ToldLine]:
    yield TITLE, report.title(kept) or "(no title)"
    yield PAGE, f"  {report.told_fate(kept):<{_FATE}}  {_url(kept)}"
    for row in copies:
        yield PAGE, f"  {report.told_fate(row):<{_FATE}}  {_url(row)}"
        words = report.losses.words(row.id)
        style = LOSS if report.may_lose(row) else QUIET
        yield style, f"    {report.told_loss(row)}{f': {words}' if words else ''}"
        if others := report.losses.fields.get(row.id) or told_fields(differing(kept, row)):
            yield LOSS, f"    {others}"
    if size > len(copies):
        yield QUIET, f"  and {size - len(copies):,} more"


def _marked(example: LostLine) -> str:
    """Return the line of a copy, marked where it differs; of long parts that do not, the ends."""
    said = ""
    for text, of in shortened(example.line):
        said += " " * text.startswith(" ") + _MARKS[of].format(text.strip())
    return printable(said.strip(), MAX_LINE)


class LostFeed(NamedTuple):
    """A feed that has lost *pages* that were kept, and why; its *name* is "" where none is known."""

    name: str
    pages: int
    reason: str


# What else was done, or went otherwise than it should, by its count.
_OTHERS = {
    "not_visited": "not visited (addresses: see not-visited.jsonl)",
    "requests_saved": "requests saved, as links of copies are not followed",
    "asked_twice": "asked for twice, to see what changes when a page is asked for again",
    "released": "kept here but dropped or failed in a later pipeline",
    "wait_timeout": "waited in vain for the item that they repeat",
    "requested_again": "asked for once more, because what they repeat was lost or is gone",
    "given_back": "came twice: dropped at first, then kept, as nothing confirmed what was left out",
    "unaudited": "copies not checked for that before the crawl was stopped; the next delivers them",
    "not_recorded": "kept and not in the index: its server was away; the next crawl delivers them",
    "index_errors": "errors of the index, see above",
    "not_asked": "times the index was not asked because it had been locked or away for too long",
    "mark_errors": "kept unmarked because their type has no place for it, see above",
    "over_limit": "over a size limit: not read, and compared by their bytes only",
}


def summary(
    counts: Mapping[str, int],
    index: Index,
    run: Run,
    *,
    unjudged: str = "",
    elsewhere: Mapping[str, int] | None = None,
    lost: Sequence[LostFeed] = (),
    left_out: Sequence[str] = (),
    changed: str = "",
    said: Sequence[str] = (),
) -> str:
    """Return the summary of a *run* from its *counts*, several lines; a missing count is 0.

    *unjudged* is the reason if nothing was judged; *elsewhere* has how many copies repeat pages of each
    host not visited, *lost* the feeds that lost what was kept; the others are lines to tell.
    """
    counts = Counter(counts)
    counts["over_limit"] = sum(counts[f"over_limit/{excess}"] for excess in Excess)
    counts["updated"] *= not changed  # which tells them
    lines = [_sum(counts, run), *filter(None, [changed])]
    if counts["seen"] and counts["seen"] == counts["not_judged"]:
        why = "the index failed, see above" if counts["index_errors"] else unjudged
        lines.append(f"NOTHING WAS JUDGED: {why or 'no fields with a page or a text were found'}")
    lines += [*said, *_lost(lost, index.runs.lost(run.id), run)]
    if earlier := counts["dropped_for_earlier_run"]:
        repeating = counted(earlier, "copy repeats a page", "copies repeat pages")
        lines.append(f"{repeating} of earlier runs (dedup forget --run {run.id} undoes this run)")
    of = "{} of pages of {}, not visited by this crawl".format
    found = ((counted(n, "copy", "copies"), printable(host)) for host, n in (elsewhere or {}).items())
    lines += first([of(*one) for one in found], PARTS, "and of {:,} more such hosts")
    lines += first(left_out, PARTS, "and on {:,} more hosts: see dedup places")
    lines += [f"{counts[name]:,} {text}" for name, text in _OTHERS.items() if counts[name]]
    for canonical, copies in index.store.clusters(run.id, PARTS):
        if copies >= MIN_COPIES and copies > LARGE_SHARE * counts["seen"]:
            url = printable_url(canonical.sighting.url)
            lines.append(f"WARNING: {copies:,} pages are copies of {url}: a trap? See dedup report")
    name = full_name(index)
    lines += [f"index:  {name}", f"report: dedup report {quote(name)}, to review and undo: --serve"]
    return "\n  ".join([f"Deduplication of run {run.id}:", *lines])


def full_name(index: Index) -> str:
    """Return what a command calls *index* in any folder."""
    return printable(abspath(index.name) if isfile(index.name) else index.name, 4096)


def first(lines: Sequence[str], most: int | None, more: str = "and {:,} more") -> list[str]:
    """Return the first *most* lines, None for all, and how many *more* there are."""
    left = len(lines[most:]) if most else 0
    return [*lines[:most], *([more.format(left)] if left else [])]


def _sum(counts: Counter[str], run: Run) -> str:
    """Return what all pages seen add up to; what is none is not named."""
    if not counts["seen"]:
        return "no items came, see above"
    name = FATE_OF[run.action]
    twice = counts["given_back"] * (name == "dropped")
    counts = counts - Counter({"seen": twice, "near_duplicate": twice, name: twice})
    copies = {NEAR: counts["near_duplicate"], EXACT: counts["exact_duplicate"]}
    copies[UNCHANGED] = same = max(0, counts[name] - sum(copies.values()))
    others = {"unchanged": counts["unchanged"] - same, "updated": counts["updated"]}
    others["not judged"] = counts["not_judged"]
    kept = ", ".join(f"{count:,} {text}" for text, count in others.items() if count > 0)
    parts = [f"{counts['kept']:,} kept" + f" ({kept})" * bool(kept), *kinds(copies)]
    label = name.replace("would_drop", "would be dropped")
    share = f"; {counts[name]:,} {label} ({counts[name] / counts['seen']:.1%})" if counts[name] else ""
    return f"{counts['seen']:,} items seen = {' + '.join(parts)}{share}"


def _lost(feeds: Sequence[LostFeed], earlier: int, run: Run) -> list[str]:
    """Return what feeds have lost; *earlier* is how much when this run had died."""
    count = sum(feed.pages for feed in feeds)
    lines = [f"{count:,} KEPT BUT LOST WITH A FEED; the next crawl delivers them:"] if count else []
    found = sorted((feed for feed in feeds if feed.pages), key=lambda feed: -feed.pages)
    told = ((one.pages, printable(one.name) or "a feed", printable(one.reason)) for one in found)
    shown = ["  {:>8,}  {}: {}".format(*one) for one in told]
    lines += first(shown, PARTS, "  and {:,} more feeds")
    if earlier:
        lines.append(f"{earlier:,} kept by this run, but lost with its feeds when it died before")
    if run.job and (count or earlier):
        lines.append("JOBDIR does not ask for them again: crawl without it, or with a new one")
    return lines
