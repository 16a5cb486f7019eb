"""Bytes of a page to markup that can be parsed, and what is not read but judged by its bytes alone.

Time and memory grow in proportion to a page's size, at worst a microsecond and some 70 bytes of memory
for each byte (`python -m benchmarks.bombs`), so one limit on the size bounds both.  Two things grow
faster and are checked beforehand: the attributes of one tag, because libxml2 compares each new one
with all others, and characters that become many in Unicode's normal form.  Of a page that is too deep
libxml2 leaves out the rest.
"""

from __future__ import annotations

import re
from contextlib import suppress
from enum import StrEnum
from typing import Any

from lxml import etree
from w3lib.encoding import read_bom, resolve_encoding

from dedup.reading.tokens import normalized

MAX_BYTES = 4_000_000  # a page of more bytes than this is not read, by default
MAX_ATTRIBUTES = 2000  # a tag of more attributes than this is not read
MAX_DEPTH = 2000  # a page with a deeper element is not read: some 50 levels below it libxml2 gives up


class Excess(StrEnum):
    """Which limit a page is over; the ends of stats."""

    BYTES = "bytes"
    ATTRIBUTES = "attributes"
    DEPTH = "depth"
    TEXT = "text"


EXCESSES = {
    Excess.BYTES: f"more than {MAX_BYTES:,} bytes",
    Excess.TEXT: f"text of more than {MAX_BYTES:,} bytes in Unicode's normal form",
    Excess.ATTRIBUTES: f"a tag of more than {MAX_ATTRIBUTES:,} attributes",
    Excess.DEPTH: f"elements in more than {MAX_DEPTH:,} others",
}
"""What a page over a limit has, in words."""

# It is written in ASCII, so it would pass for UTF-8; a page without these signs is none in it.
_SEVEN_BITS, _SHIFT = "iso2022_jp", b"\x1b"
# Enough to detect an encoding, and little enough that a page of 20 MB takes no longer.
_SAMPLE = 64 * 1024
# A declaration is believed while at most this share of the non-ASCII bytes cannot be decoded.
_MAX_BROKEN = 0.02

# Pages up to this size are not checked: the 16,000 attributes that they can hold take a third of a
# second.
SMALL = 64 * 1024
# An attribute is one character at least, and one that separates it from the next.
_LONG_TAG = 2 * MAX_ATTRIBUTES
_TAG = re.compile(rb"<[A-Za-z_:]")
# What begins behind an equals sign and has a > in it may be quoted, whichever quote it begins with.
_QUOTED = [re.compile(rb"=\s*+%b[^%b>]*+>[^%b]*+" % ((quote,) * 3)) for quote in (b'"', b"'")]
_MOST_EXPANDED = 33  # the most bytes that one character becomes, U+FDFA


def decode(body: bytes, declared: str | None = None) -> str:
    """Return the text of *body*; never raises, bytes that fit no encoding become U+FFFD.

    In this order: a byte order mark, valid UTF-8 (unless it declares ISO-2022-JP), *declared* (the HTTP
    header's charset), the page's own declaration, a guess from the bytes.  Encodings are read
    as the web reads them: gb2312 and gbk as gb18030, latin-1 as windows-1252.
    """
    return body.decode(encoding_of(body, declared), "replace").removeprefix("\ufeff")


def encoding_of(body: bytes, declared: str | None = None) -> str:
    """Return the name of the codec that `decode` uses."""
    marked, _ = read_bom(body)
    if marked:
        return marked
    if _is_utf8(body):
        return _SEVEN_BITS if is_shifted(body, declared) else "utf-8"
    for name in (declared, _own_declaration(body)):
        encoding = resolve_encoding(name) if name else None
        if encoding and _fits(body, encoding):
            return encoding
    from bs4.dammit import UnicodeDammit  # few pages need it, and it takes a tenth of a second

    guessed = UnicodeDammit(body[:_SAMPLE], is_html=True).original_encoding
    return (resolve_encoding(guessed) if guessed else None) or "cp1252"


