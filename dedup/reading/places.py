"""Where the lines of a page stand: by which elements a place is known, and what somebody said of it."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable

TITLE = "title"
"""The place of the title of a page."""
# So many characters of each element around a line tell its place.
_LONGEST = 60
_OF_PAGES = ("html", "body")
_DIGIT = re.compile(r"[0-9]")


def places_of(placed: Iterable[tuple[str, str]], text: str) -> tuple[str, ...]:
    """Return the place of each line of *text*, given lines that were *placed*, each behind its place.

    A place is the names of the innermost three elements around the line that are no parts of it, with
    their classes and ids as far as no digit is in them, but for those of ``html`` and ``body``, which
    name the kind of page; "" where it is not known.

    >>> places_of([("body>p", "One"), ("body>div#a>p.b", "Two")], "Two\\nOne\\nThree")
    ('body>div#a>p.b', 'body>p', '')
    """
    known: defaultdict[str, deque[str]] = defaultdict(deque)
    for place, line in placed:
        known[line].append(place)
    return tuple(known[line].popleft() if known.get(line) else "" for line in text.split("\n"))


def step_of(tag: str, classes: str, name: str) -> str:
    """Return the part of a place that an element is, given its *tag*, *classes* and id."""
    if tag in _OF_PAGES:
        return tag
    named = [f".{one}" for one in classes.split() if not _DIGIT.search(one)]
    if name and not _DIGIT.search(name):
        named.insert(0, f"#{name}")
    return f"{tag}{''.join(named)}"[:_LONGEST]
