"""The report as text."""

from __future__ import annotations

from dedup.index import Index
from dedup.report.clusters import ALL, Report, Selection
from dedup.report.text import CLUSTERS, Told


def told(index: Index, selection: Selection = ALL, *, limit: int = CLUSTERS) -> list[str]:
    """Return the lines of the report on *index*."""
    return [line.text for line in Told(Report(index, selection), limit).lines()]
