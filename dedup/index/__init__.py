"""Where fingerprints are kept: in memory, or in one SQLite file."""

from __future__ import annotations

from dedup.index.blocks import BlockIndex
from dedup.index.index import Index, MemoryIndex, SQLiteIndex, open_index, scheme_of
from dedup.values.row import (
    ClusterSize,
    Glance,
    Neighbour,
    Row,
    Statistics,
    Tally,
    Visit,
    Withheld,
    glance_of,
)
from dedup.values.run import Run
from dedup.values.sighting import Sighting

__all__ = [
    "BlockIndex",
    "ClusterSize",
    "Glance",
    "Index",
    "MemoryIndex",
    "Neighbour",
    "Row",
    "Run",
    "SQLiteIndex",
    "Sighting",
    "Statistics",
    "Tally",
    "Visit",
    "Withheld",
    "glance_of",
    "open_index",
    "scheme_of",
]
