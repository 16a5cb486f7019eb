"""A page as an index stores it, compressed: all that was read, but for its links and its bytes.

The first byte says which form follows.  Form 5 is a zlib stream of UTF-8: a line of JSON, two lines of
numbers, and the text.  The JSON holds title, language, variant, how many words stand inside the frame,
the different tags, the different places of lines, and which of these each line has.  The numbers say
which tag each element has, and its depth; each is a character.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

from dedup.reading.page import Page
from dedup.values.errors import DedupError

FORM = b"\x05"
_LEVEL = 1  # on a manual, level 4 takes a fifth more time for a tenth fewer bytes
# A page that unpacks to more bytes than this is not stored: pages are read as a whole, and in an index
# that was tampered with one could have any size.
LIMIT = 1 << 28
_FIRST = ord(" ")  # the character that stands for 0: from it on none is the end of a line


class UnreadablePage(DedupError):  # noqa: N818 - as its neighbours in `dedup.values.errors`
    """A stored page is damaged, or was stored by a later release."""


def pack(page: Page) -> bytes:
    """Return *page* as bytes to store, b"" for one that was not read or takes more than `LIMIT` bytes.

    URL, declared canonical link and digest are in the index anyway; links and source are left out.
    """
    if page.excess:
        return b""
    names = dict.fromkeys(page.tags)
    places = {place: number for number, place in enumerate(dict.fromkeys(page.places))}
    at = [places[place] for place in page.places]
    fields = (page.title, page.language, page.variant, page.inside, [*names], [*places], at)
    lines = (
        json.dumps(fields, ensure_ascii=False, separators=(",", ":"), check_circular=False),
        _characters(page.tags, enumerate(names)),
        _characters(page.depths, ((depth, depth) for depth in set(page.depths))),
        page.text,
    )
    raw = "\n".join(lines).encode("utf-8", "surrogatepass")
    return FORM + zlib.compress(raw, _LEVEL) if len(raw) <= LIMIT else b""


def unpack(stored: bytes, *, url: str = "", body_digest: bytes = b"", canonical_link: str = "") -> Page:
    """Return the page that `pack` made *stored* from; what that leaves out is given, or empty.

    It has the fingerprint of the page that was packed, unless a structure function of the user's
    reads links.  Raises `UnreadablePage`.
    """
    if stored[:1] != FORM:
        raise UnreadablePage("it is not in a form that this release can read")
    try:
        head, tags, depths, text = _inflated(stored[1:]).split("\n", 3)
        title, language, variant, inside, names, places, at = json.loads(head)
        _check([title, language, variant, *names, *places], inside)
        if len(depths) != len(tags):
            raise ValueError("its tags and depths do not match")
        return Page(
            url=url,
            body_digest=body_digest,
            text=text,
            title=title,
            canonical_link=canonical_link,
            language=language,
            tags=tuple(map(names.__getitem__, _numbers(tags))),
            depths=tuple(_numbers(depths)),
            inside=inside,
            variant=variant,
            places=tuple(map(places.__getitem__, at)),
        )
    except (zlib.error, LookupError, ValueError, TypeError, RecursionError) as error:
        raise UnreadablePage(f"it is damaged ({error})") from error


def is_readable(stored: bytes) -> bool:
    """Return whether `unpack` can read *stored*."""
    try:
        unpack(stored)
    except UnreadablePage:
        return False
    return True


def _characters(values: Iterable[Any], numbers: Iterable[tuple[int, Any]]) -> str:
    characters = {value: chr(_FIRST + number) for number, value in numbers}
    return "".join(map(characters.__getitem__, values))


def _numbers(characters: str) -> list[int]:
    found = [ord(character) - _FIRST for character in characters]
    if min(found, default=0) < 0:
        raise ValueError("a number of it is below 0")
    return found


def _inflated(stream: bytes) -> str:
    reader = zlib.decompressobj()
    raw = reader.decompress(stream, LIMIT + 1)  # one byte more, to reach the end
    if not reader.eof or reader.unused_data:
        raise ValueError("it has no end, or bytes after it")
    return raw.decode("utf-8", "surrogatepass")


def _check(texts: list[Any], inside: Any) -> None:
    if not all(isinstance(part, str) for part in texts):
        raise ValueError("a part of it is not text")
    if not (inside is None or (type(inside) is int and inside >= 0)):
        raise ValueError("it has no number of words")
