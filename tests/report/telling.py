"""The report as text."""

from __future__ import annotations

from dedup.index import Index
from dedup.report.clusters import Selection
from dedup.report.columns import columns_of
from dedup.report.losses import losses_of
from dedup.report.text import CLUSTERS, Told, outline_of


def told(index: Index, selection: Selection | None = None, *, limit: int = CLUSTERS) -> list[str]:
    """Return the lines of the report on *index*."""
    columns = columns_of((selection or Selection()).glances(index))
    outline = outline_of(columns, losses_of(index, columns))
    return [line.text for line in Told(outline=outline, index=index, limit=limit).lines()]
