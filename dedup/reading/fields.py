"""Which fields of a record hold its page: one rule for items, feeds and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from dedup.reading.charset import decode
from dedup.reading.own_words import long_texts, plain
from dedup.values.errors import DedupError
from dedup.values.hashes import digest

# The usual fields for HTML, tried in this order where none is named.
HTML_FIELDS = ("html", "body")
URL_FIELD = "url"

_MARKUP = re.compile(r"<[A-Za-z/!?]")
_MARKUP_BYTES = re.compile(rb"<[A-Za-z/!?]")
# What a named field begins with if it holds HTML; text may begin with "<" too, such as "<iostream>".
_FIRST_TAG = re.compile(
    r"\ufeff?\s*<(?:!doctype|!--|\?xml|html|head|body|title|meta|link|script|style|div|main|article|section|"
    r"header|nav|p|h[1-6]|ul|ol|dl|table|tr|td|figure|blockquote|pre|span|a|b|i|em|strong|br|img)\b",
    re.IGNORECASE,
)
_FIRST_TAG_BYTES = re.compile(rb"(?:\xef\xbb\xbf)?" + _FIRST_TAG.pattern[7:].encode(), re.IGNORECASE)
# What a whole page has, and a part of one, such as the text of a post, has not: there a title may be
# that of a drawing, and a product has elements of the head, as `<meta itemprop="price">`.
_PAGE = re.compile(
    r"<(?:!doctype|html|head|body)\b|\A\s*<(?:title\b|meta\s+(?:charset|http-equiv|name)\b)",
    re.IGNORECASE,
)
_PAGE_BYTES = re.compile(_PAGE.pattern.encode(), re.IGNORECASE)
# Of a longer key the beginning and a digest are kept.
_MAX_KEY = 500
_MAX_VALUE, _MAX_UNJUDGED = 60, 2000
# A value may contain itself.
_DEEPEST = 50


class NoHtml(DedupError):  # noqa: N818 - it says what is the matter
    """A *record* that is no page: no field holds that of a whole one, and no field was named."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__("it has no whole page in a field `html` or `body`")
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        # To another process go the names of its fields only.
        return type(self), (dict.fromkeys(map(str, self.record)),)


# Made once: `json.dumps` makes another one each time, which takes longer than a short key.
_written = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """Which fields hold a page: the settings ``DEDUP_TEXT_FIELDS`` and ``DEDUP_KEY_FIELDS``.

    *text_fields* hold text or HTML; without any it is the first of `HTML_FIELDS` that is not empty and,
    for ``body``, has markup in it.  *key_fields* tell records apart.
    """

    text_fields: tuple[str, ...] = ()
    key_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawPage:
    """The page in a record, before it is read: *html*, or else *text*.

    *beside* are the long texts of other fields than that of its HTML, where no field was named.
    *encoding* is the one declared for its bytes, *item_key* the `item_key` of the record, "" for none.
    *seen_on* is the folder that the page is a file of, None where its site is the host of its URL.
    *unjudged* is what the other fields hold, see `unjudged_of`.
    """

    html: str | bytes = ""
    text: str = ""
    url: str = ""
    encoding: str | None = None
    item_key: str = ""
    seen_on: str | None = None
    beside: tuple[str, ...] = ()
    unjudged: str = ""

    @property
    def markup(self) -> str:
        """The HTML, decoded, "" for none."""
        return self.html if isinstance(self.html, str) else decode(self.html, self.encoding)


def raw_page_of(record: Mapping[str, Any], rule: FieldRule) -> RawPage | None:
    """Return the page in *record* by *rule*, None where its fields are empty.

    Raises `NoHtml` where no field is named and the record has none with HTML, or has only a part of a
    page beside other fields: posts that say the same are not one if their authors differ.

    >>> raw = raw_page_of({"url": "http://a/", "body": "<p>sea</p>"}, FieldRule())
    >>> raw.html, raw.url, raw.beside
    ('<p>sea</p>', 'http://a/', ())
    """
    url, key = single(record.get(URL_FIELD)), item_key(record, rule.key_fields)
    url = url if isinstance(url, str) else ""
    if rule.text_fields:
        raw = _named([record.get(name) for name in rule.text_fields])
        unjudged = unjudged_of(record, (*rule.text_fields, URL_FIELD))
        return raw and replace(raw, url=url, item_key=key, unjudged=unjudged)
    values = {name: single(record.get(name)) for name in HTML_FIELDS}
    names = [name for name in HTML_FIELDS if _is_html(name, values[name])]
    if not names:
        raise NoHtml(record)
    name = next((name for name in names if values[name]), "")
    if not name:
        return None
    raw = RawPage(html=values[name], url=url, item_key=key)
    if not (rule.key_fields or _is_page(raw.html) or _is_alone(record, (name, URL_FIELD))):
        raise NoHtml(record)
    beside = long_texts(record, (name, URL_FIELD, *rule.key_fields))
    unjudged = unjudged_of(record, (name, URL_FIELD))
    return replace(raw, beside=beside, unjudged=unjudged) if beside or unjudged else raw


