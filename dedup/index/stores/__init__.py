"""Where an index keeps its rows; a store knows no rule."""

from __future__ import annotations

from dedup.index.stores.base import Store
from dedup.index.stores.sqlite import SQLiteStore

__all__ = ["SQLiteStore", "Store"]
