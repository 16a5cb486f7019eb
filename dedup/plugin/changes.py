"""The feed of changes: what a crawl has changed, written once, when it ends."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from inspect import isawaitable
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from dedup.index import Index, Run
from dedup.report.changes import changes, previous, told
from dedup.values.errors import ConfigError, shown
from dedup.values.printable import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_LATER = "There is no feed of changes; dedup report --changes --json --run %d gives it"


class ChangesFeed:
    """The changes of the crawl of *crawler*: in a line, and unless its *uri* is "", in a feed.

    The name of the spider and the time when the crawl began may be parts of *uri*, as in other feeds.
    Raises `ConfigError` for one that is no feed.
    """

    def __init__(self, crawler: Crawler, uri: str) -> None:
        self._crawler = crawler
        self._written: IO[bytes] | None = None
        self._storage: Any = None
        if uri:
            began = datetime.now(UTC).replace(microsecond=0).isoformat().replace(":", "-")
            self._uri = uri.replace("%(name)s", crawler.spidercls.name).replace("%(time)s", began)
            self._storage = self._storage_of(self._uri)

    def _storage_of(self, uri: str) -> Any:
        scheme = urlsplit(uri).scheme
        kinds: Any = self._crawler.settings.getwithbase("FEED_STORAGES")
        kind = kinds.get(scheme if len(scheme) > 1 else "file")
        try:
            if kind is None:
                raise NotConfigured("FEED_STORAGES has no such scheme")
            options = {"overwrite": True, "format": "jsonlines"}
            return build_from_crawler(load_object(kind), self._crawler, uri, feed_options=options)
        except NotConfigured as error:
            raise ConfigError(f"DEDUP_CHANGES_FEED ({shown(uri)}) must be a feed: {error}") from error

    def read(self, index: Index, run: Run) -> str:
        """Take the changes of *run*, which has ended, from *index*; return their counts in a line."""
        if self._storage is None and previous(index, run.id) is None:
            return ""
        last: dict[str, Any] = {}
        try:
            file = self._storage.open(self._crawler.spider) if self._storage else None
            for last in changes(index, run.id, has_passages=file is not None):
                if file:
                    file.write(json.dumps(last).encode() + b"\n")
        except Exception:  # the crawl has ended: only this is lost, and can be had later
            logger.exception(_LATER, run.id)
            return ""
        self._written, self._run = file, run.id
        return told(last)

    async def store(self) -> None:
        """Store what was read."""
        if self._written is None:
            return
        try:
            stored = self._storage.store(self._written)
            if isinstance(stored, Deferred):
                stored = maybe_deferred_to_future(stored)
            if isawaitable(stored):
                await stored
            logger.info("Stored the feed of changes in %s", printable(self._uri))
        except Exception:
            logger.exception(_LATER, self._run)