def is_shifted(body: bytes, declared: str | None = None) -> bool:
    """Return whether *body* is ISO-2022-JP, and says so or is *declared* so."""
    if _SHIFT not in body or not body.isascii():
        return False
    names = filter(None, (declared, _own_declaration(body)))
    return any(resolve_encoding(name) == _SEVEN_BITS for name in names) and _fits(body, _SEVEN_BITS)


def _is_utf8(body: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        body.decode("utf-8")
        return True
    return False


def _own_declaration(body: bytes) -> str | None:
    from bs4.dammit import EncodingDetector

    return EncodingDetector.find_declared_encoding(body[:_SAMPLE], is_html=True)


def _fits(body: bytes, encoding: str) -> bool:
    sample = body[:_SAMPLE]
    try:
        text = sample.decode(encoding, "replace")
    except (LookupError, ValueError):
        return False
    of_ascii = len(sample.decode("ascii", "ignore"))
    # Punycode, on Python 3.13, makes no text at all of one.
    return text != "" and text.count("\ufffd") <= 1 + _MAX_BROKEN * (len(sample) - of_ascii)


def markup_of(text: str) -> bytes:
    """Return the HTML *text* as Scrapy gives it to the parser, so that both make the same tree."""
    return text.strip().replace("\x00", "").encode("utf-8", "replace")


def markup_in(body: bytes | str, encoding: str | None) -> bytes:
    """Return `markup_of` what *body* says; most pages are just that, but for white space around them."""
    if isinstance(body, str):
        return markup_of(body)
    stripped = body.strip()
    # Without NUL, white space of Unicode and a byte order mark, UTF-8 stays as it is.
    ends_visibly = stripped != b"" and all(0x21 <= stripped[end] <= 0x7E for end in (0, -1))
    is_plain = ends_visibly and b"\0" not in stripped and _is_utf8(stripped)
    is_plain = is_plain and not is_shifted(stripped, encoding)
    return stripped if is_plain else markup_of(decode(body, encoding))


def tree_of(markup: bytes) -> Any:
    """Return the root of the document in *markup*, None where nothing in it could be an element."""
    # An eighth of the time goes into a table of ids, which nobody asks for.
    return _parsed(markup, collect_ids=False)


def _parsed(markup: bytes, **how: Any) -> Any:
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True, **how)
    with suppress(etree.ParserError, etree.XMLSyntaxError):
        return etree.fromstring(markup, parser)
    return None


def has_flood(markup: bytes) -> bool:
    """Return whether a tag in *markup*, UTF-8, has more than `MAX_ATTRIBUTES` attributes."""
    if len(markup) <= SMALL or not _may_have_long_tag(markup):
        return False
    try:
        _parsed(markup, target=_TagReader())
    except OverflowError:
        return True
    return False


def _may_have_long_tag(markup: bytes) -> bool:
    """Return False only if every tag ends within `_LONG_TAG` bytes, so that no parser is needed.

    A tag ends at the first ``>`` outside quotes.  Only a parser knows where quotes begin, so every ``>``
    that could be inside quotes is treated as if it were.
    """
    for quoted in _QUOTED:
        markup = quoted.sub(lambda found: found[0].replace(b">", b" "), markup)
    parts = markup.split(b">")
    if max(map(len, parts)) <= _LONG_TAG:  # as of nearly all pages
        return False
    long_parts = (part for part in parts if len(part) > _LONG_TAG)
    return any(_TAG.search(part, 0, len(part) - _LONG_TAG + 1) for part in long_parts)


class _TagReader:
    """Takes the tags from the parser, which makes no tree; ends it at the first flood."""

    def start(self, _tag: str, attributes: Any) -> None:
        if len(attributes) > MAX_ATTRIBUTES:
            raise OverflowError

    def close(self) -> None:
        """Required of a parser's target."""


def is_too_long(text: str) -> bool:
    """Return whether the normal form of *text* has more than `MAX_BYTES` bytes in UTF-8."""
    if len(text) * _MOST_EXPANDED <= MAX_BYTES or text.isascii():
        return len(text) > MAX_BYTES
    return len(normalized(text).encode("utf-8", "surrogatepass")) > MAX_BYTES
