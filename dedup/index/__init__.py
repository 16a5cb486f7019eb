"""Where fingerprints are kept: in one SQLite file or in memory, or on a server."""

from __future__ import annotations

from dedup.index.blocks import BlockIndex
from dedup.index.index import (
    Index,
    MemoryIndex,
    PostgresIndex,
    SQLiteIndex,
    is_address,
    open_index,
    scheme_of,
    short_name,
    shown_place,
)
from dedup.values.row import (
    Glance,
    Neighbour,
    Row,
    Statistics,
    Visit,
    Withheld,
    glance_of,
)
from dedup.values.run import Run
from dedup.values.sighting import Sighting

__all__ = [
    "BlockIndex",
    "Glance",
    "Index",
    "MemoryIndex",
    "Neighbour",
    "PostgresIndex",
    "Row",
    "Run",
    "SQLiteIndex",
    "Sighting",
    "Statistics",
    "Visit",
    "Withheld",
    "glance_of",
    "is_address",
    "open_index",
    "scheme_of",
    "short_name",
    "shown_place",
]
