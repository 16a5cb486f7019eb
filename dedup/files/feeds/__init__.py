"""Files of pages: feeds, folders of HTML, web archives, tables; read, and written again unchanged.

A `Feed` yields its records in order (`Feed.records`), gives the page in a record (`Feed.raw_page`, a
function that can be sent to other processes), and opens a `Sink` that takes records as they were read.
Each format has a module; `dedup.files.feeds.finding` finds the feeds behind paths.
"""

from __future__ import annotations

from dedup.files.feeds.base import BadRecord, Feed, FeedError, Record, Sink
from dedup.files.feeds.finding import Inputs, find_feeds

__all__ = ["BadRecord", "Feed", "FeedError", "Inputs", "Record", "Sink", "find_feeds"]
