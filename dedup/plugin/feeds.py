"""Feeds: marks in items, and which feeds have stored which pages.

What was kept, but is in no file, is taken back.  Scrapy's signals do not tell when a feed fails, so the
parts of `FeedExporter` that an item goes through are watched: the filter of a feed, the count of its
items, the end of its file, and its storage.
"""

from __future__ import annotations

import asyncio
import logging
import re
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from inspect import isawaitable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import exporters
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, StdoutFeedStorage
from twisted.internet.defer import Deferred

from dedup.files.torn import end_torn_line
from dedup.front.summary import LostFeed
from dedup.plugin.waiting import Waiter
from dedup.values.errors import DedupError
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from dedup.plugin.judge import Judge

# The fields of a mark, and the attributes of a verdict that fill them.
_ATTRIBUTES = ("reason", "canonical_url", "content_distance", "structure_distance", "similarity", "lost")
MARKS = {f"dedup_{attribute}": attribute for attribute in _ATTRIBUTES}


def flush(slot: Any) -> bool:
    """Pass what Scrapy's feed *slot* has written to the operating system; return whether that is done.

    To be called before a page is confirmed: otherwise a killed crawl would leave pages in the index
    that are in no feed.
    """
    try:
        slot.file.flush()
    except (AttributeError, OSError, ValueError):  # of a closed file, or of one that has no flush
        return False
    return True


def _end_torn_item(slot: Any) -> None:
    """End what a kill has left of an item in the file that *slot* appends to, and tell it.

    Otherwise the first item of this crawl would be a part of that line, and no reader would have it.
    """
    exporter = slot.exporters.get(slot.format)
    has_lines = isinstance(exporter, type) and issubclass(exporter, _OF_LINES)
    if not (has_lines and _is_in_place(slot) and getattr(slot.storage, "write_mode", "") == "ab"):
        return
    options = slot.feed_options
    is_csv = issubclass(exporter, exporters.CsvItemExporter)
    try:
        told = end_torn_line(
            Path(slot.storage.path),
            encoding=options.get("encoding") or "utf-8",
            is_json=not is_csv,
            has_quotes=is_csv and not options.get("item_export_kwargs"),
        )
    except OSError as error:  # Scrapy will not be able to write to it either
        told = f"it cannot be looked at ({error})"
    if told:
        logger.warning("%s ends within an item, as after a kill: %s", _without_password(slot.uri), told)


class CannotMark(DedupError):  # noqa: N818
    """An item cannot hold the marks."""


class Marker:
    """Writes verdicts into the fields `MARKS` of items, as *setting* asks.

    Errors name *without* as a way out.
    """

    def __init__(self, setting: str, without: str) -> None:
        self._setting = setting
        self._without = without

    def mark(self, item: Any, verdict: Verdict) -> None:
        """Fill the fields of *item*; raises `CannotMark`, and changes nothing, if one is missing."""
        try:
            if missing := self.missing(type(item)):
                raise CannotMark(self._explained(type(item), missing))
            adapter = ItemAdapter(item)
            for field, attribute in MARKS.items():
                value = getattr(verdict, attribute)
                adapter[field] = str(value) if attribute == "reason" else value
        except CannotMark:
            raise
        except Exception as error:  # frozen, validated, or of a type that Scrapy does not know
            raise CannotMark(f"{type(item).__qualname__} refuses a mark: {error}") from error

    def missing(self, item_class: type) -> list[str]:
        """Return the fields that *item_class* does not have; a dict can have any.

        Raises TypeError for what is no item class.
        """
        names = ItemAdapter.get_field_names_from_class(item_class)
        return [] if names is None else [field for field in MARKS if field not in names]

    def _explained(self, item_class: type, missing: list[str]) -> str:
        name = f"{item_class.__module__}.{item_class.__qualname__}"
        return f"{name} has no field {', '.join(missing)}; declare them, or use {self._without}"


logger = logging.getLogger(__name__)

