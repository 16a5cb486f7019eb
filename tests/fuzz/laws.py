"""What holds of any bytes in a file: for the tests here, and for `fuzz/`, which looks with coverage."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dedup.files.finding import find_feeds
from dedup.files.formats import BadRecord, Feed, FeedError, Record
from dedup.reading.fields import FieldRule, NoHtml


def feed_of(path: Path) -> Feed:
    return find_feeds([path], FieldRule()).feeds[0]


def read(feed: Feed) -> list[Record]:
    """Return the records as far as they can be read."""
    found: list[Record] = []
    with suppress(FeedError):
        found.extend(feed.records())
    return found


def check_feed(path: Path) -> None:
    """Read *path* twice, alike."""
    feed = feed_of(path)
    records = read(feed)
    for record in records:
        if record.payload is not None:
            with suppress(BadRecord, NoHtml):
                feed.raw_page(record.payload, feed.rule)
    told = [(record.name, record.problem) for record in records]
    assert [(one.name, one.problem) for one in read(feed)] == told
