"""Items with marks: what they repeat, the fields of that, and which items can have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.utils.misc import load_object

from dedup.front.settings import DedupSettings
from dedup.values.errors import ConfigError, DedupError
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# The fields of a mark, and the attributes of a verdict that fill them.
_ATTRIBUTES = ("reason", "canonical_url", "content_distance", "structure_distance", "similarity", "lost")
MARKS = {f"dedup_{attribute}": attribute for attribute in _ATTRIBUTES}


class CannotMark(DedupError):  # noqa: N818
    """An item cannot hold the marks."""


class Marker:
    """Writes verdicts into the *fields* of items, which *setting* asks for; without it nothing does."""

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
        """Return the fields that *item_class* does not have; a dict may have all.

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
