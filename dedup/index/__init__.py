"""Where fingerprints are kept: in one SQLite file or in memory, or on a server."""

from __future__ import annotations

from dedup.index.index import Index
from dedup.values.row import Row, Run
from dedup.values.sighting import Sighting

__all__ = ["Index", "Row", "Run", "Sighting"]
