"""Where fingerprints are kept: in one SQLite file or in memory, or on a server."""

from __future__ import annotations

from dedup.index.blocks import BlockIndex
from dedup.index.index import Index, MemoryIndex, PostgresIndex, SQLiteIndex
from dedup.values.row import Neighbour, Row, Statistics
from dedup.values.run import Run
from dedup.values.sighting import Sighting

__all__ = [
    "BlockIndex",
    "Index",
    "MemoryIndex",
    "Neighbour",
    "PostgresIndex",
    "Row",
    "Run",
    "SQLiteIndex",
    "Sighting",
    "Statistics",
]