# Seconds that a file has, when the spider is closed, until its storage is asked to store it.  How long
# the storage then takes is its own affair: Scrapy waits for it, too.
_LONGEST_CLOSING = 10.0
_LONGEST_STORING = 60.0
# So many pages that are stored are noted together, where others are in files that are not.
_NOTED_TOGETHER = 100

# They write each item at once, and so do their subclasses; of others nothing is known.
_WRITING_AT_ONCE = (
    exporters.CsvItemExporter,
    exporters.JsonItemExporter,
    exporters.JsonLinesItemExporter,
    exporters.MarshalItemExporter,
    exporters.PickleItemExporter,
    exporters.PprintItemExporter,
    exporters.XmlItemExporter,
)
# Those to whose files others can be appended.
_OF_LINES = (exporters.CsvItemExporter, exporters.JsonLinesItemExporter)


class _State(Enum):
    OPEN = "items are written to it"
    CLOSED = "no more items are written to it"
    STORED = "it is where it is to be"
    FAILED = "it is not"


@dataclass(slots=True, eq=False)
class _File:
    """A file of a feed, *slot* of Scrapy.

    If it *is_held*, its items are in their place only when it is stored, else when they are written.
    """

    slot: Any
    is_held: bool
    state: _State = _State.OPEN
    is_storing: bool = False

    @property
    def is_settled(self) -> bool:
        return self.state in (_State.STORED, _State.FAILED)

    @property
    def is_awaited(self) -> bool:
        return self.is_held and not self.is_settled

    def has_taken(self, count: int) -> bool:
        """Whether it has an item more than *count*, and the items of a file in place are written."""
        if self.slot.itemcount <= count or self.state is _State.FAILED:
            return False
        return self.is_held or self.state is _State.STORED or flush(self.slot)

    @property
    def name(self) -> str:
        """Its URI, without a password."""
        return _without_password(self.slot.uri)


@dataclass(slots=True, eq=False)
class _Passage:
    """The way of one *item* through the feeds; *rows* is None until the item is known to be scraped.

    *asked* counts the feeds that it was offered to, *offers* are the files of those that wanted it, with
    how many items they had before.
    """

    item: Any
    rows: Sequence[int] | None = None
    asked: int = 0
    offers: list[tuple[_File, int]] = field(default_factory=list)
    culprit: _File | None = None
    is_broken: bool = False


