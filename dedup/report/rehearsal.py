"""What a rehearsal says: what would have been dropped, and what would have been lost with it."""

from __future__ import annotations

from collections.abc import Sequence

from dedup.index import Index, Row
from dedup.report.answer import SAFE, CopyCounts
from dedup.report.losses import loss
from dedup.values.printable import printable

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
        lines.append(f"  {answer_of_rows(copies)}")
    losing = sorted((row for row in copies if row.verdict.lost), key=_most_lost)[:_NAMED]
    lines += [
        f"  loses {loss(row)}: <{printable(row.sighting.url)}> repeats "
        f"<{printable(row.verdict.canonical_url)}>"
        for row in losing
    ]
    lines.append(
        "  From now on copies are dropped." if over else "  The next crawl goes on with the dry run."
    )
    return "\n".join(lines)


def answer_of_rows(copies: Sequence[Row]) -> CopyCounts:
    """Return how many of *copies* lose something; see `dedup.report.answer.answer_of`."""
    near = [row.verdict.lost for row in copies if row.verdict.reason not in SAFE]
    known = [lost for lost in near if lost is not None]
    return CopyCounts(
        exact=len(copies) - len(near),
        harmless=known.count(0),
        losing=sum(lost > 0 for lost in known),
        unknown=len(near) - len(known),
        most=max(known, default=0),
    )


def _most_lost(row: Row) -> tuple[int, int]:
    return -(row.verdict.lost or 0), row.id