def _named(values: Sequence[Any]) -> RawPage | None:
    """Return the page of the *values* of named fields: HTML if a text among them begins with a tag.

    >>> _named(["Sea & tide", "<p>low"])
    RawPage(html='<p>low\\n<p>Sea &amp; tide</p>', text='', url='', encoding=None, item_key='', \
seen_on=None, beside=(), unjudged='')
    """
    texts: list[str | bytes] = []
    for value in values:
        only = single(value)
        texts += [only] if isinstance(only, bytes) and _FIRST_TAG_BYTES.match(only) else texts_of(value)
    html = [one for one in texts if isinstance(one, bytes) or _FIRST_TAG.match(one)]
    if html and len(texts) == 1:
        return RawPage(html=html[0])
    markup = [one if isinstance(one, str) else decode(one) for one in html]
    plain_texts = [one for one in texts if isinstance(one, str) and one not in html]
    if not html:
        return RawPage(text="\n".join(plain_texts)) if plain_texts else None
    return RawPage(html="\n".join((*markup, *(f"<p>{escape(text)}</p>" for text in plain_texts))))


def single(value: Any) -> Any:
    """Return *value*, or the one text in it: an `ItemLoader` makes a list of each field."""
    value = plain(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 1:
        return value
    only = plain(value[0])
    return only if isinstance(only, str | bytes) else value


def item_key(record: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return what the fields *names* of *record* hold, as JSON, "" where all are missing or empty.

    >>> item_key({"sku": 7, "name": "tea"}, ("sku", "size"))
    '["7",null]'
    """
    values = [_comparable(record.get(name)) for name in names]
    if all(value in (None, "", [], {}) for value in values):
        return ""
    return _bounded(_written(values), _MAX_KEY)


def unjudged_of(record: Mapping[str, Any], judged: Collection[str]) -> str:
    """Return what the fields of *record* hold that are not *judged*, as JSON by name, "" for nothing.

    Of long values the beginning and a digest are kept, so that different ones stay different.

    >>> unjudged_of({"text": "Tea, green", "price": 85.0, "old": None}, ["text"])
    '{"price":"85.0"}'
    """
    values = {name: _comparable(record[name]) for name in record if name not in judged}
    # An `ItemLoader` makes a list of each field.
    values |= {name: one[0] for name, one in values.items() if isinstance(one, list) and len(one) == 1}
    held = {
        name: _bounded(value if isinstance(value, str) else _written(value), _MAX_VALUE)
        for name, value in values.items()
        if value not in (None, "", [], {})
    }
    text = _written(held) if held else ""
    return text if len(text) <= _MAX_UNJUDGED else _written({"fields": digest(text.encode()).hex()})


def texts_of(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in a field, whatever its type, always in the same order.

    Numbers, dates and truth values are written as Python writes them.  Lists and items give each part,
    mappings their sorted keys, each before its value; None and empty texts give nothing.

    >>> list(texts_of(["tea", 7, {"to": None, "from": {"city": "Bath"}}]))
    ['tea', '7', 'from', 'city', 'Bath']
    """
    if value is None or depth > _DEEPEST:
        return
    value = plain(value)
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")
        if text:
            yield text
        return
    parts = parts_of(value)
    if isinstance(parts, dict):
        for name, part in parts.items():
            texts = list(texts_of(part, depth + 1))
            yield from [name, *texts] if texts else ()
        return
    if parts is None:
        yield str(value)
        return
    for part in parts:
        yield from texts_of(part, depth + 1)


def _bounded(text: str, most: int) -> str:
    """Return the beginning and a digest of a longer *text* than *most* characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]}~{digest(text.encode('utf-8', 'surrogatepass')).hex()}"


def _comparable(value: Any, depth: int = 0) -> Any:
    """Return *value* as a value for JSON, a different one for each different value; NaN is no value."""
    value = plain(value)
    if value is None or isinstance(value, str) or depth > _DEEPEST:
        return None if depth > _DEEPEST else value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    parts = parts_of(value)
    if isinstance(parts, dict):
        return {name: _comparable(part, depth + 1) for name, part in parts.items()}
    if parts is None:
        return None if (text := str(value)).lower() == "nan" else text
    return [_comparable(part, depth + 1) for part in parts]


def parts_of(value: Any) -> dict[str, Any] | list[Any] | None:
    """Return the parts of *value*, which is no text, by name or in order, None where it has none."""
    if isinstance(value, Mapping):
        return {str(name): value[name] for name in sorted(value, key=str)}
    if isinstance(value, Sequence):
        return list(value)
    if isinstance(value, Set):
        return sorted(value, key=str)
    from itemadapter import ItemAdapter  # imports Scrapy, which takes longer than most commands

    if ItemAdapter.is_item(value):
        adapter = ItemAdapter(value)
        return {name: adapter[name] for name in sorted(adapter)}
    return None


def _is_html(name: str, value: Any) -> bool:
    """Whether the field *name* is one for HTML: a `body` that has text and no markup is not."""
    if not isinstance(value, str | bytes):
        return False
    if name != "body" or not value:
        return True
    return bool(_MARKUP.search(value) if isinstance(value, str) else _MARKUP_BYTES.search(value))


def _is_page(html: str | bytes) -> bool:
    return bool(_PAGE.search(html) if isinstance(html, str) else _PAGE_BYTES.search(html))


def _is_alone(record: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether *record* says nothing in other fields than *names*."""
    return all(name in names or value in (None, "", [], {}) for name, value in record.items())
