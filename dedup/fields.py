"""Which fields of a record hold its page: the rule that items, feeds and tables share.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The fields that hold a page by custom, looked at in this order where none is named.
HTML_FIELDS = ("html", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """Where a record's page is: as the settings ``DEDUP_HTML_FIELD``, ``_TEXT_FIELDS``, ``_URL_FIELD``.

    Without *html_field* and *text_fields* it is in the first of `HTML_FIELDS` that is not empty,
    or else in all texts and lists of texts but the URL.
    """

    html_field: str = ""
    text_fields: tuple[str, ...] = ()
    url_field: str = "url"

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that a record must have for this rule, none where it takes what there is."""
        return (self.html_field,) if self.html_field else self.text_fields


@dataclass(frozen=True, slots=True)
class Content:
    """What there is to judge: *html*, or else *text*; *encoding* is what was declared for its bytes."""

    html: str | bytes = ""
    text: str = ""
    url: str = ""
    encoding: str | None = None


def content_of(record: Mapping[str, Any], rule: FieldRule) -> Content | None:
    """Return what *rule* finds in *record*, None where that is no text.

    >>> content_of({"url": "http://a/", "body": "<p>sea</p>"}, FieldRule())
    Content(html='<p>sea</p>', text='', url='http://a/', encoding=None)
    """
    url = _url(record.get(rule.url_field))
    if rule.html_field:
        return _html(record.get(rule.html_field), url)
    if rule.text_fields:
        return _text([record.get(name) for name in rule.text_fields], url)
    for name in HTML_FIELDS:
        if found := _html(record.get(name), url):
            return found
    return _text([value for name, value in record.items() if name != rule.url_field], url)


def _url(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _html(value: Any, url: str) -> Content | None:
    return Content(html=value, url=url) if isinstance(value, str | bytes) and value else None


def _text(values: list[Any], url: str) -> Content | None:
    texts = [text for value in values for text in _texts(value)]
    return Content(text="\n".join(texts), url=url) if texts else None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list | tuple):
        return [text for text in value if isinstance(text, str) and text]
    return []
