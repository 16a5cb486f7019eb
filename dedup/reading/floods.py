"""Which pages are not read: what is over a limit is judged by its bytes alone.

Time and memory grow in proportion to a page's size, at worst a microsecond and some 70 bytes of memory
for each byte (`python -m benchmarks.bombs`), so one limit on the size bounds both.  Two things grow
faster and are checked beforehand: the attributes of one tag, because libxml2 compares each new one
with all others, and characters that become many in Unicode's normal form.  Of a page that is too deep
libxml2 leaves out the rest.
"""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from dedup.model.limits import MAX_ATTRIBUTES, MAX_BYTES
from dedup.reading.tokens import normalized

# Pages up to this size are not checked: the 16,000 attributes that they can hold take a third of a
# second.
SMALL = 64 * 1024
# An attribute is one character at least, and one that separates it from the next.
LONG_TAG = 2 * MAX_ATTRIBUTES
_TAG = re.compile(rb"<[A-Za-z_:]")
# What begins behind an equals sign and has a > in it may be quoted, whichever quote it begins with.
_QUOTED = [re.compile(rb"=\s*+%b[^%b>]*+>[^%b]*+" % ((quote,) * 3)) for quote in (b'"', b"'")]
# The most bytes that one character becomes, U+FDFA.
_MOST_EXPANDED = 33


def has_attribute_flood(markup: bytes) -> bool:
    """Return whether a tag in *markup*, UTF-8, has more than `MAX_ATTRIBUTES` attributes."""
    if len(markup) <= SMALL or not _may_have_long_tag(markup):
        return False
    reader: Any = _TagReader()
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True, target=reader)
    try:
        etree.fromstring(markup, parser)
    except _Flood:
        return True
    except (etree.ParserError, etree.XMLSyntaxError):
        pass
    return False


def _may_have_long_tag(markup: bytes) -> bool:
    """Return False only if every tag ends within `LONG_TAG` bytes, so that no parser is needed.

    A tag ends at the first ``>`` outside quotes.  Only a parser knows where quotes begin, so every ``>``
    that could be inside quotes is treated as if it were.
    """
    for quoted in _QUOTED:
        markup = quoted.sub(lambda found: found[0].replace(b">", b" "), markup)
    parts = (part for part in markup.split(b">") if len(part) > LONG_TAG)
    return any(_TAG.search(part, 0, len(part) - LONG_TAG + 1) for part in parts)


def is_too_long(text: str) -> bool:
    """Return whether the normal form of *text* has more than `MAX_BYTES` bytes in UTF-8."""
    if len(text) * _MOST_EXPANDED <= MAX_BYTES:
        return False
    if text.isascii():
        return len(text) > MAX_BYTES
    return len(normalized(text).encode("utf-8", "surrogatepass")) > MAX_BYTES


class _Flood(Exception):  # noqa: N818
    """Ends the parsing."""


class _TagReader:
    """Takes the tags from the parser, which makes no tree."""

    def start(self, _tag: str, attributes: Any) -> None:
        if len(attributes) > MAX_ATTRIBUTES:
            raise _Flood

    def close(self) -> None:
        """Required of a parser's target."""
