"""The sentences of a text: what an edit changes, and a clock, a counter or another order does not."""

from __future__ import annotations

import re

from dedup.reading.tokens import UNSPACED
from dedup.values.fingerprint import HALF
from dedup.values.hashes import digest

# A block of fewer words is no sentence, but a label, a menu or a clock.
MIN_WORDS = 8
# So many characters of a script without spaces are a word.
_CHARACTERS = 2
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]\w*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_MOMENT = re.compile(r"\b(?:\d{1,2}:\d{2}(?::\d{2})?|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b")


def sentences_digest(text: str) -> bytes:
    """Return two digests of *text*, 8 bytes each.

    The first is that of its sentences: its blocks of eight words or more, each once, in any order,
    without times and dates; where there are none, that of all its blocks.  The second is that of all
    blocks, of which only sentences may be in another order: what is short, such as a score, says
    something by where it stands.

    >>> one, other = "The sun rises over the hills at dawn.", "The rain falls on the hills at night."
    >>> sentences_digest(f"12 visitors\\n{one}")[:8] == sentences_digest(f"{one}\\n13 visitors")[:8]
    True
    >>> sentences_digest(one)[:8] == sentences_digest(other)[:8]
    False
    >>> sentences_digest(f"{one}\\n{other}") == sentences_digest(f"{other}\\n{one}")
    True
    """
    short: list[str] = []
    long: list[str] = []
    for block in text.splitlines():
        is_long = len(block) > MIN_WORDS and _words_in(_MOMENT.sub("", block)) >= MIN_WORDS
        (long if is_long else short).append(" ".join(block.split()))
    said = {" ".join(_MOMENT.sub("", block).split()) for block in long}
    halves = sorted(said) or short, [*filter(None, short), "", *sorted(long)]
    texts = ("\n".join(["", *one]).encode("utf-8", "surrogatepass") or b"-" for one in halves)
    return b"".join(digest(text)[:HALF] for text in texts)


def _words_in(block: str) -> int:
    return len(_WORD.findall(block)) + len(_UNSPACED.findall(block)) // _CHARACTERS
