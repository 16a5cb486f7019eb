"""Items that are marked instead of dropped: the fields of a mark, and which items can have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from itemadapter import ItemAdapter
from scrapy.utils.misc import load_object

from dedup.values.errors import ConfigError, DedupError
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Attributes of a verdict; a field is named after them, behind a prefix.
MARKS = ("reason", "canonical_url", "content_distance", "structure_distance", "similarity", "lost")


class CannotMark(DedupError):  # noqa: N818
    """An item cannot hold the marks."""


class Marker:
    """Writes verdicts into the fields of items whose names begin with ``dedup_``."""

    fields: ClassVar = {f"dedup_{mark}": mark for mark in MARKS}

    def mark(self, item: Any, verdict: Verdict) -> None:
        """Fill the fields of *item*; raises `CannotMark`, and changes nothing, if one is missing."""
        try:
            if missing := self.missing(type(item)):
                raise CannotMark(_explained(type(item), missing))
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
                raise ConfigError(f"DEDUP_ACTION ('mark') fails: {error}") from error
            if missing:
                raise ConfigError(f"DEDUP_ACTION ('mark') fails: {_explained(item_class, missing)}")


def known_item_classes(settings: BaseSettings) -> list[type]:
    """Return the item classes that the feeds of a project name."""
    named: list[Any] = []
    for feed in settings.getdict("FEEDS").values():
        named += feed.get("item_classes") or []
    try:
        return [load_object(name) for name in named]
    except (ImportError, NameError, TypeError, ValueError) as error:
        raise ConfigError(f"item_classes of FEEDS ({named!r}) must be classes: {error}") from error


def _explained(item_class: type, missing: list[str]) -> str:
    name = f"{item_class.__module__}.{item_class.__qualname__}"
    return f"{name} has no field {', '.join(missing)}; declare them, or use DEDUP_ACTION = 'drop'"
