"""What of a text is weighed: its words, or runs of its characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dedup.reading.dictionary import file_lines, han_frequencies, segmenter
from dedup.reading.tokens import is_han, normalized, token_lines
from dedup.recipes.config import DedupConfig
from dedup.recipes.functions import own_function
from dedup.values.errors import ConfigError
from dedup.values.hashes import Hasher, Hashes, hashes_of, murmur3

CHARACTER_NGRAM = 4


@dataclass(frozen=True, slots=True)
class Terms:
    """The different terms of a text (*names*), how often each occurs, and the text as their numbers."""

    names: list[str]
    counts: NDArray[np.intp]
    sequence: NDArray[np.intp]

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> Terms:
        """Return the terms of a text."""
        names = list(dict.fromkeys(tokens))
        numbers = dict(zip(names, range(len(names)), strict=True))
        sequence = np.fromiter(map(numbers.__getitem__, tokens), np.intp, len(tokens))
        return cls(names, np.bincount(sequence, minlength=len(names)), sequence)

    def hashes(self, hasher: Hasher = murmur3) -> Hashes:
        """Return the hash of each of *names*."""
        return hashes_of(self.names, hasher)

    def idf(self) -> NDArray[np.float64]:
        """Return the inverse document frequency of each of *names*: jieba's of Han words, else 1."""
        idf = np.ones(len(self.names))
        if "".join(self.names).isascii():
            return idf
        han = [number for number, name in enumerate(self.names) if not name.isascii() and is_han(name)]
        if han:
            idf[han] = han_frequencies()[[self.names[number] for number in han]]
        return idf


def tokens_of(text: str, config: DedupConfig) -> list[str]:
    """Return the tokens of *text* in their order, as sketch and digest see them."""
    return list(chain.from_iterable(token_lines_of(text, config)))


def token_lines_of(text: str, config: DedupConfig) -> list[list[str]]:
    """Return the same, those of each line for themselves."""
    return token_lines(text, segment=segmenter(config.user_dictionary))


def terms_of(text: str, config: DedupConfig, words: Sequence[str] | None = None) -> list[str]:
    """Return the terms of *text* that *config* chooses, in their order, with their repetitions.

    *words* are those of `tokens_of`, if they are known already.  Raises `ConfigError` where a
    function of the user's does not return texts.
    """
    if config.terms == "words":
        terms = list(tokens_of(text, config) if words is None else words)
    elif config.terms == "character_ngrams":
        terms = character_ngrams(text)
    else:
        terms = _own_terms(text, config)
    if config.stop_words:
        stopped = _stop_words(config.stop_words)
        # A single letter keeps its case: "I" and "A" are the stop words "i" and "a".
        terms = [term for term in terms if term.lower() not in stopped]
    return terms


def character_ngrams(text: str, size: int = CHARACTER_NGRAM) -> list[str]:
    """Return the runs of *size* letters and digits (1 or more), over the ends of words; in lower case.

    All of a shorter text is one.  Needs no words, so it suits every script (M. Damashek, Gauging
    similarity with n-grams, Science 1995).

    >>> character_ngrams("Ab, cde")
    ['abcd', 'bcde']
    """
    return ["".join(run) for run in runs("".join(re.findall(r"\w+", normalized(text))), size)]


def _own_terms(text: str, config: DedupConfig) -> list[str]:
    terms = own_function("terms", config.terms)(text)
    if isinstance(terms, str) or not isinstance(terms, Iterable):
        raise ConfigError(f"terms ({config.terms!r}) must return a list of texts")
    listed = list(terms)
    if not all(isinstance(term, str) for term in listed):
        raise ConfigError(f"terms ({config.terms!r}) must return a list of texts")
    return listed


def runs(parts: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    """Return the runs of *size* neighbours (1 or more) in *parts*; all of fewer parts are one."""
    if len(parts) <= size:
        return [parts] if parts else []
    return zip(*(parts[start:] for start in range(size)), strict=False)


@cache
def _stop_words(path: str) -> frozenset[str]:
    return frozenset(normalize("NFKC", line).lower() for line in file_lines("stop_words", path))
