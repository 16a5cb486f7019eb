"""The two tables that come with jieba: which Han words there are and how rare each is.

Both belong to the recipe by digest, because another table gives other words and other weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from statistics import median_high
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dedup.hashing import digest, hash_words

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Segmenter = Callable[[str], Iterable[str]]

# The dictionary of jieba 0.42.1, which rjieba carries compiled in and cannot be asked for.
RJIEBA_DICTIONARY = "abb0fde2fd1e81ed00bf609b85ac28bf"


@cache
def dictionary_digest() -> str:
    """Return the digest of jieba's dictionary in hexadecimal digits."""
    return digest(_table("dict.txt").read_bytes()).hex()


@cache
def frequencies_digest() -> str:
    """Return the digest of jieba's table of inverse document frequencies in hexadecimal digits."""
    return digest(_table("analyse", "idf.txt").read_bytes()).hex()


@cache
def segmenter() -> Segmenter:
    """Return a function that cuts Han text into words: rjieba's if it knows the same ones, or jieba's.

    Both run without the hidden Markov model, whose guesses at unknown words would make equal
    passages come out unequal, and leave the user's own jieba (`jieba.dt`) alone.
    """
    if dictionary_digest() == RJIEBA_DICTIONARY:
        try:
            import rjieba
        except ImportError:
            pass
        else:
            return lambda text: rjieba.cut(text, hmm=False)
    return jieba_segmenter()


@cache
def jieba_segmenter() -> Segmenter:
    """Return jieba's own segmenter, loaded once (a second or so) at its first call."""
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    return lambda text: tokenizer.cut(text, HMM=False)


@cache
def han_frequencies() -> InverseFrequencies:
    """Return jieba's inverse document frequencies of Han words, loaded once."""
    lines = _table("analyse", "idf.txt").read_text("utf-8").splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if line]
    return InverseFrequencies([word for word, _ in pairs], [float(value) for _, value in pairs])


class InverseFrequencies:
    """A frozen table of idf values, held as sorted hashes: 3 MB for 270,000 words, not 40.

    A word that is not in the table has the median value, as in jieba.
    """

    def __init__(self, words: Sequence[str], values: Sequence[float]) -> None:
        hashes = hash_words(words)
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._values = np.array(values)[order]
        self._unknown = median_high(values)

    def __getitem__(self, words: Sequence[str]) -> NDArray[np.float64]:
        hashes = hash_words(words)
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        return np.where(self._hashes[places] == hashes, self._values[places], self._unknown)


def _table(*path: str) -> Traversable:
    return files("jieba").joinpath(*path)
