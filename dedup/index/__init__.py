"""Where fingerprints are kept: in memory, or in one SQLite file."""

from __future__ import annotations

from dedup.index.base import Glance, Index, Neighbour, Row, Run, Sighting, Statistics, glance_of
from dedup.index.blocks import BlockIndex
from dedup.index.memory import MemoryIndex
from dedup.index.sqlite import SQLiteIndex

__all__ = [
    "BlockIndex",
    "Glance",
    "Index",
    "MemoryIndex",
    "Neighbour",
    "Row",
    "Run",
    "SQLiteIndex",
    "Sighting",
    "Statistics",
    "glance_of",
]
