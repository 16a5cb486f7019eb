"""How many words of a page stand on no page before it, counted in bounded memory."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np

from dedup.reading.tokens import UNSPACED
from dedup.values.hashes import hashes_of

NEW_WORDS = 15
"""A page with so many words of its own is new."""

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_LETTER = re.compile(r"[^\W\d_]")
# Words that stand together: fewer are found everywhere, more are lost when one of them changes.
_TOGETHER = 3
_PLACES = 1 << 21


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
        phrases, starts, sizes, weights = _phrases(host, text)
        if not phrases:
            return 0.0
        hashes = hashes_of(phrases)
        places = (hashes & np.uint64(_PLACES - 1)).astype(np.intp)
        tags = (hashes >> np.uint64(32)).astype("<u4")
        known = self._hashes[places] == tags
        is_new, first, size = np.ones(len(weights), bool), np.asarray(starts), np.asarray(sizes)
        for at in range(_TOGETHER):
            is_new[first[known & (size > at)] + at] = False
        self._hashes[places] = tags
        return float(np.asarray(weights)[is_new].sum())

    def state(self) -> bytes:
        """Return all of it as bytes, to go on with in another process."""
        return self._hashes.tobytes()


def _phrases(host: str, text: str) -> tuple[list[str], list[int], list[int], list[float]]:
    """Return the words of *text* that stand together, as phrases, and what each word counts.

    Between them stand the number of the first word of each phrase, and how many words it has.
    """
    phrases: list[str] = []
    starts: list[int] = []
    sizes: list[int] = []
    has_spaces = text.isascii() or not _UNSPACED.search(text)
    lines = list(map(str.split if has_spaces else _WORD.findall, text.lower().split("\n")))
    # A page says most of its words several times.
    plain = {word: _plain(word) for word in set(chain.from_iterable(lines))}
    weight = {word: _weight(shown) for word, shown in plain.items()}
    first = 0
    for words in filter(None, lines):
        shown = [plain[word] for word in words]
        size = min(_TOGETHER, len(shown))
        together = zip(*(shown[at:] for at in range(size)), strict=False)
        phrases += [f"{host} {' '.join(phrase)}" for phrase in together]
        count = len(shown) - size + 1
        starts += range(first, first + count)
        sizes += [size] * count
        first += len(shown)
    return phrases, starts, sizes, [weight[word] for word in chain.from_iterable(lines)]


def _plain(word: str) -> str:
    return word if word.isalpha() or _LETTER.search(word) else "#"


def _weight(word: str) -> float:
    if word == "#":
        return 0.0
    return 0.5 if len(word) == 1 and _UNSPACED.match(word) else 1.0
