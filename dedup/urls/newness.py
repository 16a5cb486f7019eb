"""How many words of a page stand on no page before it, counted in bounded memory."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dedup.reading.compiled import compiled_pages
from dedup.reading.tokens import LETTER, UNSPACED
from dedup.recipes.sketch import shingle_hashes
from dedup.recipes.terms import Terms
from dedup.values.hashes import Hashes, hashes_of, murmur3

NEW_WORDS = 15
"""A page with so many words of its own is new."""

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
TOGETHER = 3
"""The words of a phrase: fewer are found everywhere, more are lost when one of them changes."""
_PLACES = 1 << 21

_Numbers = NDArray[np.intp]


class Newness:
    """Knows what words stood together on the last pages: some two million places, 8 MB.

    A word is known if it stood beside the same words in a line of another page of the host, in whatever
    order the lines come.  What has no letter counts for nothing: counters and dates are always new.
    """

    def __init__(self, state: bytes = b"") -> None:
        # Each place has one hash; a new one takes the place of another, so the oldest are forgotten.
        self._hashes = np.zeros(_PLACES, "<u4")
        if len(state) == self._hashes.nbytes:
            self._hashes = np.frombuffer(state, "<u4").copy()

    def words(self, host: str, text: str) -> float:
        """Return how many words of *text*, a page of *host*, no page before it had; they are known now.

        Two characters of a script without spaces are a word.
        """
        module, host_hash = compiled_pages(), murmur3(host)
        found = None if module is None else module.new_words(text, host_hash, self._hashes, TOGETHER)
        return new_words_in_python(text, host_hash, self._hashes) if found is None else found

    def state(self) -> bytes:
        """Return all of it as bytes, to go on with in another process."""
        return self._hashes.tobytes()


def new_words_in_python(text: str, host: int, known: NDArray[np.uint32]) -> float:
    """Return how many words of *text* are in no phrase that is *known*, and note its own there."""
    has_spaces = text.isascii() or not _UNSPACED.search(text)
    lines = list(map(str.split if has_spaces else _WORD.findall, text.lower().split("\n")))
    words = Terms.from_tokens(list(chain.from_iterable(lines)))
    weights = np.array(list(map(_weight, words.names)))[words.sequence]
    plain = [name if LETTER.search(name) else "#" for name in words.names]
    phrases, first, size = _phrases(hashes_of(plain)[words.sequence], np.array(list(map(len, lines))))
    phrases ^= np.uint64(host)
    places = (phrases & np.uint64(len(known) - 1)).astype(np.intp)
    tags = (phrases >> np.uint64(32)).astype("<u4")
    is_known = known[places] == tags
    for at in range(TOGETHER):
        weights[first[is_known & (size > at)] + at] = 0
    known[places] = tags
    return float(weights.sum())


def _phrases(words: Hashes, lengths: _Numbers) -> tuple[Hashes, _Numbers, _Numbers]:
    """Return the words that stand together in lines of so many words, as one hash for each phrase.

    Beside them stand the number of the first word of each phrase, and how many words it has.
    """
    behind = lengths.cumsum().repeat(lengths)
    sizes = np.minimum(lengths, TOGETHER).repeat(lengths)
    first = np.flatnonzero(np.arange(len(words)) + sizes <= behind)
    size = sizes[first]
    phrases = np.empty(len(first), np.uint64)
    for number in np.unique(size).tolist():
        phrases[size == number] = shingle_hashes(words, number)[first[size == number]]
    return phrases, first, size


def _weight(word: str) -> float:
    if not LETTER.search(word):
        return 0.0
    return 0.5 if len(word) == 1 and _UNSPACED.match(word) else 1.0
