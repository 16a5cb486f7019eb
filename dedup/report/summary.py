"""What a person reads at the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from dedup.index import Index, Run
from dedup.model.printable import printable, printable_url
from dedup.reading.markup import Excess
from dedup.report.counts import counted
from dedup.report.explanation import FATES

LARGEST = 5
# Of so many copies of one page, and from this share of all pages on, it may swallow what is none.
MIN_COPIES, LARGE_SHARE = 20, 0.2


class LostFeed(NamedTuple):
    """A feed that has lost *pages* that were kept, and why; its *name* is "" where none is known."""

    name: str
    pages: int
    reason: str


# What else was done, or went otherwise than it should, by its count.
_OTHERS = {
    "asked_twice": "asked for twice, to see what changes when a page is asked for again",
    "released": "kept here but dropped or failed in a later pipeline",
    "wait_timeout": "waited in vain for the item that they repeat",
    "requested_again": "asked for once more, because what they repeat was lost or is gone",
    "given_back": "copies kept after all: nothing confirmed that what was left out of them moves",
    "unaudited": "copies not checked for that before the crawl was stopped; the next delivers them",
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
    said: Sequence[str] = (),
) -> str:
    """Return the summary of a *run* from its *counts*, several lines; a missing count is 0.

    *unjudged* is the reason if nothing was judged; *elsewhere* says how many copies repeat pages of a
    host that this run has not visited, *lost* which feeds lost what was kept, *left_out* what is left
    out of pages, *said* what has changed since the last crawl, and what is lost.
    """
    counts = Counter(counts)
    counts["over_limit"] = sum(counts[f"over_limit/{excess}"] for excess in Excess)
    lines = [_sum(counts, run)]
    if parked := counts["not_visited"]:
        lines.append(f"{parked:,} not visited (addresses: see not-visited.jsonl)")
    lines += said
    if counts["seen"] and counts["seen"] == counts["not_judged"]:
        why = "the index failed, see above" if counts["index_errors"] else unjudged
        lines.append(f"NOTHING WAS JUDGED: {why or 'no fields with a page or a text were found'}")
    lines += _lost(lost, index.runs.lost(run.id), run)
    if earlier := counts["dropped_for_earlier_run"]:
        repeating = counted(earlier, "copy repeats a page", "copies repeat pages")
        lines.append(
            f"{repeating} that an earlier run was the first to keep (this is run "
            f"{run.id}; a run is undone with: dedup forget --run N)"
        )
    hosts = [
        f"{counted(count, 'copy', 'copies')} of pages of {printable(host)}, which this crawl did not "
        "visit"
        for host, count in (elsewhere or {}).items()
    ]
    lines += _first(hosts, "and of {:,} more such hosts")
    if seen := counts["responses/seen"]:
        lines.append(
            f"{counts['requests_saved']:,} requests saved: {seen:,} responses were judged before their "
            f"callback; copies followed all the same: {counts['responses/explored']:,}"
        )
    ignored = [f"left out, as it changes by itself, on {said}" for said in left_out]
    lines += _first(ignored, "and on {:,} more hosts: see dedup places")
    lines += [f"{counts[name]:,} {text}" for name, text in _OTHERS.items() if counts[name]]
    lines += _swallowing(index, run, counts["seen"])
    name = printable(index.name, 4096)  # a whole path
    lines += [f"index:  {name}", f"report: dedup report {quote(name)}, to review and undo: --serve"]
    return "\n  ".join([f"Deduplication of run {run.id}:", *lines])


def _first(lines: Sequence[str], more: str) -> list[str]:
    """Return the first *lines*, and how many *more* there are."""
    left = len(lines) - LARGEST
    return [*lines[:LARGEST], *([more.format(left)] if left > 0 else [])]


def _sum(counts: Counter[str], run: Run) -> str:
    """Return what all pages seen add up to; what is none is not named."""
    name = FATES.get(run.action, "would_drop")
    near, exact = counts["near_duplicate"], counts["exact_duplicate"]
    same = max(0, counts[name] - near - exact)
    others = {"unchanged": counts["unchanged"] - same, "updated": counts["updated"]}
    others["not judged"] = counts["not_judged"]
    kept = ", ".join(f"{count:,} {text}" for text, count in others.items() if count > 0)
    parts = [f"{counts['kept']:,} kept" + f" ({kept})" * bool(kept)]
    parts += [counted(near, "near copy", "near copies")] if near else []
    parts += [counted(exact, "exact copy", "exact copies")] if exact else []
    parts += [f"{same:,} unchanged"] if same else []
    label = name.replace("would_drop", "would be dropped")
    share = f"; {counts[name]:,} {label} ({counts[name] / counts['seen']:.1%})" if counts[name] else ""
    return f"{counts['seen']:,} items seen = {' + '.join(parts)}{share}"


def _lost(feeds: Sequence[LostFeed], earlier: int, run: Run) -> list[str]:
    """Return what feeds have lost; *earlier* is how much when this run had died."""
    count = sum(feed.pages for feed in feeds)
    lines = [f"{count:,} KEPT BUT LOST WITH A FEED; the next crawl delivers them:"] if count else []
    shown = [
        f"  {feed.pages:>8,}  {printable(feed.name) or 'a feed'}: {printable(feed.reason)}"
        for feed in sorted(feeds, key=lambda feed: -feed.pages)
        if feed.pages
    ]
    lines += _first(shown, "  and {:,} more feeds")
    if earlier:
        lines.append(f"{earlier:,} kept by this run, but lost with its feeds when it died before")
    if run.job and (count or earlier):
        lines.append("JOBDIR does not ask for them again: crawl without it, or with a new one")
    return lines


def _swallowing(index: Index, run: Run, seen: int) -> Iterator[str]:
    """Yield a warning of each page with so many copies that some may be none."""
    for canonical, copies in index.store.clusters(run.id, LARGEST):
        if copies >= MIN_COPIES and copies > LARGE_SHARE * seen:
            url = printable_url(canonical.sighting.url)
            share = f"{copies / max(seen, copies):.0%} of all pages are copies of {url}"
            yield f"WARNING: {share}: a trap, or pages of one template? See dedup report"
