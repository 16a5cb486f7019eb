"""Where fingerprints are kept: in one SQLite file or in memory, or on a server."""

from __future__ import annotations

from dedup.index.index import Index
from dedup.model.fingerprint import Sighting
from dedup.model.verdict import Row, Run

__all__ = ["Index", "Row", "Run", "Sighting"]
