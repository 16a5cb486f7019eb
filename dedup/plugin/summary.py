"""What a person reads at the end of a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dedup.index import Index, Run
from dedup.printable import printable

LARGEST = 5

_LINES = (
    ("pages seen", "seen"),
    ("kept", "kept"),
    ("near-duplicates", "near_duplicate"),
    ("exact duplicates", "exact_duplicate"),
    ("unchanged", "unchanged"),
    ("updated", "updated"),
    ("not judged", "not_judged"),
)


def summary(stats: Mapping[str, Any], index: Index, run: Run) -> str:
    """Return the summary of a *run* from its *stats*, several lines."""
    counts = {name: stats.get(f"dedup/{name}", 0) for _, name in _LINES}
    dropped = stats.get("dedup/dropped", 0)
    share = dropped / counts["seen"] if counts["seen"] else 0.0
    lines = [f"Deduplication of run {run.id}:"]
    lines += [f"  {label:<18}{counts[name]:>10,}" for label, name in _LINES]
    lines.append(f"  {'dropped':<18}{dropped:>10,}  ({share:.1%} of all seen)")
    lines += _earlier(stats, run) + _troubles(stats) + _clusters(index, run)
    lines += [f"  index:  {index.name}", f"  report: dedup report {index.name}"]
    return "\n".join(lines)


def _earlier(stats: Mapping[str, Any], run: Run) -> list[str]:
    earlier = stats.get("dedup/dropped_for_earlier_run", 0)
    if not earlier:
        return []
    return [
        f"  {earlier:,} of them for a page kept in an EARLIER run "
        f"(a run is undone with: dedup forget --run N; this one was {run.id})"
    ]


def _troubles(stats: Mapping[str, Any]) -> list[str]:
    texts = (
        ("released", "kept here but dropped or failed in a later pipeline"),
        ("wait_timeout", "kept because the item they repeat took too long"),
        ("index_errors", "errors of the index, see above"),
    )
    counts = ((stats.get(f"dedup/{name}", 0), text) for name, text in texts)
    return [f"  {count:,} {text}" for count, text in counts if count]


def _clusters(index: Index, run: Run) -> list[str]:
    largest = index.largest_clusters(run.id, LARGEST)
    if not largest:
        return []
    lines = ["  largest clusters (copies dropped in this run, page they repeat):"]
    return lines + [
        f"    {copies:>8,}  {printable(canonical.sighting.url) or '(no URL)'}"
        for canonical, copies in largest
    ]
