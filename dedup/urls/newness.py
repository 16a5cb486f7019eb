"""How many words of a page stand on no page before it, counted in bounded memory."""

from __future__ import annotations

import re

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
        phrases, spans, weights = _phrases(host, text)
        if not phrases:
            return 0.0
        hashes = hashes_of(phrases)
        places = (hashes & np.uint64(_PLACES - 1)).astype(np.intp)
        tags = (hashes >> np.uint64(32)).astype("<u4")
        known = self._hashes[places] == tags
        is_new = np.ones(len(weights), bool)
        for (start, end), is_known in zip(spans, known.tolist(), strict=True):
            if is_known:
                is_new[start:end] = False
        self._hashes[places] = tags
        return float(np.asarray(weights)[is_new].sum())

    def state(self) -> bytes:
        """Return all of it as bytes, to go on with in another process."""
        return self._hashes.tobytes()


def _phrases(host: str, text: str) -> tuple[list[str], list[tuple[int, int]], list[float]]:
    """Return the words of *text* that stand together, the place of each, and what each word counts."""
    phrases: list[str] = []
    spans: list[tuple[int, int]] = []
    weights: list[float] = []
    for line in text.lower().split("\n"):
        words = _WORD.findall(line)
        plain = [word if _LETTER.search(word) else "#" for word in words]
        size = min(_TOGETHER, len(plain))
        first = len(weights)
        for start in range(len(plain) - size + 1 if plain else 0):
            phrases.append(f"{host} {' '.join(plain[start : start + size])}")
            spans.append((first + start, first + start + size))
        weights += [_weight(word) for word in plain]
    return phrases, spans, weights


def _weight(word: str) -> float:
    if word == "#":
        return 0.0
    return 0.5 if _UNSPACED.fullmatch(word) else 1.0
