"""Feeds: marks in items, and which feeds have stored which pages."""

from __future__ import annotations

import logging
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from os import SEEK_END
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import exporters, signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, FileFeedStorage, StdoutFeedStorage
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from dedup.model.verdict import Verdict
from dedup.plugin.settler import Settler
from dedup.report.text import LostFeed

logger = logging.getLogger(__name__)


def end_torn_line(path: Path, *, has_quotes: bool) -> bool:
    """End the last line of the file at *path*, if it has no end; return whether that was so.

    With *has_quotes*, as in CSV, ends of lines may be in quotes, and what is open is closed.  Raises
    `OSError`.
    """
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("r+b") as file:
        parts = iter(lambda: file.read(1 << 24), b"") if has_quotes else ()
        is_open = sum(part.count(b'"') for part in parts) % 2 == 1
        file.seek(-1, SEEK_END)
        is_torn = file.read() != b"\n" or is_open
        if is_torn:
            file.write(b'"\n' if is_open else b"\n")
    return is_torn


# So many pages that are stored are noted together, where others are in files that are not.
_NOTED_TOGETHER = 100
# They write each item at once, and so do their subclasses; of others nothing is known.
_WRITING_AT_ONCE = tuple(
    getattr(exporters, f"{kind}ItemExporter")
    for kind in ["Csv", "Json", "JsonLines", "Marshal", "Pickle", "Pprint", "Xml"]
)
# Those to whose files others can be appended.
_OF_LINES = (exporters.CsvItemExporter, exporters.JsonLinesItemExporter)


def mark(item: Any, verdict: Verdict) -> str:
    """Write into *item* what it repeats; return why that cannot be, changing nothing, "" where it is."""
    kind = type(item)
    fields = {
        "dedup_reason": str(verdict.reason),
        "dedup_canonical_url": verdict.canonical_url,
        "dedup_content_distance": verdict.content_distance,
        "dedup_structure_distance": verdict.structure_distance,
        "dedup_similarity": verdict.similarity,
        "dedup_lost": verdict.lost,
    }
    try:
        declared = ItemAdapter.get_field_names_from_class(kind)  # None for a dict, which can have any
        missing = [] if declared is None else [field for field in fields if field not in declared]
        if missing:
            named, none = f"{kind.__module__}.{kind.__qualname__}", ", ".join(missing)
            return f"{named} has no field {none}; declare them, or use DEDUP_ACTION = 'drop'"
        ItemAdapter(item).update(fields)
    except Exception as error:  # frozen, validated, or of a type that Scrapy does not know
        return f"{kind.__qualname__} refuses a mark: {error}"
    return ""


