"""What a person reads at the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple

from dedup.index import Index, Run
from dedup.model.limits import Excess
from dedup.model.printable import printable

LARGEST = 5
_LONGEST_PATH = 4096
# Of so many copies of one page, and from this share of all pages on, it may swallow what is none.
MIN_COPIES, LARGE_SHARE = 20, 0.2


class LostFeed(NamedTuple):
    """A feed that has lost *pages* that were kept, and why; its *name* is "" where none is known."""

    name: str
    pages: int
    reason: str


# What becomes of a copy, by the action of the run, and the count of it.
_COPIES = dict.fromkeys(("drop", "skip"), ("dropped", "dropped")) | {"mark": ("marked", "marked")}
_DRY_RUN = ("would be dropped", "would_drop")


def summary(
    counts: Mapping[str, int],
    index: Index,
    run: Run,
    *,
    unjudged: str = "",
    elsewhere: Mapping[str, int] = MappingProxyType({}),
    lost: Sequence[LostFeed] = (),
    left_out: Sequence[str] = (),
    changed: str = "",
    losses: Sequence[str] = (),
) -> str:
    """Return the summary of a *run* from its *counts*, several lines; a missing count is 0.

    *unjudged* is the reason if nothing was judged; *elsewhere* says for how many copies pages stand that
    were kept on a host which this run has not visited; *lost* are the feeds that lost what was kept,
    *left_out* says what was left out of the pages of each host, *changed* what has changed since the
    last crawl, *losses* what was lost with copies.
    """
    counts = Counter(counts)
    lines = [f"Deduplication of run {run.id}:", f"  {_sum(counts, run)}"]
    if parked := counts["not_visited"]:
        lines.append(f"  {parked:,} not visited (addresses: see not-visited.jsonl)")
    lines += [f"  {changed}"] if changed else []
    lines += [f"  {one}" for one in losses]
    lines += _unjudged(counts, unjudged)
    lines += _lost(lost, index.runs.lost(run.id), run)
    lines += _earlier(counts, run) + _not_visited(elsewhere)
    lines += _skipped(counts) + _noise(counts, left_out)
    lines += _troubles(counts)
    lines += _clusters(index, run, counts["seen"])
    name = printable(index.name, _LONGEST_PATH)
    lines += [f"  index:  {name}", f"  report: dedup report {quote(name)}, to review and undo: --serve"]
    return "\n".join(lines)


def _sum(counts: Counter[str], run: Run) -> str:
    """Return what all pages seen add up to; what is none is not named."""
    label, name = _COPIES.get(run.action, _DRY_RUN)
    near, exact = counts["near_duplicate"], counts["exact_duplicate"]
    same = max(0, counts[name] - near - exact)
    copies = [(near, "near cop"), (exact, "exact cop")]
    found = [f"{count:,} {text}{'y' if count == 1 else 'ies'}" for count, text in copies if count]
    sum_ = "".join(f" + {part}" for part in [*found, *([f"{same:,} unchanged"] if same else [])])
    others = [(counts["unchanged"] - same, "unchanged"), (counts["updated"], "updated")]
    others.append((counts["not_judged"], "not judged"))
    of_kept = ", ".join(f"{count:,} {text}" for count, text in others if count > 0)
    kept = f"{counts['kept']:,} kept" + (f" ({of_kept})" if of_kept else "")
    share = f"; {counts[name]:,} {label} ({counts[name] / counts['seen']:.1%})" if counts[name] else ""
    return f"{counts['seen']:,} seen = {kept}{sum_}{share}"


def _unjudged(counts: Counter[str], reason: str) -> list[str]:
    if not counts["seen"] or counts["seen"] != counts["not_judged"]:
        return []
    if counts["index_errors"]:
        reason = "the index failed, see above"
    return [f"  NOTHING WAS JUDGED: {reason or 'no fields with a page or a text were found'}"]


def _lost(feeds: Sequence[LostFeed], earlier: int, run: Run) -> list[str]:
    """Return what feeds have lost; *earlier* is how much when this run had died."""
    count = sum(feed.pages for feed in feeds)
    lines = [f"  {count:,} KEPT BUT LOST WITH A FEED; the next crawl delivers them:"] if count else []
    largest = sorted((feed for feed in feeds if feed.pages), key=lambda feed: -feed.pages)
    lines += [
        f"    {feed.pages:>8,}  {printable(feed.name) or 'a feed'}: {printable(feed.reason)}"
        for feed in largest[:LARGEST]
    ]
    if largest[LARGEST:]:
        lines.append(f"    and {len(largest) - LARGEST:,} more feeds")
    if earlier:
        lines.append(f"  {earlier:,} kept by this run, but lost with its feeds when it died before")
    if run.job and (count or earlier):
        lines.append("  JOBDIR does not ask for them again: crawl without it, or with a new one")
    return lines


def _earlier(counts: Counter[str], run: Run) -> list[str]:
    earlier = counts["dropped_for_earlier_run"]
    if not earlier:
        return []
    return [
        f"  {earlier:,} copies were dropped for pages that an earlier run has kept (this is run "
        f"{run.id}; a run is undone with: dedup forget --run N)"
    ]


def _not_visited(elsewhere: Mapping[str, int]) -> list[str]:
    lines = [
        f"  {count:,} of them for pages of {printable(host)}, which this crawl did not visit"
        for host, count in list(elsewhere.items())[:LARGEST]
    ]
    more = len(elsewhere) - LARGEST
    return [*lines, f"  and of {more:,} more such hosts"] if more > 0 else lines


def _skipped(counts: Counter[str]) -> list[str]:
    seen = counts["responses/seen"]
    if not seen:
        return []
    saved = counts["requests_saved"]
    explored = counts["responses/explored"]
    return [
        f"  {saved:,} requests saved: {seen:,} responses were judged before their callback, "
        f"{explored:,} copies were followed all the same"
    ]


def _noise(counts: Counter[str], left_out: Sequence[str]) -> list[str]:
    lines = [f"  left out, as it changes by itself, on {said}" for said in left_out[:LARGEST]]
    if left_out[LARGEST:]:
        lines.append(f"  and on {len(left_out) - LARGEST:,} more hosts: see dedup places")
    if asked := counts["asked_twice"]:
        lines.append(
            f"  {asked:,} {'request was' if asked == 1 else 'requests were'} made to see what "
            "changes when a page is asked for again"
        )
    return lines


def _troubles(counts: Counter[str]) -> list[str]:
    texts = (
        ("other_fields", "of the same text as the page kept, but with other fields: see dedup report"),
        ("released", "kept here but dropped or failed in a later pipeline"),
        ("wait_timeout", "waited in vain for the item that they repeat"),
        ("requested_again", "asked for once more, because what they repeat was lost or is gone"),
        ("given_back", "dropped for what was left out of them, and given back: no audit confirmed it"),
        ("index_errors", "errors of the index, see above"),
        ("not_asked", "times the index was not asked because it had been locked for too long"),
        ("mark_errors", "kept unmarked because their type has no place for it, see above"),
    )
    troubles = [(counts[name], text) for name, text in texts]
    unread = sum(counts[f"over_limit/{excess}"] for excess in Excess)
    troubles.append((unread, "over a size limit: not read, and compared by their bytes only"))
    return [f"  {count:,} {text}" for count, text in troubles if count]


def _clusters(index: Index, run: Run, seen: int) -> list[str]:
    largest = [found for found in index.store.clusters(run.id, LARGEST) if found[1] > 1]
    if not largest:
        return []
    lines = [
        f"  WARNING: {copies / max(seen, copies):.0%} of all pages are copies of "
        f"{printable(canonical.sighting.url)}: a trap, or pages of one template? See dedup report"
        for canonical, copies in largest
        if copies >= MIN_COPIES and copies > LARGE_SHARE * seen
    ]
    lines.append("  largest clusters (copies in this run, page that they repeat):")
    return lines + [
        f"    {copies:>8,}  {printable(canonical.sighting.url) or '(no URL)'}"
        for canonical, copies in largest
    ]
