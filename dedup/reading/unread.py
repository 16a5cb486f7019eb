"""What a page says where nobody reads it: in scripts and attributes, of which scripts make its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from dedup.reading.own_words import LONG_TEXT, decoded, is_long, own_words
from dedup.reading.walk import MIN_SHOWN_WORDS, all_roots, rough_words

# A page that shows fewer words may be no more than the frame of its site.
FULL_PAGE = 100
# So many characters have as many words, unless it is a page of bytes.
_BEGINNING = 20 * FULL_PAGE
# Attributes of how an element looks.
_LOOKS = frozenset(["class", "style"])
# A string of data in a script, as JSON writes it, and what stands between those of one in another.
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)"')
_STOP = re.compile('["{};]')


def unread_words(root: Any, text: str) -> str:
    """Return the words of long texts in scripts and attributes under *root* that are not in its *text*.

    "" for a page that shows `FULL_PAGE` words, or fewer than `MIN_SHOWN_WORDS`: that is judged by its
    bytes.  What a long text is, and what a word, is said in `dedup.reading.own_words`.
    """
    if root is None or not MIN_SHOWN_WORDS <= rough_words(text[:_BEGINNING]) < FULL_PAGE:
        return ""
    parts = chain.from_iterable(_STOP.split(decoded(part)) for part in _unread(root))
    return " ".join(own_words([part for part in parts if is_long(part, LONG_TEXT)], text))


def _unread(root: Any) -> Iterator[str]:
    for element in chain.from_iterable(each.iter("*") for each in all_roots(root)):
        if element.tag == "script" and element.text:
            yield from _STRING.findall(element.text)
        yield from (value for name, value in element.items() if name not in _LOOKS)
