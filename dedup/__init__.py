"""Near-duplicate detection for Scrapy: drop the copies, keep the pages, say which and why."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedup.index.index import Detector as Detector
    from dedup.index.index import MemoryIndex as MemoryIndex
    from dedup.index.index import PostgresIndex as PostgresIndex
    from dedup.index.index import SQLiteIndex as SQLiteIndex
    from dedup.index.search import BlockIndex as BlockIndex
    from dedup.model.fingerprint import Fingerprint as Fingerprint
    from dedup.model.hashes import hamming_distance as hamming_distance
    from dedup.model.verdict import Match as Match
    from dedup.model.verdict import Reason as Reason
    from dedup.model.verdict import Verdict as Verdict
    from dedup.prints.fingerprinter import DedupConfig as DedupConfig
    from dedup.prints.fingerprinter import fingerprint as fingerprint
    from dedup.prints.literature import simhash as simhash
    from dedup.reading.page import Page as Page
    from dedup.rule.match import compare as compare

__version__ = "0.1.0"

_HOMES = {
    "BlockIndex": "index.search",
    "DedupConfig": "prints.fingerprinter",
    "Detector": "index.index",
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
    "simhash": "prints.literature",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    # Scrapy imports this package for every one of its commands; lxml and numpy come when used.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