class FeedWatch:
    """Watches the feeds of a crawler, and tells *book* which rows they have lost."""

    def __init__(self, crawler: Crawler, book: Judge) -> None:
        self._crawler = crawler
        self._book = book
        self._exporters: list[FeedExporter] = []
        self._feeds = 0
        self._passage: _Passage | None = None
        # The rows that are in files to be stored, by those files.
        self._held: dict[frozenset[_File], array[int]] = {}
        self._is_holding = False
        self._stored: array[int] = array("q")
        self._waiter: Waiter | None = None
        self._lost: dict[str, LostFeed] = {}
        self._gone: set[int] = set()

    @property
    def lost(self) -> list[LostFeed]:
        """The feeds that have lost pages, and why."""
        return list(self._lost.values())

    def begin(self) -> None:
        """Watch the feeds, which Scrapy opens after this."""
        assert self._crawler.extensions is not None
        extensions = self._crawler.extensions.middlewares
        self._exporters = [one for one in extensions if isinstance(one, FeedExporter)]
        self._feeds = sum(len(exporter.feeds) for exporter in self._exporters)
        for exporter in self._exporters:
            try:
                self._watch(exporter)
            except Exception as error:  # another Scrapy than those known here
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Believe all feeds from now on, as their items are scraped."""
        self._feeds = 0
        logger.warning(
            "Feeds cannot be watched (%s: %s): a page counts as delivered when its item is scraped, "
            "even if its feed is lost later",
            *(type(error).__name__, error),
        )

    def _watch(self, exporter: Any) -> None:
        begin: Callable[..., Any] = exporter._start_new_batch

        def begun(*arguments: Any, **choices: Any) -> Any:
            slot = begin(*arguments, **choices)
            try:
                self._open(slot)
            except Exception as error:  # a storage or a slot that takes no other function
                self._give_up(error)
            return slot

        exporter._start_new_batch = begun

    def _open(self, slot: Any) -> None:
        file = _File(slot, is_held=not _is_in_place(slot))
        store, finish = slot.storage.store, slot.finish_exporting

        def finished() -> None:
            file.state = _State.CLOSED
            try:
                finish()
            except BaseException as error:
                self._failed(file, error)
                raise

        def stored(content: Any) -> Any:
            file.state, file.is_storing = _State.CLOSED, True
            return self._awaited(file, store, content)

        slot.storage.store = stored
        slot.finish_exporting = finished
        slot.filter = _Filter(slot.filter, self, file)
        if file.is_held and not self._is_holding:
            self._is_holding = True
            self._book.hold()
        _end_torn_item(slot)
        if _is_overwriting(slot) and self._book.begin_anew():
            logger.warning(
                "%s is overwritten, but this job goes on: what it had is delivered again, if it is met "
                "again. Append to it (-o instead of -O), or begin another job",
                file.name,
            )

    # What becomes of a file

    def _awaited(self, file: _File, store: Callable[[Any], Any], content: Any) -> Any:
        """Store the *content* of *file*; return what *store* returns, or something equal."""
        try:
            result = store(content)
        except BaseException as error:
            self._failed(file, error)
            raise
        if isinstance(result, Deferred):
            return result.addCallbacks(self._is_stored, self._has_failed, (file,), {}, (file,), {})
        if asyncio.isfuture(result):
            result.add_done_callback(lambda done: self._is_done(file, done))
            return result
        if isawaitable(result):
            return self._after(file, result)
        self._settled(file, _State.STORED)
        return result

    async def _after(self, file: _File, result: Awaitable[Any]) -> Any:
        try:
            found = await result
        except BaseException as error:
            self._failed(file, error)
            raise
        self._settled(file, _State.STORED)
        return found

    def _is_stored(self, result: Any, file: _File) -> Any:
        self._settled(file, _State.STORED)
        return result

    def _has_failed(self, failure: Any, file: _File) -> Any:
        self._failed(file, failure.value)
        return failure

    def _is_done(self, file: _File, done: asyncio.Future[Any]) -> None:
        error = None if done.cancelled() else done.exception()
        if done.cancelled() or error:
            self._failed(file, error or asyncio.CancelledError())
        else:
            self._settled(file, _State.STORED)

    def _failed(self, file: _File, error: BaseException | str) -> None:
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._settled(file, _State.FAILED, reason)

    def _settled(self, file: _File, state: _State, reason: str = "") -> None:
        file.state, file.is_storing = state, False
        for files in [files for files in self._held if file in files]:
            rows = self._held.pop(files)
            if state is _State.FAILED:
                self._take_back(rows, file, reason)
            else:
                self._hold(rows, files - {file})
        self._note_stored()
        if self._waiter:
            self._waiter.call()

    # What becomes of an item

    def accepts(self, file: _File, item: Any, accept: Callable[[Any], bool]) -> bool:
        """Return whether the feed of *file* wants *item*, which comes to it now."""
        passage = self._coming(item)
        passage.asked += 1
        passage.is_broken = True  # until the filter has answered
        is_wanted = accept(item)
        passage.is_broken = False
        if is_wanted:
            passage.offers.append((file, file.slot.itemcount))
            if file.state is not _State.OPEN:
                passage.culprit = file
        return is_wanted

    def _coming(self, item: Any) -> _Passage:
        passage = self._passage
        if passage and passage.item is item and passage.asked < self._feeds:
            return passage
        self._end_passage()
        self._passage = _Passage(item)
        return self._passage

    def scraped(self, item: Any, rows: Sequence[int]) -> bool:
        """Return whether *item*, of *rows*, came to all feeds that want it; if not, they are taken back.

        To be called before the rows are confirmed.  Where feeds get the item only afterwards, the
        answer is True, and the rows are taken back later.
        """
        if not self._feeds:
            for exporter in self._exporters:
                for slot in exporter.slots:
                    flush(slot)
            return True
        passage = self._passage
        if passage and passage.item is item and passage.rows is None:
            passage.rows = rows
            return self._end_passage()
        self._end_passage()
        self._passage = _Passage(item, rows)
        return True

    def _end_passage(self) -> bool:
        passage, self._passage = self._passage, None
        if passage is None or not passage.rows:
            return True
        for file, count in passage.offers:
            if not file.has_taken(count):
                passage.culprit = passage.culprit or file
        if passage.culprit or self._has_missed(passage):
            self._take_back(passage.rows, passage.culprit, "items could not be written, see above")
            return False
        self._hold(passage.rows, frozenset(file for file, _ in passage.offers if file.is_awaited))
        return True

    def _has_missed(self, passage: _Passage) -> bool:
        """Whether a feed was not even asked: another one failed before, or it could not be opened."""
        if passage.asked:
            return passage.is_broken or passage.asked < self._feeds
        return any(len(exporter.slots) < len(exporter.feeds) for exporter in self._exporters)

    def _hold(self, rows: Iterable[int], files: frozenset[_File]) -> None:
        if files:
            self._held.setdefault(files, array("q")).extend(rows)
        elif self._is_holding:
            self._stored.extend(rows)
            if len(self._stored) >= _NOTED_TOGETHER:
                self._note_stored()

    def _note_stored(self) -> None:
        if self._stored:
            stored, self._stored = self._stored, array("q")
            self._book.note_stored(stored)

    def _take_back(self, rows: Iterable[int], file: _File | None, reason: str) -> None:
        new = sorted(set(rows) - self._gone)
        self._gone.update(new)
        name = file.name if file else ""
        lost = self._lost.setdefault(name, LostFeed(name, 0, reason))
        self._lost[name] = lost._replace(pages=lost.pages + len(new))
        self._book.take_back(new)

    # The end

    def closing(self) -> Awaitable[None] | None:
        """Return what to await until the fate of all files is known, None if it is."""
        self._end_passage()
        return self._wait() if self._held else None

    async def _wait(self) -> None:
        latest = monotonic() + _LONGEST_CLOSING
        while self._held:
            is_storing = any(file.is_storing for files in self._held for file in files)
            seconds = _LONGEST_STORING if is_storing else latest - monotonic()
            if seconds <= 0:
                break
            self._waiter = Waiter()
            await self._waiter.wait(seconds)
        for file in {file for files in self._held for file in files}:
            self._failed(file, "it was not stored")


class _Filter:
    """The filter of the feed of *file*; tells *watch* of every item."""

    def __init__(self, own: Any, watch: FeedWatch, file: _File) -> None:
        self._own = own
        self._watch = watch
        self._file = file

    def accepts(self, item: Any) -> bool:
        return self._watch.accepts(self._file, item, self._own.accepts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def _is_in_place(slot: Any) -> bool:
    """Return whether what the feed *slot* takes is where it is to be as soon as it is written."""
    storage, exporter = type(slot.storage), slot.exporters.get(slot.format)
    is_own = any(
        storage.open is kind.open and storage.store is kind.store
        for kind in (FileFeedStorage, StdoutFeedStorage)
    )
    is_writing = isinstance(exporter, type) and issubclass(exporter, _WRITING_AT_ONCE)
    return is_own and is_writing and not slot.feed_options.get("postprocessing")


def _is_overwriting(slot: Any) -> bool:
    """Return whether *slot* takes the place of a file that has something in it."""
    path, mode = getattr(slot.storage, "path", ""), getattr(slot.storage, "write_mode", "")
    try:
        return mode == "wb" and Path(path).stat().st_size > 0
    except OSError:
        return False


def _without_password(uri: str) -> str:
    return re.sub(r"(?<=//)[^/]*@", "", str(uri))
