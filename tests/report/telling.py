"""The report as text."""

from __future__ import annotations

from dedup.index import Index
from dedup.report.clusters import ALL, Report, Selection
from dedup.report.text import CLUSTERS, lines


def told(index: Index, selection: Selection = ALL, *, limit: int = CLUSTERS) -> list[str]:
    """Return the lines of the report on *index*."""
    return [line for _, line in lines(Report(index, selection), limit)]
