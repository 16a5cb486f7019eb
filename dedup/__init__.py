"""Near-duplicate detection for Scrapy: drop the copies, keep the pages, say which and why."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedup.algorithms.simhash import simhash
    from dedup.index.blocks import BlockIndex
    from dedup.index.detector import Detector
    from dedup.index.index import MemoryIndex, PostgresIndex, SQLiteIndex
    from dedup.reading.page import Page
    from dedup.recipes.config import DedupConfig
    from dedup.recipes.fingerprinter import fingerprint
    from dedup.rule.match import compare
    from dedup.values.fingerprint import Fingerprint
    from dedup.values.hashes import hamming_distance
    from dedup.values.verdict import Match, Reason, Verdict

__all__ = [
    "BlockIndex",
    "DedupConfig",
    "Detector",
    "Fingerprint",
    "Match",
    "MemoryIndex",
    "Page",
    "PostgresIndex",
    "Reason",
    "SQLiteIndex",
    "Verdict",
    "compare",
    "fingerprint",
    "hamming_distance",
    "simhash",
]
__version__ = "0.1.0"

_HOMES = {
    "BlockIndex": "index.blocks",
    "DedupConfig": "recipes.config",
    "Detector": "index.detector",
    "Fingerprint": "values.fingerprint",
    "Match": "values.verdict",
    "MemoryIndex": "index.index",
    "Page": "reading.page",
    "PostgresIndex": "index.index",
    "Reason": "values.verdict",
    "SQLiteIndex": "index.index",
    "Verdict": "values.verdict",
    "compare": "rule.match",
    "fingerprint": "recipes.fingerprinter",
    "hamming_distance": "values.hashes",
    "simhash": "algorithms.simhash",
}


def __getattr__(name: str) -> object:
    # Scrapy imports this package for every one of its commands; lxml and numpy come when used.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