class FeedWatch:
    """Gives each scraped item to the feeds of a crawler, and tells *settler* which rows they have lost.

    What a feed writes in its place is with the system before its row is confirmed.  Other feeds hold
    rows until their file is stored.
    """

    def __init__(self, crawler: Crawler, settler: Settler) -> None:
        self._crawler = crawler
        self._settler = settler
        self._exporters: list[FeedExporter] = []
        # Whether what a file takes is in its place as soon as it is written, and whether it was stored.
        self._is_in_place: WeakKeyDictionary[FeedSlot, bool] = WeakKeyDictionary()
        self._is_stored: WeakKeyDictionary[FeedSlot, bool] = WeakKeyDictionary()
        # The rows that are in files to be stored, by those files.
        self._held: dict[frozenset[FeedSlot], array[int]] = {}
        self._stored: array[int] = array("q")
        self._lost: dict[str, LostFeed] = {}
        self._gone: set[int] = set()

    def begin(self) -> None:
        """Take over the feeds, which Scrapy has opened: they get their items and their end from here."""
        assert self._crawler.extensions is not None
        for exporter in self._crawler.extensions.middlewares:
            if not isinstance(exporter, FeedExporter):
                continue
            if self._takes_over(exporter):
                self._exporters.append(exporter)
                self._note_files(exporter)
            else:
                logger.warning(
                    "%s cannot be watched: a page counts as delivered when its item is scraped, even if "
                    "its feed is lost later",
                    type(exporter).__name__,
                )

    def _takes_over(self, exporter: FeedExporter) -> bool:
        """Disconnect *exporter* from the signals of items and of the end; return whether it had both."""
        connections = self._crawler.signals
        receives, closes = exporter.item_scraped, exporter.close_spider
        if iscoroutinefunction(receives):
            return False
        with suppress(KeyError):
            connections.disconnect(receives, signals.item_scraped)
            with suppress(KeyError):
                connections.disconnect(closes, signals.spider_closed)
                return True
            connections.connect(receives, signals.item_scraped)
        return False

    def _note_files(self, exporter: FeedExporter) -> None:
        for slot in exporter.slots:
            if slot in self._is_in_place:
                continue
            self._is_in_place[slot] = _is_in_place(slot)
            slot.storage.store = partial(self._store, slot, slot.storage.store)  # type: ignore[method-assign]
            if self._is_in_place[slot]:
                _end_torn_item(slot)
            elif not self._settler.holds:
                self._settler.hold()

    # What becomes of an item

    def scraped(self, item: Any, rows: Sequence[int]) -> bool:
        """Give *item*, of *rows*, to the feeds; return whether all that want it have taken it.

        If not, *rows* are taken back.  To be called before they are confirmed.
        """
        files: set[FeedSlot] = set()
        found = [self._export(exporter, item, files) for exporter in self._exporters]
        if failed := [name for name in found if name is not None]:
            self._take_back(rows, failed[0], "items could not be written, see above")
        else:
            self._hold(rows, frozenset(files))
        return not failed

    def _export(self, exporter: FeedExporter, item: Any, files: set[FeedSlot]) -> str | None:
        """Give *item* to *exporter*; return the name of a feed that did not take it, None for none.

        Files that hold it until they are stored are added to *files*.
        """
        assert self._crawler.spider is not None
        self._note_files(exporter)  # a batch may have begun with the last item
        before = [(slot, slot.itemcount) for slot in exporter.slots]
        unknown = _name_of(before[0][0]) if len(exporter.feeds) == len(before) == 1 else ""
        try:
            exporter.item_scraped(item, self._crawler.spider)
        except Exception:
            logger.exception("An item could not be written to a feed")
            return unknown
        for slot, count in before:
            if slot.itemcount > count and not self._has_taken(slot, count, files):
                return _name_of(slot)
        return None if len(before) == len(exporter.feeds) else unknown  # one could not be opened

    def _has_taken(self, slot: FeedSlot, count: int, files: set[FeedSlot]) -> bool:
        most = slot.feed_options["batch_item_count"]
        if most and count >= most:  # it was closed when another feed failed, and may be stored already
            return False
        if slot in self._is_stored:
            return self._is_stored[slot]
        if not self._is_in_place[slot]:
            files.add(slot)
            return True
        with suppress(AttributeError, OSError, ValueError):  # of a closed file, or one that has no flush
            assert slot.file is not None
            slot.file.flush()
            return True
        return False

    def _hold(self, rows: Iterable[int], files: frozenset[FeedSlot]) -> None:
        if files:
            self._held.setdefault(files, array("q")).extend(rows)
        elif self._settler.holds:
            self._stored.extend(rows)
            if len(self._stored) >= _NOTED_TOGETHER:
                self._note_stored()

    def _note_stored(self) -> None:
        if self._stored:
            stored, self._stored = self._stored, array("q")
            self._settler.note_stored(stored)

    def _take_back(self, rows: Iterable[int], name: str, reason: str) -> None:
        new = sorted(set(rows) - self._gone)
        self._gone.update(new)
        lost = self._lost.setdefault(name, LostFeed(name, 0, reason))
        self._lost[name] = lost._replace(pages=lost.pages + len(new))
        self._settler.take_back(new)

    # What becomes of a file

    def _store(self, slot: FeedSlot, store: Callable[[Any], Any], file: Any) -> Deferred[Any]:
        """Let the storage of *slot* store its *file*, and note whether it could."""

        def stored(result: Any) -> Any:
            self._settle(slot, is_stored=not isinstance(result, Failure))
            return result

        return maybeDeferred(lambda: deferred_from_coro(store(file))).addBoth(stored)

    def _settle(self, slot: FeedSlot, *, is_stored: bool) -> None:
        self._is_stored[slot] = is_stored
        for files in [files for files in self._held if slot in files]:
            rows = self._held.pop(files)
            if is_stored:
                self._hold(rows, files - {slot})
            else:
                self._take_back(rows, _name_of(slot), "it could not be stored, see above")
        self._note_stored()

    async def close(self) -> list[LostFeed]:
        """Close the feeds, after which the fate of all files is known; return those that lost pages."""
        assert self._crawler.spider is not None
        for exporter in self._exporters:
            try:
                await done(exporter.close_spider(self._crawler.spider))
            except Exception:
                logger.exception("Feeds could not be closed")
        for slot in {slot for files in self._held for slot in files}:
            self._settle(slot, is_stored=False)
        return list(self._lost.values())


async def done(result: Any) -> Any:
    """Return *result*, or what it gives when it is awaited."""
    if isinstance(result, Deferred):
        result = maybe_deferred_to_future(result)
    return await result if isawaitable(result) else result


def _is_in_place(slot: FeedSlot) -> bool:
    storage, exporter = type(slot.storage), slot.exporters.get(slot.format)
    is_own = any(
        storage.open is kind.open and storage.store is kind.store
        for kind in (FileFeedStorage, StdoutFeedStorage)
    )
    is_writing = isinstance(exporter, type) and issubclass(exporter, _WRITING_AT_ONCE)
    return is_own and is_writing and not slot.feed_options.get("postprocessing")


def _end_torn_item(slot: FeedSlot) -> None:
    """End what a kill has left of an item in the file that *slot*, written in place, appends to.

    Otherwise the first item of this crawl would be a part of that line, and no reader would have it.
    """
    exporter, options = slot.exporters[slot.format], slot.feed_options
    appends = getattr(slot.storage, "write_mode", "") == "ab" and issubclass(exporter, _OF_LINES)
    if not appends or re.search("16|32", str(options.get("encoding"))):  # ends of lines of two bytes
        return
    is_csv = issubclass(exporter, exporters.CsvItemExporter)
    has_quotes = is_csv and not options.get("item_export_kwargs")
    with suppress(OSError):  # Scrapy will not be able to write to it either
        if end_torn_line(Path(getattr(slot.storage, "path", "")), has_quotes=has_quotes):
            logger.warning(
                "%s ends within an item, as after a kill: that line is ended, so that the next item "
                "begins another",
                _name_of(slot),
            )


def _name_of(slot: FeedSlot) -> str:
    return re.sub(r"(?<=//)[^/]*@", "", str(slot.uri))
