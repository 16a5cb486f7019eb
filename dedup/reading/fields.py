"""Words that a record says beside its HTML: those of its long texts that are nowhere in the markup.

Only words of a language count.  Numbers, times, addresses, ids and encoded bytes are none: they differ
from one visit to the next and say nothing.
"""

from __future__ import annotations

import json
import re
from collections import UserString
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape, unescape
from itertools import chain, groupby
from typing import Any

from dedup.model.errors import DedupError
from dedup.model.hashes import digest
from dedup.reading.markup import decode
from dedup.reading.tokens import MARKS, POINTS, UNSPACED, normalized

LONG_TEXT = 20  # a shorter text is a name, a title, a price or a date
# Strings of a list are the paragraphs or lines of one text if they are as long as this on average;
# titles of other pages are shorter.
MEAN_LINE = 12
# A list of so many words is a text whatever its lines are: a transcript, a poem, all comments.
LONG_LIST = 300
_NGRAM = 2  # of scripts without spaces a word is a run of so many characters
_DEEPEST_PART = 8  # what nests deeper is no text of an item
_NUMBERS = frozenset([int, float, bool, type(None)])
# What is between words, in bytes.  What touches a digit, or another sign of ASCII, is no word, but a
# part of an address, a time, an id or encoded bytes.
_BETWEEN = bytes(
    32 if code < 32 or chr(code) in "<>\"={}[]|!,;:()*`'-" else code for code in range(256)
).lower()
_SIGNS = re.compile(
    "[\u00a0-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u3030]"
)
_RUN = re.compile(rf"[{UNSPACED}]++|(?:[^\W\d_{UNSPACED}]|[{MARKS}{POINTS}])++")
_SPOKEN = re.compile(rf"(?:[^\W\d_]|[{MARKS}{POINTS}])++")
_ODD = re.compile(r"[\w/%#&@+\\]")
_LONGEST_WORD = 40
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_TAG = re.compile(r"<[^<>]*+>")
# Its words, between hyphens, are those of a title, or of nothing.
_ADDRESS = re.compile(r"(?<![\w+.-])\w[\w+.-]*+://\S*+|(?<!\S)/\S*+")
_MARKUP = re.compile(r"<[A-Za-z/!?]")
# Strings in scripts: characters by number, and those that separate words, also where a string is in
# another one.
_ESCAPED = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrtbf/\"'])")
_BEGINNING = 2000  # a text is mostly known to be long by its beginning


def decoded(markup: str) -> str:
    """Return *markup* with its character references, and the escapes of strings in scripts, decoded.

    >>> decoded('<p>caf&eacute; <script>"caf\\\\u00e9\\\\nbar"')
    '<p>café <script>"café bar"'
    """
    plain = unescape(markup) if "&" in markup else markup
    return _ESCAPED.sub(_unescaped, plain) if "\\" in plain else plain


def own_words(texts: Iterable[str], markup: str) -> list[str]:
    """Return the words of *texts* that are nowhere in *markup*, in their order.

    That is anywhere: in its text, frame, scripts and attributes.

    >>> own_words(["The tide is low", "灯塔建成"], "<p>The <b>tide</b> was low, 灯塔</p>")
    ['is', '塔建成']
    """
    whole = decoded(markup)
    known = set(_chunks(whole))
    if _IS_UNSPACED.search(whole):
        # A tag may be between two characters of a word.
        runs = {*_pieces(whole), *_pieces(_TAG.sub("", whole))}
        known.update(runs, *map(_parts, runs))
    pieces = (piece for text in texts for piece in _pieces(plain_text(text)))
    return [own for piece in pieces if piece not in known for own in _unknown(piece, known)]


