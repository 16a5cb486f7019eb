"""The compiled walk over a tree, where it can be used; `dedup.reading.walk` is what it repeats."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from lxml import etree

from dedup import native
from dedup.reading.characters import described
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

# A page that has something of everything the walk looks at.
TRIAL = (
    """<html lang=" en "><head><title>A  trial</title><link rel="next Canonical" href="/one">
<style>p {}</style></head><body class="a b"><!-- a comment --><header><h1>Site</h1></header>
<nav><a href="/two">Two</a> | <a>three</a></nav><article><header>A heading</header>
<p>Some words <b>in a line</b>, a&nbsp;b; two\u3000words and \u00e9t\u00e9<br>and enough of them, so that
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
        (HEADS, "head"),
        (DRAWINGS, "drawing"),
        (DOCUMENTS, "document"),
        (("template",), "template"),
    ):
        for tag in tags:
            bits[tag] = bits.get(tag, 0) | names[name]
    return bits
