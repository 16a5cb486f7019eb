"""A warning about items that are records, not pages: they are kept, and not judged."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from dedup.front.settings import DedupSettings
from dedup.values.printable import printable

logger = logging.getLogger(__name__)

# The usual names of keys; the first that an item has is proposed.
_KEYS = ("id", "sku", "gtin", "isbn", "guid", "uuid", "key", "identifier", "url", "link")
# A text of an article is longer than this, a name or a price is not.
_LONG_TEXT = 200
_MOST_NAMES = 12


class RecordNotice:
    """Warns once that an item without HTML is not judged, and what can be done for articles."""

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._was_given = False

    def note(self, record: Mapping[str, Any]) -> None:
        """Warn about *record*, the first time."""
        if self._was_given:
            return
        self._was_given = True
        logger.warning("%s", advice(record, comes_again=self._settings.config.unchanged == "drop"))


def advice(record: Mapping[str, Any], *, comes_again: bool) -> str:
    """Return the warning about *record*, an item without HTML.

    *comes_again* says that unchanged pages are dropped, which such items are not.

    >>> print(advice({"id": 7, "title": "Sea", "text": "The tide. " * 30}, comes_again=False))
    An item has no HTML (its fields are id, title, text): it is kept and not judged, and so are all \
others like it. Leave records alone: a price or a date makes two of them different. If these are \
articles, judge them with DEDUP_TEXT_FIELDS = ["title", "text"] and DEDUP_KEY_FIELDS = ["id"]
    """
    names = [printable(str(name)) for name in record]
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if names[_MOST_NAMES:] else "")
    again = (
        " DEDUP_UNCHANGED = 'drop' does not apply to them: they come in every crawl."
        if comes_again
        else ""
    )
    return (
        f"An item has no HTML (its fields are {shown}): it is kept and not judged, and so are all "
        f"others like it.{again} Leave records alone: a price or a date makes two of them different. "
        f"If these are articles, judge them with DEDUP_TEXT_FIELDS = {_listed(_text_fields(record))} "
        f"and DEDUP_KEY_FIELDS = {_listed(_key_fields(record))}"
    )


def _text_fields(record: Mapping[str, Any]) -> list[str]:
    texts = {name: value for name, value in record.items() if isinstance(value, str)}
    long = [name for name, value in texts.items() if len(value) > _LONG_TEXT]
    long = long or sorted(texts, key=lambda name: -len(texts[name]))[:1]
    titles = [name for name in ("title", "headline", "name") if name in texts and name not in long]
    return titles[:1] + long or ["title", "text"]


def _key_fields(record: Mapping[str, Any]) -> list[str]:
    keys = [name for name in _KEYS if isinstance(record.get(name), str | int) and record[name] != ""]
    return keys[:1] or ["id"]


def _listed(names: list[str]) -> str:
    return f"[{', '.join(chr(34) + printable(str(name)) + chr(34) for name in names)}]"
