"""A page as an index keeps it: everything that was read off it but its links and its bytes, compressed.

One byte says which form follows.  Form 1 is a zlib stream of JSON in UTF-8: text, title, language,
tags, depths, and the classes as pairs of tag and attribute.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from dedup.reading.page import Page
from dedup.values.errors import DedupError

FORM = b"\x01"
# Characters and tags that unpack to more bytes than this are not kept: an index is read whole pages
# at a time, and one that was tampered with could name any size.
LIMIT = 1 << 28

_MAX_DEPTH = (1 << 31) - 1


class UnreadablePage(DedupError):  # noqa: N818 - as its neighbours in `dedup.values.errors`
    """A stored page is damaged, or was stored by a later release."""


def pack(page: Page) -> bytes:
    """Return *page* as bytes to keep, b"" for one that was not read or has more than `LIMIT` bytes.

    URL, declared canonical link and digest stand in the index anyway; links and source are left out.
    """
    if page.excess:
        return b""
    fields = (page.text, page.title, page.language, page.tags, page.depths, page.classes)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    raw = text.encode("utf-8", "surrogatepass")
    return FORM + zlib.compress(raw) if len(raw) <= LIMIT else b""


def unpack(stored: bytes, *, url: str = "", body_digest: bytes = b"", canonical_link: str = "") -> Page:
    """Return the page behind *stored*; what `pack` leaves out is given, or empty.

    It has the fingerprint of the page that was packed, unless a structure function of the user's
    reads links.  Raises `UnreadablePage`.
    """
    if stored[:1] != FORM:
        raise UnreadablePage("it is not in a form that this release can read")
    try:
        text, title, language, tags, depths, classes = json.loads(_inflated(stored[1:]))
        _check_texts([text, title, language, *tags], classes)
        _check_depths(tags, depths)
    except (zlib.error, ValueError, TypeError, RecursionError) as error:
        raise UnreadablePage(f"it is damaged ({error})") from error
    return Page(
        url=url,
        body_digest=body_digest,
        text=text,
        title=title,
        canonical_link=canonical_link,
        language=language,
        tags=tuple(tags),
        depths=tuple(depths),
        classes=tuple((tag, names) for tag, names in classes),
    )


def is_readable(stored: bytes) -> bool:
    """Return whether `unpack` can read *stored*."""
    try:
        unpack(stored)
    except UnreadablePage:
        return False
    return True


def _inflated(stream: bytes) -> str:
    reader = zlib.decompressobj()
    raw = reader.decompress(stream, LIMIT + 1)  # one more, to come to the end of one of that size
    if not reader.eof or reader.unused_data:
        raise ValueError("it does not end where it should")
    return raw.decode("utf-8", "surrogatepass")


def _check_texts(texts: list[Any], classes: Any) -> None:
    pairs_are_whole = all(isinstance(pair, list) and len(pair) == 2 for pair in classes)
    parts = [*texts, *(part for pair in classes for part in pair)]
    if not (pairs_are_whole and all(isinstance(part, str) for part in parts)):
        raise ValueError("it has parts that are no text")


def _check_depths(tags: Any, depths: Any) -> None:
    if len(depths) != len(tags) or not all(_is_depth(depth) for depth in depths):
        raise ValueError("its tags and depths do not fit")


def _is_depth(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_DEPTH
