"""What holds of any bytes in a file: for the tests here, and for `fuzz/`, which looks with coverage."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from dedup.files.feeds import START, BadRecord, Feed, FeedError, Place, Record, find_feeds
from dedup.reading.fields import FieldRule, NoHtml


def feed_of(path: Path) -> Feed:
    return find_feeds([path], FieldRule()).feeds[0]


def read(feed: Feed, start: Place = START) -> list[Record]:
    """Return the records as far as they can be read, each of which is behind the one before."""
    found: list[Record] = []
    with suppress(FeedError):
        for record in feed.records(start):
            assert record.after > (found[-1].after if found else start)
            found.append(record)
    return found


def check_feed(path: Path, places: Iterable[int] = range(5)) -> None:
    """Read *path* from its beginning, and from behind the records of those numbers, again and alike."""
    feed = feed_of(path)
    records = read(feed)
    for record in records:
        if record.payload is not None:
            with suppress(BadRecord, NoHtml):
                feed.raw_page(record.payload, feed.rule)
    told = [(record.name, record.after, record.problem) for record in records]
    for number in {place % len(records) for place in places} if records else ():
        again = read(feed, records[number].after)
        assert [(one.name, one.after, one.problem) for one in again] == told[number + 1 :]
