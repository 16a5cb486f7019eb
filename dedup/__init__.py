"""Near-duplicate detection for Scrapy: drop the copies, keep the pages, say which and why."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedup.index.blocks import BlockIndex
    from dedup.index.detector import Detector
    from dedup.index.index import MemoryIndex, PostgresIndex, SQLiteIndex
    from dedup.model.fingerprint import Fingerprint
    from dedup.model.hashes import hamming_distance
    from dedup.model.verdict import Match, Reason, Verdict
    from dedup.prints.config import DedupConfig
    from dedup.prints.fingerprinter import fingerprint
    from dedup.prints.simhash import simhash
    from dedup.reading.page import Page
    from dedup.rule.match import compare

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
    "DedupConfig": "prints.config",
    "Detector": "index.detector",
    "Fingerprint": "model.fingerprint",
    "Match": "model.verdict",
    "MemoryIndex": "index.index",
    "Page": "reading.page",
    "PostgresIndex": "index.index",
    "Reason": "model.verdict",
    "SQLiteIndex": "index.index",
    "Verdict": "model.verdict",
    "compare": "rule.match",
    "fingerprint": "prints.fingerprinter",
    "hamming_distance": "model.hashes",
    "simhash": "prints.simhash",
}


def __getattr__(name: str) -> object:
    # Scrapy imports this package for every one of its commands; lxml and numpy come when used.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
