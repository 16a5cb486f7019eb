"""Scrapy's feeds, which keep the last lines in a buffer of the process."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def flush_feeds(crawler: Crawler) -> None:
    """Hand all lines of the feeds to the system, where they outlive this process.

    To be called before a page is confirmed: a crawl that was killed would else have pages in the
    index that are in no feed.  Feeds that are stored at the end only (S3, FTP) still lose them.
    """
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter else ():
        file = getattr(slot, "file", None)
        if file is not None:
            # What is compressed has no flush; a full disk is for the exporter to report.
            with suppress(AttributeError, OSError, ValueError):
                file.flush()
