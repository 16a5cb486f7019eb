"""Warnings about items that cannot be judged as the settings say: they are kept, but not in silence."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, Response

from dedup.front.settings import DedupSettings
from dedup.reading.fields import single, texts_of
from dedup.reading.own_words import long_texts, plain_text
from dedup.reading.page import Page
from dedup.values.hashes import murmur3
from dedup.values.printable import printable

logger = logging.getLogger(__name__)

_MOST_NAMES = 12
# That so many items all have keys of their own is no coincidence; `_MOST_KEYS` are remembered at most.
MIN_KEYS = 20
_MOST_KEYS = 10_000

_NO_HTML = "the items hold no whole pages, and no fields were named (DEDUP_TEXT_FIELDS)"
_EXEMPT = "all requests are exempt (meta dedup=False)"
_NOT_ASKED = "dedup_page_from_item gave no pages"
_FAILED = "all items failed to be read, see above"
_EMPTY = "there is nothing in the pages"


class RecordNotice:
    """Warns, once each, of items that are records and of named fields that no item has.

    At the end of a crawl come the warnings of `closing`, and the `reason` why nothing was judged.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._reasons: Counter[str] = Counter()
        self._was_given = False
        # The fields that each setting names, and those of them that no item has had so far.
        self._named = _named(settings)
        self._never_found = dict.fromkeys(name for names in self._named.values() for name in names)
        self._has_missed: set[str] = set()
        self._keys: set[int] | None = set() if settings.key_fields else None
        self._items = 0

    def note(self, record: Mapping[str, Any], response: Response | None) -> None:
        """Warn about *record*, an item of *response* that holds no page, the first time."""
        self._reasons[_NO_HTML] += 1
        if self._was_given:
            return
        self._was_given = True
        drops_unchanged = self._settings.config.unchanged == "drop"
        of_page = isinstance(response, HtmlResponse)
        logger.warning("%s", advice(record, comes_again=drops_unchanged, of_page=of_page))

    def seen(self, item: Any, page: Page | None, before: str) -> None:
        """Note which of the named fields *item* has; *before* names the pipelines before ours."""
        self._items += 1
        if page is None and not self._settings.text_fields:
            self._reasons[_NOT_ASKED] += 1
        if (self._never_found or page is None) and ItemAdapter.is_item(item):
            self._look(ItemAdapter(item), before)
        if self._keys is not None and page is not None:
            self._note_key(page.item_key)

    def unjudged(self, *, is_exempt: bool) -> None:
        """Note an item that is exempt, or that could not be read."""
        self._reasons[_EXEMPT if is_exempt else _FAILED] += 1

    def _look(self, record: Mapping[str, Any], before: str) -> None:
        for setting, names in self._named.items():
            found = [name for name in names if any(texts_of(record.get(name)))]
            for name in found:
                self._never_found.pop(name, None)
            if found:
                continue
            if setting == _JUDGED:
                self._reasons[f"no item has a field that {setting} names"] += 1
            if setting not in self._has_missed:
                self._has_missed.add(setting)
                logger.warning("%s", missing(record, setting, names, before))

    def _note_key(self, key: str) -> None:
        assert self._keys is not None
        number = murmur3(key)
        if not key or number in self._keys:
            self._keys = None  # not unique: nothing is to be said
        elif len(self._keys) < _MOST_KEYS:
            self._keys.add(number)

    def reason(self) -> str:
        """Return why nothing was judged, if that is so."""
        return self._reasons.most_common(1)[0][0] if self._reasons else _EMPTY

    def closing(self) -> list[str]:
        """Return the warnings about named fields, now that all items were seen."""
        said = []
        if self._keys is not None and len(self._keys) >= MIN_KEYS:
            keys = ", ".join(map(printable, self._settings.key_fields))
            said.append(
                f"DEDUP_KEY_FIELDS ({keys}) was different in each of {self._items:,} items: items with "
                "different keys are never compared, so no copy could be found in this crawl. That is "
                "right for records, which the key tells apart; for articles leave the setting out"
            )
        for setting, names in self._named.items():
            never = [name for name in names if name in self._never_found]
            if never and self._items and setting not in self._has_missed:
                said.append(f"{setting} names {_listed(never)}, which no item had")
        return said


