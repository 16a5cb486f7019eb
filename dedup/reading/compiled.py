"""The compiled walk over a tree, where it can be used; `dedup.reading.walk` is what it repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any
from unicodedata import category, combining

from lxml import etree

from dedup import native
from dedup.reading.tokens import (
    HAN,
    IN_WORDS,
    JOINER,
    KANA,
    LETTER,
    MARKS,
    POINTS,
    UNSEEN,
    UNSPACED,
    is_mark,
    normal_form,
)
from dedup.reading.walk import (
    DOCUMENTS,
    DRAWINGS,
    HEADS,
    INLINE,
    ROLE_STATES,
    STATES,
    PageReading,
    Walk,
    words_in,
)

BLOCK = 256

_KANA, _HAN, _UNSPACED = (re.compile(f"[{script}]") for script in (KANA, HAN, UNSPACED))
_IN_WORDS_ONLY = re.compile(f"[{MARKS}{POINTS}]")
_IN_WORDS, _WORD = re.compile(IN_WORDS), re.compile(r"\w")
# Most of what a Chinese or a Korean page needs, and none is normalized.
_PLAIN_HAN, _SYLLABLE = re.compile("[\u4e00-\u9fff]"), re.compile("[\uac00-\ud7a3]")
# Its small letter depends on what is beside it.
_SIGMA = "\u03a3"


def described(block: int, native: Any) -> Iterator[tuple[int, int, Any]]:
    """Return kind, flags and code of each character of a *block*, as the module *native* takes them."""
    for code in range(block * BLOCK, (block + 1) * BLOCK):
        character = chr(code)
        if _PLAIN_HAN.match(character):
            yield native.HAN, native.IS_UNSPACED | native.IS_LETTER | native.IS_HAN, code
        elif _SYLLABLE.match(character):
            yield native.LETTER, native.IS_LETTER, code
        else:
            yield any_described(character, native)


def any_described(character: str, native: Any) -> tuple[int, int, Any]:
    """Return kind, flags and code of a *character*, whichever it is."""
    flags = native.IS_SPACE * character.isspace()
    flags |= native.IS_UNSPACED * bool(_UNSPACED.match(character))
    flags |= native.IS_MARK * is_mark(character)
    flags |= native.IS_LETTER * bool(LETTER.match(character))
    flags |= native.IS_HAN * bool(_HAN.match(character))
    if UNSEEN.match(character) or character == JOINER:
        return native.NOTHING, flags, ord(character)
    normal = [_small(part, native) for part in normal_form(character)]
    if native.STRANGE in {_kind(character, native), *(kind for kind, _ in normal)}:
        return native.STRANGE, flags, ord(character)
    return (normal[0][0], flags, normal[0][1]) if len(normal) == 1 else (native.EXPANDS, flags, normal)


def _small(character: str, native: Any) -> tuple[int, int]:
    """Return kind and code of a normalized *character* in lower case; one of ASCII stays as it is."""
    kind = _kind(character, native)
    if kind not in (native.LETTER, native.SIGN) or character.isascii():
        return kind, ord(character)
    small = character.lower()
    if len(small) != 1 or _kind(small, native) != kind or small.isascii():
        return native.STRANGE, ord(character)
    return kind, ord(small)


def _kind(character: str, native: Any) -> int:
    if _is_strange(character):
        return int(native.STRANGE)
    if _KANA.match(character):
        return int(native.KANA)
    if _HAN.match(character):  # one that this Python does not know is no word of its own
        return int(native.HAN if _WORD.match(character) else native.STRANGE)
    if not _IN_WORDS.match(character):
        return int(native.PARTS)
    if not _WORD.match(character):
        return int(native.SIGN)
    # Letters of rare scripts may be composed with those before them.
    return int(native.LETTER if ord(character) < 0x10000 else native.STRANGE)


def _is_strange(character: str) -> bool:
    code = ord(character)
    return (
        category(character)[0] == "M"
        or combining(character) > 0
        or bool(_IN_WORDS_ONLY.match(character))
        or 0x1100 <= code <= 0x11FF  # the parts of Korean syllables
        or 0xD800 <= code <= 0xDFFF
        or character == _SIGMA
        or bool(_UNSPACED.match(character) and not _HAN.match(character))
    )


# A page that has something of everything the walk looks at.
TRIAL = (
    """<html lang=" en "><head><title>A  trial</title><link rel="next Canonical" href="/one">
<link rel=alternate hreflang=en href="/en">
<style>p {}</style></head><body class="a b"><!-- a comment --><header><h1>Site</h1></header>
<nav><a href="/two">Two</a> | <a>three</a></nav><article><header>A heading</header>
<p>Some words <b>in a line</b>, a&nbsp;b; two\u3000words and \u00e9t\u00e9<br><img
alt="a picture of something that needs more words">and enough of them, so that
the page is one with a text of its own,</p><p>not a menu with nothing else beside it.</p></article>
<div role="Navigation main">Not me <a href="">nor</a></div><svg><title>a line</title>Drawn</svg>tail
<template shadowrootmode=open>here</template></body></html><title>no</title><p>behind the end</p>
<noscript><p>"""
    + "read " * 40
)


def reading_of(root: Any) -> PageReading:
    """Return what a walk over the tree under *root* reads, compiled where that is possible."""
    module = compiled_pages()
    found = None if module is None or root is None else module.read(root)
    return Walk(root).reading() if found is None else PageReading(*found)


def compiled_pages() -> Any:
    """Return the compiled module, told of characters and tags, None where it is not to be used."""
    return native.pages() and _told()


@cache
def _told() -> Any:
    module = native.pages()
    module.set_characters(partial(described, native=module))
    module.set_tags(_bits(module.TAG_BITS), ROLE_STATES, words_in)
    root = etree.fromstring(TRIAL, etree.HTMLParser())
    if module.read(root) != tuple(Walk(root).reading()):
        native.give_up("_pages", "it reads a page otherwise than Python does")
        return None
    return module


def _bits(names: dict[str, int]) -> dict[str, int]:
    """Return what the compiled walk must know of each tag."""
    bits = dict(STATES)
    for tags, name in (
        (INLINE, "inline"),
        (("a", "area"), "links"),
        (("title",), "title"),
        (("link",), "link"),
        (("header",), "header"),
        (("br",), "line"),
        (("img",), "picture"),
        (HEADS, "head"),
        (DRAWINGS, "drawing"),
        (DOCUMENTS, "document"),
        (("template",), "template"),
    ):
        for tag in tags:
            bits[tag] = bits.get(tag, 0) | names[name]
    return bits