def long_texts(record: Mapping[str, object], without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the long texts in the fields of *record* but those *without*, in the order of their names.

    A long text is a string of `LONG_TEXT` words or more that is made of words for the most part, or a
    list of strings that have so many and `MEAN_LINE` on average, or `LONG_LIST` in all, wherever it
    stands: in lists, mappings and items as well.  What mappings in a list have by one name is a list.

    >>> long_texts({"title": "Sea", "lead": "The tide. " * 10, "seen": "2026-11-01T10:30:00Z"})[0][:9]
    'The tide.'
    """
    skipped = frozenset(without)
    found: list[str] = []
    for name in sorted(record, key=str):
        value = record[name]
        if name not in skipped and not (isinstance(value, str) and len(value) < 2 * LONG_TEXT):
            _collect(value, found, 0)
    return tuple(found)


def plain(value: Any) -> Any:
    """Return a text of any type as `str` or `bytes`, anything else as it is."""
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return str(value) if type(value) is not str and isinstance(value, UserString) else value


def plain_text(text: str) -> str:
    """Return *text*, which may be markup, without tags and addresses."""
    plain = _TAG.sub(" ", decoded(text)) if _MARKUP.search(text) else text
    return _ADDRESS.sub(" ", plain) if "/" in plain else plain


def _collect(value: object, found: list[str], depth: int) -> None:
    if isinstance(value := plain(value), bytes):
        with suppress(UnicodeDecodeError):  # bytes that are no text have no word
            _collect(value.decode(), found, depth)
    elif isinstance(value, str):
        found += [value] if is_long(value, LONG_TEXT) else []
    elif type(value) not in _NUMBERS and depth <= _DEEPEST_PART:
        parts = parts_of(value)
        each = parts.values() if isinstance(parts, dict) else parts or ()
        others = [part for part in each if type(part) not in _NUMBERS]  # there may be thousands
        if isinstance(parts, list):
            others = [*_columns(others), *others]
            lines = [part for part in others if isinstance(part, str)]
            text = "\n".join(lines)
            if lines and is_long(text, min(LONG_LIST, max(LONG_TEXT, MEAN_LINE * len(lines)))):
                found.append(text)
                others = [part for part in others if not isinstance(part, str)]
        for part in others:
            _collect(part, found, depth + 1)


def _columns(parts: Sequence[object]) -> list[list[object]]:
    """Return the strings that mappings, if *parts* are those, have by one name, as lines of a text."""
    columns: dict[str, list[object]] = {}
    for one in parts if parts and isinstance(parts[0], Mapping) else ():
        for name, value in one.items() if isinstance(one, Mapping) else ():
            if isinstance(value, str):
                columns.setdefault(str(name), []).append(value)
    return [lines for lines in columns.values() if len(lines) > 1]


def is_long(text: str, words: int) -> bool:
    """Return whether *text* has so many *words*, and is made of words for the most part."""
    if len(text) < 2 * words:  # a word is a character at least, with what separates it from the next
        return False
    if len(text) > _BEGINNING and is_long(text[:_BEGINNING], words):
        return True
    plain = plain_text(text)
    pieces = _pieces(plain)
    # Of bytes that are written with spaces, and of tables of numbers, the smaller part are words.
    if 2 * sum(map(len, pieces)) < len("".join(plain.split())):
        return False
    return len(pieces) >= words or words <= sum(
        1 if _is_word(piece) else len(piece) / _NGRAM for piece in pieces
    )


def _is_word(piece: str) -> bool:
    return piece.isascii() or not _IS_UNSPACED.match(piece)


def _pieces(text: str) -> list[str]:
    """Return the words of *text*, of scripts without spaces whole runs."""
    chunks = _chunks(text)
    cut = {chunk: _cut(chunk) for chunk in set(chunks)}
    return [piece for chunk in chunks for piece in cut[chunk]]


def _chunks(text: str) -> list[str]:
    plain = text if text.isascii() else _SIGNS.sub(" ", normalized(text))
    data = plain.encode("utf-8", "surrogatepass").replace(b"://", b"/").translate(_BETWEEN) + b" "
    return data.replace(b". ", b" ").replace(b"? ", b" ").decode("utf-8", "surrogatepass").split()


def _cut(word: str) -> Sequence[str]:
    """Return the words, or runs of scripts without spaces, in *word*, none in what is no word."""
    if word.isascii() or not _IS_UNSPACED.search(word):
        is_word = len(word) <= _LONGEST_WORD and (word.isalpha() or _SPOKEN.fullmatch(word))
        return (word,) if is_word else ()
    if _ODD.search("".join(_RUN.split(word))):
        return ()
    return [run for run in _RUN.findall(word) if len(run) <= _LONGEST_WORD or _IS_UNSPACED.match(run)]


def _parts(piece: str) -> Sequence[str]:
    if _is_word(piece):
        return (piece,)
    return [piece[start : start + _NGRAM] for start in range(max(1, len(piece) - _NGRAM + 1))]


def _unknown(piece: str, known: set[str]) -> Sequence[str]:
    """Return what of *piece* is not *known*, of a run the stretches that are not."""
    found = groupby(_parts(piece), key=known.__contains__)
    return ["".join([next(run), *(part[-1] for part in run)]) for is_known, run in found if not is_known]


def _unescaped(escaped: re.Match[str]) -> str:
    if code := escaped[1] or escaped[2]:
        return chr(int(code, 16))
    return escaped[0][-1] if escaped[0][-1] in "/\"'" else " "


HTML_FIELDS = ("html", "body")  # the usual fields for HTML, tried in this order where none is named
URL_FIELD = "url"

# What a named field begins with if it holds HTML; text may begin with "<" too, such as "<iostream>".
_FIRST_TAG = re.compile(
    r"(?:\ufeff|\xef\xbb\xbf)?\s*<(?:!doctype|!--|\?xml|html|head|body|title|meta|link|script|style|div|main|article|section|"
    r"header|nav|p|h[1-6]|ul|ol|dl|table|tr|td|figure|blockquote|pre|span|a|b|i|em|strong|br|img)\b",
    re.IGNORECASE,
)
# What a whole page has, and a part of one, such as the text of a post, has not: there a title may be
# that of a drawing, and a product has elements of the head, as `<meta itemprop="price">`.
_PAGE = re.compile(
    r"<(?:!doctype|html|head|body)\b|\A\s*<(?:title\b|meta\s+(?:charset|http-equiv|name)\b)",
    re.IGNORECASE,
)
_MAX_KEY = 500  # of a longer key the beginning and a digest are kept
_MAX_VALUE, _MAX_UNJUDGED = 60, 2000
_DEEPEST = 50  # a value may contain itself
_EMPTY: tuple[object, ...] = (None, "", [], {})


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
    """Which fields hold a page: the settings ``DEDUP_TEXT_FIELDS`` and ``DEDUP_KEY_FIELDS``."""

    # Without any it is the first of `HTML_FIELDS` that is not empty and, for ``body``, has markup in it.
    text_fields: tuple[str, ...] = ()  # hold text or HTML
    key_fields: tuple[str, ...] = ()  # tell records apart


@dataclass(frozen=True, slots=True)
class RawPage:
    """The page in a record, before it is read: *html*, or else *text*."""

    html: str | bytes = ""
    text: str = ""
    url: str = ""
    encoding: str | None = None  # that was declared for its bytes
    item_key: str = ""  # of the record, "" for none
    seen_on: str | None = None  # the folder that it is a file of, None where its site is its host
    beside: tuple[str, ...] = ()  # long texts in fields beside its HTML, where no field was named
    unjudged: str = ""  # what the other fields hold, see `unjudged_of`

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
    html = {name: value for name, value in values.items() if isinstance(value, str | bytes)}
    if html.get("body") and not _MARKUP.search(_sniffed(html["body"])):  # a text
        del html["body"]
    if not html:
        raise NoHtml(record)
    name = next(filter(html.get, html), "")
    if not name:
        return None
    judged = name, URL_FIELD
    unjudged = unjudged_of(record, judged)
    if unjudged and not (rule.key_fields or _PAGE.search(_sniffed(html[name]))):
        raise NoHtml(record)
    beside = long_texts(record, (*judged, *rule.key_fields))
    return RawPage(html=html[name], url=url, item_key=key, beside=beside, unjudged=unjudged)


def _named(values: Sequence[Any]) -> RawPage | None:
    """Return the page of the *values* of named fields: HTML if a text among them begins with a tag."""
    texts: list[str | bytes] = []
    for value in values:
        is_html = isinstance(only := single(value), bytes) and _FIRST_TAG.match(_sniffed(only))
        texts += [only] if is_html else texts_of(value)
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
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) != 1:
        return value
    only = plain(value[0])
    return only if isinstance(only, str | bytes) else value


def item_key(record: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return what the fields *names* of *record* hold, as JSON, "" where all are missing or empty."""
    values = [_comparable(record.get(name)) for name in names]
    return "" if all(value in _EMPTY for value in values) else _bounded(_written(values), _MAX_KEY)


def unjudged_of(record: Mapping[str, Any], judged: Collection[str]) -> str:
    """Return what the fields of *record* hold that are not *judged*, as JSON by name, "" for nothing.

    White space is single spaces.  Of long values the beginning and a digest are kept, so that different
    ones stay different.

    >>> unjudged_of({"text": "Tea, green", "price": 85.0, "old": None}, ["text"])
    '{"price":"85.0"}'
    """
    values = {name: _comparable(record[name]) for name in record if name not in judged}
    # An `ItemLoader` makes a list of each field.
    values |= {name: one[0] for name, one in values.items() if isinstance(one, list) and len(one) == 1}
    found = {
        name: held(" ".join(value.split()) if isinstance(value, str) else _written(value))
        for name, value in values.items()
        if value not in _EMPTY
    }
    text = _written(found) if found else ""
    return text if len(text) <= _MAX_UNJUDGED else _written({"fields": digest(text.encode()).hex()})


def held(value: str) -> str:
    """Return a *value* as `unjudged_of` holds it."""
    return _bounded(value, _MAX_VALUE)


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts in a field, whatever its type, always in the same order.

    Numbers, dates and truth values are written as Python writes them.  Lists and items give each part,
    mappings their sorted keys, each before its value; None, NaN and empty texts give nothing.

    >>> list(texts_of(["tea", 7, {"to": None, "from": {"city": "Bath"}}]))
    ['tea', '7', 'from', 'city', 'Bath']
    """
    part = _comparable(value)
    if isinstance(part, dict):
        for name, each in part.items():
            texts = [*texts_of(each)]
            yield from [name, *texts] if texts else ()
    elif isinstance(part, list):
        yield from chain.from_iterable(map(texts_of, part))
    elif part:
        yield part


def _bounded(text: str, most: int) -> str:
    """Return the beginning and a digest of a longer *text* than *most* characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]}~{digest(text.encode('utf-8', 'surrogatepass')).hex()}"


def _comparable(value: Any, depth: int = 0) -> Any:
    """Return *value* as a value for JSON, a different one for each different value; NaN is no value."""
    value = plain(value)
    if depth > _DEEPEST:
        return None
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    parts = parts_of(value)
    if parts is None:
        return None if (text := str(value)).lower() == "nan" else text
    if isinstance(parts, dict):
        return {name: _comparable(part, depth + 1) for name, part in parts.items()}
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


def _sniffed(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
