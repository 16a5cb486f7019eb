"""Files of pages: feeds, folders of HTML, web archives, tables; read, and written again unchanged.

A `Feed` yields its records in order (`Feed.records`), says what a record holds (`Feed.raw_page`, a
function that other processes can be sent), and opens a `Sink` that takes records as they were read.
A module knows one format; `dedup.files.feeds.finding` finds the feeds behind paths.
"""

from __future__ import annotations

from dedup.files.feeds.base import START, BadRecord, Feed, FeedError, Place, Record, Sink
from dedup.files.feeds.finding import FORMATS, Found, find_feeds

__all__ = [
    "FORMATS",
    "START",
    "BadRecord",
    "Feed",
    "FeedError",
    "Found",
    "Place",
    "Record",
    "Sink",
    "find_feeds",
]
