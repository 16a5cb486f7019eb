"""The terms of a text: its words, which a crawl weighs, and others of the literature.

Each function takes a text and returns its terms in their order, with their repetitions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.model.hashes import Hasher, Hashes, hashes_of, murmur3
from dedup.reading.chinese import han_frequencies, jieba_segmenter, segmenter, topical_words
from dedup.reading.tokens import is_han, normalized, tokens

CHARACTER_NGRAM = 4
WORD_SHINGLE = 3

# A page has one keyword for every so many words, within these bounds.
WORDS_PER_KEYWORD = 20
FEWEST_KEYWORDS, MOST_KEYWORDS = 10, 200

_WORD = re.compile(r"\w")


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


def character_ngrams(text: str, size: int = CHARACTER_NGRAM) -> list[str]:
    """Return the runs of *size* letters and digits (1 or more), over the ends of words; in lower case.

    All of a shorter text is one.  Needs no words, so it suits every script (M. Damashek, Gauging
    similarity with n-grams, Science 1995).

    >>> character_ngrams("Ab, cde")
    ['abcd', 'bcde']
    """
    return ["".join(run) for run in runs("".join(re.findall(r"\w+", normalized(text))), size)]


def word_shingles(text: str, size: int = WORD_SHINGLE) -> list[str]:
    """Return the runs of *size* words (1 or more), a space between; all of a shorter text is one.

    A. Broder and others, Syntactic clustering of the web, 1997.

    >>> word_shingles("to be or not")
    ['to be or', 'be or not']
    """
    return [" ".join(run) for run in runs(_words(text), size)]


def runs(parts: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    """Return the runs of *size* neighbours (1 or more) in *parts*; all of fewer parts are one."""
    if len(parts) <= size:
        return [parts] if parts else []
    return zip(*(parts[start:] for start in range(size)), strict=False)


def jieba_words(text: str) -> list[str]:
    """Return the words of jieba in its exact mode."""
    return [word for word in jieba_segmenter()(normalized(text)) if _WORD.search(word)]


def keywords_tfidf(text: str, count: int = 0) -> list[str]:
    """Return the occurrences of the words with the highest tf * idf, as `jieba.analyse` ranks them.

    Words of one character are never keywords.  There are *count* different ones, 0 for `keyword_count`.
    """
    words = _words(text)
    terms = Terms.from_tokens(words)
    return _best(words, terms.names, (terms.counts * terms.idf()).tolist(), count) if words else []


def keywords_textrank(text: str, count: int = 0) -> list[str]:
    """Return the occurrences of the words with the highest TextRank among those near each other.

    As `jieba.analyse` has it: Han words must be nouns, place names or verbs in jieba's dictionary,
    words of one character are never keywords; words of other scripts count as nouns.  There are *count*
    different ones, 0 for `keyword_count`.
    """
    words = _words(text)
    topics = topical_words() if any(map(is_han, words)) else frozenset[str]()
    ranks = textrank(words, lambda word: len(word) > 1 and (not is_han(word) or word in topics))
    return _best(words, list(ranks), list(ranks.values()), count)


def keyword_count(words: int) -> int:
    """Return how many keywords a text of so many *words* has: one for every 20 words, 10 to 200."""
    return min(max(words // WORDS_PER_KEYWORD, FEWEST_KEYWORDS), MOST_KEYWORDS)


def _words(text: str) -> list[str]:
    return tokens(text, segment=segmenter())


def _best(words: Sequence[str], names: list[str], ranks: list[float], count: int) -> list[str]:
    # Equal ranks are put in the order of the names, so that the order of a text does not matter.
    ranked = sorted((-rank, name) for name, rank in zip(names, ranks, strict=True) if len(name) > 1)
    best = {name for _, name in ranked[: count or keyword_count(len(words))]}
    return [word for word in words if word in best]


SPAN = 5
DAMPING = 0.85
ROUNDS = 10


def textrank(words: Sequence[str], is_candidate: Callable[[str], bool] = bool) -> dict[str, float]:
    """Return the rank of each word that *is_candidate* and has another one within `SPAN` words.

    Ranks sum to about the number of words ranked.  R. Mihalcea, P. Tarau, TextRank: Bringing order into
    texts, EMNLP 2004; window, damping and rounds are those of `jieba.analyse`.
    """
    kept = [word if is_candidate(word) else None for word in words]
    edges = Counter(
        (one, other)
        for step in range(1, SPAN)
        for one, other in zip(kept, kept[step:], strict=False)
        if one is not None and other is not None
    )
    numbers = {name: number for number, name in enumerate(sorted({w for edge in edges for w in edge}))}
    heads = np.array(
        [numbers[one] for one, _ in edges] + [numbers[other] for _, other in edges], np.intp
    )
    tails = np.roll(heads, len(edges))
    counts = np.array([*edges.values()] * 2, np.float64)
    shares = counts / np.bincount(tails, counts, len(numbers))[tails]
    ranks = np.full(len(numbers), 1.0)
    for _ in range(ROUNDS):
        ranks = 1 - DAMPING + DAMPING * np.bincount(heads, shares * ranks[tails], len(numbers))
    return dict(zip(numbers, ranks.tolist(), strict=True))
