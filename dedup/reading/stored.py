"""A page as an index stores it, compressed: all that was read, but for its links and its bytes.

The first byte says which form follows.  Form 1 is a zlib stream of JSON in UTF-8: text, title, language,
tags, depths, the classes as pairs of tag and attribute, and how many words stand inside the frame.  The
text, which is empty there, comes in a second line and those behind: in JSON it takes longer.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from dedup.reading.page import Page
from dedup.values.errors import DedupError

FORM = b"\x01"
# On a manual, level 4 takes a fifth more time for a tenth fewer bytes.
_LEVEL = 1
# A page that unpacks to more bytes than this is not stored: pages are read as a whole, and in an index
# that was tampered with one could have any size.
LIMIT = 1 << 28

_MAX_DEPTH = (1 << 31) - 1


class UnreadablePage(DedupError):  # noqa: N818 - as its neighbours in `dedup.values.errors`
    """A stored page is damaged, or was stored by a later release."""


def pack(page: Page) -> bytes:
    """Return *page* as bytes to store, b"" for one that was not read or takes more than `LIMIT` bytes.

    URL, declared canonical link and digest are in the index anyway; links and source are left out.
    """
    if page.excess:
        return b""
    fields = ("", page.title, page.language, page.tags, page.depths, page.classes, page.inside)
    head = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    raw = f"{head}\n{page.text}".encode("utf-8", "surrogatepass")
    return FORM + zlib.compress(raw, _LEVEL) if len(raw) <= LIMIT else b""


def unpack(stored: bytes, *, url: str = "", body_digest: bytes = b"", canonical_link: str = "") -> Page:
    """Return the page that `pack` made *stored* from; what that leaves out is given, or empty.

    It has the fingerprint of the page that was packed, unless a structure function of the user's
    reads links.  Raises `UnreadablePage`.
    """
    if stored[:1] != FORM:
        raise UnreadablePage("it is not in a form that this release can read")
    try:
        head, _, behind = _inflated(stored[1:]).partition("\n")
        text, title, language, tags, depths, classes, *later = json.loads(head)
        inside = _inside(*later)
        _check_texts([text, title, language, *tags], classes)
        if len(depths) != len(tags) or not all(
            type(depth) is int and 0 <= depth <= _MAX_DEPTH for depth in depths
        ):
            raise ValueError("its tags and depths do not match")
    except (zlib.error, ValueError, TypeError, RecursionError) as error:
        raise UnreadablePage(f"it is damaged ({error})") from error
    return Page(
        url=url,
        body_digest=body_digest,
        text=text + behind,
        title=title,
        canonical_link=canonical_link,
        language=language,
        tags=tuple(tags),
        depths=tuple(depths),
        classes=tuple((tag, names) for tag, names in classes),
        inside=inside,
    )


def is_readable(stored: bytes) -> bool:
    """Return whether `unpack` can read *stored*."""
    try:
        unpack(stored)
    except UnreadablePage:
        return False
    return True


def _inside(inside: object = None) -> int | None:
    if inside is None or (type(inside) is int and inside >= 0):
        return inside
    raise ValueError("it has no number of words")


def _inflated(stream: bytes) -> str:
    reader = zlib.decompressobj()
    raw = reader.decompress(stream, LIMIT + 1)  # one byte more, to reach the end
    if not reader.eof or reader.unused_data:
        raise ValueError("it has no end, or bytes after it")
    return raw.decode("utf-8", "surrogatepass")


def _check_texts(texts: list[Any], classes: Any) -> None:
    pairs_are_whole = all(isinstance(pair, list) and len(pair) == 2 for pair in classes)
    parts = [*texts, *(part for pair in classes for part in pair)]
    if not (pairs_are_whole and all(isinstance(part, str) for part in parts)):
        raise ValueError("a part of it is not text")
