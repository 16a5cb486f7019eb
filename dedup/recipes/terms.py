"""What of a text is weighed: words of several kinds, runs of words or characters, keywords."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dedup.reading.dictionary import (
    file_lines,
    han_frequencies,
    jieba_segmenter,
    own_frequencies,
    segmenter,
    topical_words,
)
from dedup.reading.tokens import is_han, normalized, tokens
from dedup.recipes.config import DedupConfig
from dedup.recipes.functions import own_function
from dedup.recipes.textrank import textrank
from dedup.values.errors import ConfigError
from dedup.values.hashes import Hasher, Hashes, hashes_of, murmur3

CHARACTER_NGRAM = 4
WORD_SHINGLE = 3

# Without `keywords` a page has one keyword for every so many words, within these bounds.
WORDS_PER_KEYWORD = 20
FEWEST_KEYWORDS, MOST_KEYWORDS = 10, 200

_WORD = re.compile(r"\w")
# UAX #29 in short: what joins letters (an apostrophe, a middle dot), what joins digits.
_UNICODE_WORD = re.compile(
    r"[\u3040-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|\d+(?:[.,]\d+)+"
    r"|(?:(?![\u3040-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    r"[\w\u0300-\u036f]|(?<=\w)['’.:·](?=[^\W\d_]))+"
)


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

    def idf(self, frequencies: str = "") -> NDArray[np.float64]:
        """Return the inverse document frequency of each of *names*.

        It is looked up in the user's table, the file *frequencies*.  Without one, it is jieba's for Han
        words and 1 for all others.
        """
        if frequencies:
            return own_frequencies(frequencies)[self.names]
        idf = np.ones(len(self.names))
        if "".join(self.names).isascii():
            return idf
        han = [number for number, name in enumerate(self.names) if not name.isascii() and is_han(name)]
        if han:
            idf[han] = han_frequencies()[[self.names[number] for number in han]]
        return idf


def tokens_of(text: str, config: DedupConfig) -> list[str]:
    """Return the tokens of *text* in their order, as sketch and digest see them."""
    return tokens(text, segment=segmenter(config.user_dictionary))


def terms_of(text: str, config: DedupConfig, words: Sequence[str] | None = None) -> list[str]:
    """Return the terms of *text* that *config* chooses, in their order, with their repetitions.

    *words* are those of `tokens_of`, if they are known already.  Raises `ConfigError` where a
    function of the user's does not return texts.
    """
    words = tokens_of(text, config) if words is None else words
    if config.terms in _OF_WORDS:
        terms = _OF_WORDS[config.terms](words, config)
    elif config.terms in _OF_TEXT:
        terms = _OF_TEXT[config.terms](text, config)
    else:
        terms = _own_terms(text, config)
    if config.stop_words:
        stopped = _stop_words(config.stop_words)
        # A single letter keeps its case: "I" and "A" are the stop words "i" and "a".
        terms = [term for term in terms if term.lower() not in stopped]
    return terms


def word_shingles(words: Sequence[str], config: DedupConfig) -> list[str]:
    """Return the runs of `term_size` (3) words, a space between; all of a shorter text is one.

    A. Broder and others, Syntactic clustering of the web, 1997.
    """
    return [" ".join(run) for run in _runs(words, config.term_size or WORD_SHINGLE)]


def character_ngrams(text: str, config: DedupConfig) -> list[str]:
    """Return the runs of `term_size` (4) letters and digits, over the ends of words; in lower case.

    All of a shorter text is one.  Needs no words, so it suits every script (M. Damashek, Gauging
    similarity with n-grams, Science 1995).
    """
    characters = "".join(re.findall(r"\w+", normalized(text)))
    return ["".join(run) for run in _runs(characters, config.term_size or CHARACTER_NGRAM)]


def unicode_words(text: str, _: DedupConfig) -> list[str]:
    """Return the words of *text* by the boundaries of Unicode's UAX #29, without a dictionary.

    An apostrophe or a dot between letters, and a comma or a dot between digits, stay inside a word;
    Han characters and hiragana stand alone.

    >>> unicode_words("Don't pay 1,000.50 for 武汉", DedupConfig())
    ["don't", 'pay', '1,000.50', 'for', '武', '汉']
    """
    return _UNICODE_WORD.findall(normalized(text))


def keywords_tfidf(words: Sequence[str], config: DedupConfig) -> list[str]:
    """Return the occurrences of the words with the highest tf * idf, as `jieba.analyse` ranks them.

    Words of one character are never keywords.  How many: see `keyword_count`.
    """
    terms = Terms.from_tokens(words)
    if not terms.names:
        return []
    return _best(words, terms.names, (terms.counts * terms.idf(config.frequencies)).tolist(), config)


def keywords_textrank(words: Sequence[str], config: DedupConfig) -> list[str]:
    """Return the occurrences of the words with the highest TextRank among those near each other.

    As `jieba.analyse` has it: Han words must be nouns, place names or verbs in jieba's dictionary,
    words of one character are never keywords; words of other scripts count as nouns.
    """
    topics = topical_words() if any(map(is_han, words)) else frozenset[str]()
    ranks = textrank(words, lambda word: len(word) > 1 and (not is_han(word) or word in topics))
    return _best(words, list(ranks), list(ranks.values()), config)


def keyword_count(words: int, config: DedupConfig) -> int:
    """Return how many keywords a text of so many *words* has: `keywords`, or by its length.

    By length it is one for every `WORDS_PER_KEYWORD` words, at least 10 and at most 200.
    """
    by_length = min(max(words // WORDS_PER_KEYWORD, FEWEST_KEYWORDS), MOST_KEYWORDS)
    return config.keywords or by_length


def _best(words: Sequence[str], names: list[str], ranks: list[float], config: DedupConfig) -> list[str]:
    # Equal ranks are put in the order of the names, so that the order of a text does not matter.
    ranked = sorted((-rank, name) for name, rank in zip(names, ranks, strict=True) if len(name) > 1)
    best = {name for _, name in ranked[: keyword_count(len(words), config)]}
    return [word for word in words if word in best]


def _jieba(mode: str) -> Callable[[str, DedupConfig], list[str]]:
    def cut(text: str, config: DedupConfig) -> list[str]:
        segment = jieba_segmenter(mode, config.user_dictionary)
        return [word for word in segment(normalized(text)) if _WORD.search(word)]

    return cut


def _own_terms(text: str, config: DedupConfig) -> list[str]:
    terms = own_function("terms", config.terms)(text)
    if isinstance(terms, str) or not isinstance(terms, Iterable):
        raise ConfigError(f"terms ({config.terms!r}) must return a list of texts")
    listed = list(terms)
    if not all(isinstance(term, str) for term in listed):
        raise ConfigError(f"terms ({config.terms!r}) must return a list of texts")
    return listed


def _runs(parts: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    if len(parts) <= size:
        return [parts] if parts else []
    return zip(*(parts[start:] for start in range(size)), strict=False)


@cache
def _stop_words(path: str) -> frozenset[str]:
    return frozenset(normalize("NFKC", line).lower() for line in file_lines("stop_words", path))


_OF_WORDS: dict[str, Callable[[Sequence[str], DedupConfig], list[str]]] = {
    "words": lambda words, _: list(words),
    "word_shingles": word_shingles,
    "keywords_tfidf": keywords_tfidf,
    "keywords_textrank": keywords_textrank,
}
_OF_TEXT: dict[str, Callable[[str, DedupConfig], list[str]]] = {
    "character_ngrams": character_ngrams,
    "jieba": _jieba("exact"),
    "jieba_full": _jieba("full"),
    "jieba_search": _jieba("search"),
    "unicode_words": unicode_words,
}
