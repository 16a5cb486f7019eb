"""What a rehearsal says: what would have been dropped, and what would have been lost with it."""

from __future__ import annotations

from dedup.index import Index
from dedup.report.answer import answer_of
from dedup.report.columns import columns_of
from dedup.report.losses import loss
from dedup.values.printable import printable
from dedup.values.row import glance_of

# So many of those that lose most are named.
_NAMED = 5


def rehearsal(index: Index, pages: int) -> str:
    """Return what the rehearsal with the first *pages* of *index* says up to now, several lines."""
    seen = min(index.store.last(), pages)
    copies = index.views.rehearsed()
    over = seen >= pages
    lines = [
        f"The dry run is over: {len(copies):,} of {seen:,} pages would have been dropped."
        if over
        else f"Dry run, {seen:,} of {pages:,} pages: {len(copies):,} would have been dropped."
    ]
    if copies:
        lines.append(f"  {answer_of(columns_of(map(glance_of, copies)))}")
    losing = sorted(
        (row for row in copies if row.verdict.nowhere), key=lambda row: -(row.verdict.nowhere or 0)
    )[:_NAMED]
    lines += [
        f"  loses {loss(row)}: <{printable(row.sighting.url)}> repeats "
        f"<{printable(row.verdict.canonical_url)}>"
        for row in losing
    ]
    lines.append(
        "  From now on copies are dropped." if over else "  The next crawl goes on with the dry run."
    )
    return "\n".join(lines)
