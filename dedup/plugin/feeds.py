"""What is written: marks into items, and dropped items into a Scrapy feed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import NotConfigured, UsageError
from scrapy.extensions.feedexport import FeedExporter
from scrapy.settings import BaseSettings
from scrapy.utils.conf import feed_process_params_from_cli
from scrapy.utils.misc import load_object
from w3lib.url import file_uri_to_path

from dedup.files.outputs import check_target
from dedup.front.settings import DedupSettings
from dedup.values.errors import ConfigError, DedupError, shown
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

# The fields of a mark, and the attributes of a verdict that fill them.
_ATTRIBUTES = ("reason", "canonical_url", "content_distance", "structure_distance", "similarity", "lost")
MARKS = {f"dedup_{attribute}": attribute for attribute in _ATTRIBUTES}


class DroppedFeed:
    """The feed of dropped items: one of Scrapy's own, at the URI *uri*.

    The ending of *uri* gives its format, as with the option ``-o``.  Raises `ConfigError` for a URI that
    Scrapy cannot write to.
    """

    def __init__(self, crawler: Crawler, uri: str, marker: Marker, index: Path | None) -> None:
        self._marker = marker
        try:
            feeding = _Feeding(crawler)
            ((place, feed),) = feed_process_params_from_cli(feeding.settings, [uri]).items()
            if feed["format"] == "csv":
                raise ValueError("CSV has only the columns of its first item; use .jsonl")
            _spare(place, crawler, index)
            # All items with all their fields, whatever the project sets for its feeds.
            feeding.settings.set(
                "FEEDS", {place: {**feed, "fields": None, "batch_item_count": 0}}, "cmdline"
            )
            self._exporter = FeedExporter(cast("Crawler", feeding))
        except (UsageError, NotConfigured, ValueError, DedupError) as error:
            raise ConfigError(
                f"DEDUP_DROPPED_FEED ({shown(uri)}) must be a file or URI that Scrapy can write a "
                f"feed to: {error or 'its storage or its format is not supported'}"
            ) from error
        crawler.signals.connect(self._open, signals.spider_opened)
        crawler.signals.connect(self._exporter.close_spider, signals.spider_closed)

    def _open(self, spider: Spider) -> None:
        self._exporter.open_spider(spider)

    def write(self, item: Any, verdict: Verdict, spider: Spider) -> None:
        """Write *item* unchanged, with a mark of what it repeats; raises whatever an exporter raises."""
        record = {name: _as_text(value) for name, value in ItemAdapter(item).asdict().items()}
        self._marker.mark(record, verdict)
        self._exporter.item_scraped(record, spider)
        for slot in self._exporter.slots:
            flush(slot)


def _spare(place: str, crawler: Crawler, index: Path | None) -> None:
    """Raise `DedupError` for a file that is the index, a database or a feed of the project."""
    if "://" in place and not place.startswith("file:"):
        return
    feeds = [_path(str(uri)) for uri in crawler.settings.getdict("FEEDS") if "://" not in str(uri)]
    check_target(_path(place), feeds, index)


def _path(place: str) -> Path:
    return Path(file_uri_to_path(place) if place.startswith("file:") else place)


class _Feeding:
    """A crawler without the feeds of its project."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.settings = BaseSettings(crawler.settings)  # a copy would be frozen, too
        self.settings.set("FEEDS", {}, "cmdline")
        self.settings.set("FEED_URI", None, "cmdline")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawler, name)


def _as_text(value: Any) -> Any:
    """Return *value* as an exporter takes it, without bytes, which JSON does not have."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {name: _as_text(part) for name, part in value.items()}
    return [_as_text(part) for part in value] if isinstance(value, list | tuple) else value


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


class CannotMark(DedupError):  # noqa: N818
    """An item cannot hold the marks."""


class Marker:
    """Writes verdicts into *fields* of items, as *setting* asks; errors name *without* as a way out."""

    def __init__(self, fields: Mapping[str, str], setting: str, without: str) -> None:
        self.fields = fields
        self._setting = setting
        self._without = without

    def mark(self, item: Any, verdict: Verdict) -> None:
        """Fill the fields of *item*; raises `CannotMark`, and changes nothing, if one is missing."""
        try:
            if missing := self.missing(type(item)):
                raise CannotMark(self._explained(type(item), missing))
            adapter = ItemAdapter(item)
            for field, attribute in self.fields.items():
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
        return [] if names is None else [field for field in self.fields if field not in names]

    def require(self, item_classes: Iterable[type]) -> None:
        """Raise `ConfigError` if an item of one of the classes could not be marked."""
        for item_class in item_classes:
            try:
                missing = self.missing(item_class)
            except TypeError as error:
                raise ConfigError(f"{self._setting} fails: {error}") from error
            if missing:
                raise ConfigError(f"{self._setting} fails: {self._explained(item_class, missing)}")

    def _explained(self, item_class: type, missing: list[str]) -> str:
        name = f"{item_class.__module__}.{item_class.__qualname__}"
        return f"{name} has no field {', '.join(missing)}; declare them, or use {self._without}"


def marker_of(settings: DedupSettings) -> Marker | None:
    """Return what marks copies as *settings* ask, None where nothing is marked."""
    marks = settings.action == "mark"
    return Marker(MARKS, "DEDUP_ACTION ('mark')", "DEDUP_ACTION = 'drop'") if marks else None


def mark_of_copies() -> Marker:
    """Return what marks the records of dropped items, which may have any field."""
    return Marker(MARKS, "DEDUP_DROPPED_FEED", "none")


def known_item_classes(settings: BaseSettings) -> list[type]:
    """Return the item classes that the feeds of a project name."""
    named: list[Any] = []
    for feed in settings.getdict("FEEDS").values():
        named += feed.get("item_classes") or []
    try:
        return [load_object(name) for name in named]
    except (ImportError, NameError, TypeError, ValueError) as error:
        raise ConfigError(f"item_classes of FEEDS ({named!r}) must be classes: {error}") from error
