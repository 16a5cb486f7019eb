"""Near-duplicate detection for Scrapy: drop the copies, keep the pages, say which and why."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedup.config import DedupConfig
    from dedup.detector import Detector
    from dedup.fingerprints import Fingerprint, fingerprint
    from dedup.index import MemoryIndex, SQLiteIndex
    from dedup.page import Page
    from dedup.simhashing import simhash
    from dedup.verdict import Match, Reason, Verdict, compare
    from dedup.words import hamming_distance

__all__ = [
    "DedupConfig",
    "Detector",
    "Fingerprint",
    "Match",
    "MemoryIndex",
    "Page",
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
    "DedupConfig": "config",
    "Detector": "detector",
    "Fingerprint": "fingerprints",
    "Match": "verdict",
    "MemoryIndex": "index",
    "Page": "page",
    "Reason": "verdict",
    "SQLiteIndex": "index",
    "Verdict": "verdict",
    "compare": "verdict",
    "fingerprint": "fingerprints",
    "hamming_distance": "words",
    "simhash": "simhashing",
}


def __getattr__(name: str) -> object:
    # Scrapy imports this package for every one of its commands; lxml and numpy come when used.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
