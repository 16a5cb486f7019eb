"""Where fingerprints are kept: in one SQLite file or in memory, or on a server."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dedup.index.index import Index
from dedup.values.row import Neighbour, Row
from dedup.values.run import Run
from dedup.values.sighting import Sighting

__all__ = [
    "BlockIndex",
    "Index",
    "Neighbour",
    "Row",
    "Run",
    "Sighting",
]


def __getattr__(name: str) -> Any:
    # No crawl needs it: it is loaded where it is used.
    if name != "BlockIndex":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("dedup.algorithms.blocks").BlockIndex