_JUDGED = "DEDUP_TEXT_FIELDS"


def _named(settings: DedupSettings) -> dict[str, tuple[str, ...]]:
    """Return the fields that the settings name, by setting."""
    named = {
        _JUDGED: () if settings.source == "response" else settings.text_fields,
        "DEDUP_KEY_FIELDS": settings.key_fields,
    }
    return {setting: names for setting, names in named.items() if names}


def missing(record: Mapping[str, Any], setting: str, names: tuple[str, ...], before: str) -> str:
    """Return the warning that *record* has nothing in the fields *names* of a *setting*.

    >>> print(missing({"title": "Sea"}, "DEDUP_TEXT_FIELDS", ("txet",), ", after Cleaning"))
    An item has nothing in the fields that DEDUP_TEXT_FIELDS names, ["txet"]: it is kept and not \
judged, and so are all others like it. Its fields are title, after Cleaning; is a name misspelt, or \
does a pipeline before ours empty the field?
    """
    is_key = setting == "DEDUP_KEY_FIELDS"
    fate = "nothing tells it from items with a like text" if is_key else "it is kept and not judged"
    way_out = "is a name misspelt, or does a pipeline before ours empty the field?"
    return (
        f"An item has nothing in the fields that {setting} names, {_listed(names)}: {fate}, and so are "
        f"all others like it. Its fields are {_shown(record)}{before}; {way_out}"
    )


def advice(record: Mapping[str, Any], *, comes_again: bool, of_page: bool = False) -> str:
    """Return the warning about *record*, an item that holds no page.

    *comes_again* says that unchanged pages are dropped, though such items are not; *of_page* says that
    it was made from an HTML response.  No field is proposed as a key: a key that is different in every
    item would switch deduplication off, and one item does not tell whether it is.

    >>> print(advice({"id": 7, "title": "Sea", "text": "The tide. " * 30}, comes_again=False))
    An item holds no whole page (its fields are id, title, text): it is kept and not judged, and so are \
all others like it. Leave records alone: a price or a date makes two of them different. If these are \
articles, judge them with DEDUP_TEXT_FIELDS = ["title", "text"]
    """
    every = " DEDUP_UNCHANGED = 'drop' does not apply to them: they come in every crawl."
    again = every if comes_again else ""
    record = {name: single(value) for name, value in record.items()}
    return (
        f"An item holds no whole page (its fields are {_shown(record)}): it is kept and not judged, and "
        f"so are all others like it.{again} Leave records alone: a price or a date makes two of them "
        f"different. {_way_out(record, of_page=of_page)}"
    )


def _way_out(record: Mapping[str, Any], *, of_page: bool) -> str:
    fields = _text_fields(record)
    named = _listed(fields) if fields else "the names of the fields with their text"
    articles = f"f these are articles, judge them with DEDUP_TEXT_FIELDS = {named}"
    whole = 'If each page gives one item, judge its response with DEDUP_SOURCE = "response"'
    return f"{whole}; i{articles}" if of_page else f"I{articles}"


def _text_fields(record: Mapping[str, Any]) -> list[str]:
    """Return the fields of *record* with its title and texts, none if no field has two words."""
    long = [name for name, value in record.items() if long_texts({name: value})]
    texts = {name: text for name, value in record.items() if (text := _text(value))}
    titles = [name for name in ("title", "headline", "name") if name in texts and name not in long][:1]
    words = {name: len(plain_text(texts[name]).split()) for name in texts if name not in titles}
    most = max(words.values(), default=0)
    long = long or [name for name in words if words[name] == most > 1][:1]
    return titles + long if long else []


def _text(value: Any) -> str:
    """Return the text that *value*, a string or a list of strings, is; "" where it is none."""
    lines = value if isinstance(value, list | tuple) else [value]
    return "\n".join(lines) if all(isinstance(line, str) for line in lines) else ""


def _shown(record: Mapping[str, Any]) -> str:
    names = [printable(str(name)) for name in record]
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if names[_MOST_NAMES:] else "")


def _listed(names: Any) -> str:
    return f"[{', '.join(chr(34) + printable(str(name)) + chr(34) for name in names)}]"
