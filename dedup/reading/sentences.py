"""The sentences of a text: what an edit changes, and a clock or a counter does not."""

from __future__ import annotations

import re

from dedup.reading.tokens import UNSPACED
from dedup.values.hashes import digest

# A block of fewer words is no sentence, but a label, a menu or a clock.
MIN_WORDS = 8
# So many characters of a script without spaces are a word.
_CHARACTERS = 2
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]\w*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_MOMENT = re.compile(r"\b(?:\d{1,2}:\d{2}(?::\d{2})?|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b")


def sentences_digest(text: str) -> bytes:
    """Return a digest of the sentences of *text*, 16 bytes; of no sentence too.

    They are its blocks of eight words or more, each once, in any order, without times and dates.

    >>> one, other = "The sun rises over the hills at dawn.", "The rain falls on the hills at night."
    >>> sentences_digest(f"12 visitors\\n{one}") == sentences_digest(f"{one}\\n13 visitors")
    True
    >>> sentences_digest(one) == sentences_digest(other)
    False
    """
    blocks = (_MOMENT.sub("", block) for block in text.splitlines() if len(block) > MIN_WORDS)
    found = {" ".join(block.split()) for block in blocks if _words_in(block) >= MIN_WORDS}
    return digest("\n".join(sorted(found)).encode("utf-8", "surrogatepass"))


def _words_in(block: str) -> int:
    return len(_WORD.findall(block)) + len(_UNSPACED.findall(block)) // _CHARACTERS
