"""Where the lines of a page stand: by which elements a place is known, and what somebody said of it."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from lxml import etree

from dedup.reading.compiled import compiled_pages
from dedup.reading.walk import FALLBACKS, INLINE, INVISIBLE, all_roots

TITLE = "title"
"""The place of the title of a page."""
# So many elements around a line tell its place, and so many characters each of them.
_STEPS, _LONGEST = 3, 60
_HIDDEN = INVISIBLE | FALLBACKS
_OF_ELEMENTS = ("start", "end")
_OF_PAGES = ("html", "body")
_DIGIT = re.compile(r"[0-9]")


def places_of(root: Any, text: str) -> tuple[str, ...]:
    """Return the place of each line of *text*, which was read from the tree under *root*.

    A place is the names of the innermost three elements around the line that are no parts of it, with
    their classes and ids as far as no digit is in them, but for those of ``html`` and ``body``, which
    name the kind of page; "" where it is not known.

    >>> root = etree.HTML('<div id="a"><p class="b c1">One<p>Two <b>words</b></div>')
    >>> places_of(root, "One" + chr(10) + "Two words")
    ('body>div#a>p.b', 'body>div#a>p')
    """
    compiled = compiled_pages()
    placed = compiled.placed(root, _step) if compiled else None
    known: defaultdict[str, deque[str]] = defaultdict(deque)
    for place, line in _placed(root) if placed is None else placed:
        known[line].append(place)
    return tuple(known[line].popleft() if known.get(line) else "" for line in text.split("\n"))


def _placed(root: Any) -> Iterator[tuple[str, str]]:
    """Yield each line under *root* with its place."""
    for each in all_roots(root):
        steps: list[str] = []
        chunks: list[str] = []
        hidden = None
        for event, element in etree.iterwalk(each, events=("start", "end", "comment", "pi")):
            tag = element.tag
            if event == "start" and hidden is None and tag in _HIDDEN:
                hidden = element
            if hidden is None and event in _OF_ELEMENTS and tag not in INLINE:
                if line := " ".join("".join(chunks).split()):
                    yield ">".join(steps[-_STEPS:]), line
                chunks.clear()
                if event == "start":
                    steps.append(_step(tag, element.get("class") or "", element.get("id") or ""))
                else:
                    steps.pop()
            if hidden is element and event == "end":
                hidden = None
            if hidden is None:
                text = element.text if event == "start" else element.tail
                if text and (event == "start" or element is not each):
                    chunks.append(text)


def _step(tag: str, classes: str, name: str) -> str:
    if tag in _OF_PAGES:
        return tag
    named = [f".{one}" for one in classes.split() if not _DIGIT.search(one)]
    if name and not _DIGIT.search(name):
        named.insert(0, f"#{name}")
    return f"{tag}{''.join(named)}"[:_LONGEST]
