"""Algorithms of the literature that a crawl does not use, to compare with: pure functions.

Weights are multiples of 1/256, which `simhash` folds; with `dict.fromkeys(words, 1.0)` all
words weigh the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError
from dedup.model.hashes import SIMHASH_BITS, Hasher, Hashes, hashes_of, mixed, murmur3
from dedup.reading.page import Page
from dedup.reading.tokens import han_frequencies, is_han, tokens, topical_words

# Hashes


def fnv1(feature: str) -> int:
    """Return the 64-bit FNV-1 hash of *feature* in UTF-8 (Fowler, Noll, Vo; RFC 9923)."""
    value = _FNV_OFFSET
    for byte in feature.encode("utf-8", "surrogatepass"):
        value = (value * _FNV_PRIME & _MASK) ^ byte
    return value


def fnv1a(feature: str) -> int:
    """Return the 64-bit FNV-1a hash of *feature*: it spreads the last byte, too, over all bits."""
    value = _FNV_OFFSET
    for byte in feature.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


_FNV_OFFSET, _FNV_PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1

# SimHash: M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, sec. 3;
# G. Manku, A. Jain, A. Das Sarma, Detecting near-duplicates for web crawling, WWW 2007, sec. 2


def simhash(
    weights: Mapping[str, float], *, hasher: Hasher = murmur3, tie: bool = False, bits: int = 64
) -> int:
    """Return the SimHash of *weights*, a map from feature to weight, an unsigned integer of *bits*.

    Bit i is set when the features' hashes vote for it by weight; a tie leaves it clear unless
    *tie*.  No features give 0, with *tie* too.  Weights may be negative; they must be finite,
    else `ConfigError`.  *hasher* maps a feature to an unsigned 64-bit hash.  128 or 256 *bits* are
    for comparison without an index; the lowest 64 of them are the SimHash of 64 bits.

    >>> simhash({})
    0
    >>> simhash({"a": 2.0}) == murmur3("a")
    True
    """
    if bits not in SIZES:
        raise ConfigError(f"bits ({bits!r}) must be one of {', '.join(map(str, SIZES))}")
    if not weights:
        return 0
    hashes = hashes_of(weights.keys(), hasher)
    values = _exact(np.fromiter(weights.values(), np.float64))
    return sum(
        fold(mixed(hashes + np.uint64(part * _STEP & _MASK)) if part else hashes, values, tie=tie)
        << SIMHASH_BITS * part
        for part in range(bits // SIMHASH_BITS)
    )


def fold(hashes: Hashes, weights: Weights, *, tie: bool = False) -> int:
    """Return the SimHash of hashed features; *weights* are whole numbers that sum below 2**53."""
    total = weights.sum()
    found = 0
    for bit in range(SIMHASH_BITS if len(hashes) else 0):
        votes = 2 * weights[hashes >> np.uint64(bit) & np.uint64(1) == 1].sum()
        found |= int(votes > total or (tie and votes == total)) << bit
    return found


def _exact(weights: Weights) -> Weights:
    """Return finite *weights* as whole numbers in the same proportion, fine enough and exactly summable.

    Raises `ConfigError` unless they and their sum are finite.
    """
    total = math.fsum(np.abs(weights).tolist())  # in whatever order, the same
    if not math.isfinite(total):
        raise ConfigError("weights of a SimHash must be finite numbers with a finite sum")
    if not total:
        return weights
    scale = _EXACT_BITS - math.frexp(total)[1]
    return np.rint(np.ldexp(weights, scale))


SIZES = (64, 128, 256)

_STEP = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio
# Sums of integers stay exact in a float64 below 2**53, in whatever order they are added.
_EXACT_BITS = 52

Weights = NDArray[np.float64]

# MinHash: A. Broder, On the resemblance and containment of documents, 1997


def minhash(
    features: Collection[str], length: int = 128, *, hasher: Hasher = murmur3, seed: int = 0
) -> Hashes:
    """Return the MinHash signature of the set of *features*: *length* hashes (1 or more).

    A place has the smallest hash of the set under one random order: x -> a * x + b modulo 2**64, a odd;
    of no features `NOTHING`.  Those of one length, hasher and seed (0 to 2**64 - 1) can be compared.
    """
    if length < 1:
        raise ConfigError(f"length ({length}) must be 1 or more")
    numbers = np.arange(1, 2 * length + 1, dtype=np.uint64)
    drawn = mixed(mixed(numbers * _STEP) ^ np.full(2 * length, seed, np.uint64)).reshape(length, 2)
    hashes = hashes_of(features, hasher)
    smallest = [(hashes * (odd | np.uint64(1)) + offset).min(initial=NOTHING) for odd, offset in drawn]
    return np.array(smallest, np.uint64)


def estimated_jaccard(a: Hashes, b: Hashes) -> float:
    """Return the estimated Jaccard similarity (0 to 1) of the sets behind two signatures.

    The standard deviation is sqrt(j * (1 - j) / length) where j is the similarity.  Sets without a
    member have similarity 0.  Raises `ConfigError` for signatures of different lengths.
    """
    if len(a) != len(b):
        raise ConfigError(f"length ({len(b)}) must be {len(a)}, as of the other signature")
    return float(np.count_nonzero((a == b) & (a != NOTHING)) / len(a))


NOTHING = np.uint64(2**64 - 1)  # every place of the signature of a set with no members has this value


@dataclass(frozen=True, slots=True)
class Banding:
    """A signature's cut into *bands* of *rows* places each (1 or more); sets with an equal band meet.

    P. Indyk, R. Motwani, Approximate nearest neighbors, STOC 1998; J. Leskovec, A. Rajaraman, J. Ullman,
    Mining of Massive Datasets, ch. 3.4.
    """

    bands: int
    rows: int

    def __post_init__(self) -> None:
        for name, value in (("bands", self.bands), ("rows", self.rows)):
            if value < 1:
                raise ConfigError(f"{name} ({value}) must be 1 or more")

    @property
    def length(self) -> int:
        """How many places of a signature the bands take."""
        return self.bands * self.rows

    def s_curve(self, similarity: float) -> float:
        """Return how likely (0 to 1) two sets of that Jaccard similarity (0 to 1) have an equal band."""
        return float(1 - (1 - similarity**self.rows) ** self.bands)


def band_keys(signature: Hashes, banding: Banding) -> Hashes:
    """Return one key for each band of *signature*, none if it is the signature of nothing.

    Equal keys are equal bands at the same place.  Raises `ConfigError` if there are too few places.
    """
    if len(signature) < banding.length:
        raise ConfigError(f"bands ({banding.bands}) times rows must be at most {len(signature)}")
    if signature[0] == NOTHING:
        return signature[:0]
    steps = np.arange(1, banding.length + 1, dtype=np.uint64) * _STEP
    places = mixed(signature[: banding.length] + steps)
    return mixed(places.reshape(banding.bands, banding.rows).sum(axis=1, dtype=np.uint64))


# Keywords


def keywords_tfidf(text: str, count: int = 20) -> list[str]:
    """Return the occurrences of the *count* words with the highest tf * idf, as jieba has it."""
    words = tokens(text)
    return _best(words, tf_idf(words), count)


def keywords_textrank(text: str, count: int = 20) -> list[str]:
    """Return the occurrences of the *count* words with the highest TextRank.

    As `jieba.analyse` has it: Han words must be nouns, place names or verbs in jieba's dictionary,
    words of one character are never keywords; words of other scripts count as nouns.
    """
    words = tokens(text)
    topics = topical_words() if any(map(is_han, words)) else frozenset[str]()
    ranks = textrank(words, lambda word: len(word) > 1 and (not is_han(word) or word in topics))
    return _best(words, ranks, count)


def _best(words: Sequence[str], ranks: dict[str, float], count: int) -> list[str]:
    # Equal ranks are put in the order of the names, so that the order of a text does not matter.
    ranked = sorted((-rank, name) for name, rank in ranks.items() if len(name) > 1)
    best = {name for _, name in ranked[:count]}
    return [word for word in words if word in best]


SPAN, DAMPING, ROUNDS = 5, 0.85, 10


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
    heads = np.array([numbers[edge[end]] for end in (0, 1) for edge in edges], np.intp)
    tails = np.roll(heads, len(edges))
    counts = np.array([*edges.values()] * 2, np.float64)
    shares = counts / np.bincount(tails, counts, len(numbers))[tails]
    ranks = np.full(len(numbers), 1.0)
    for _ in range(ROUNDS):
        ranks = 1 - DAMPING + DAMPING * np.bincount(heads, shares * ranks[tails], len(numbers))
    return dict(zip(numbers, ranks.tolist(), strict=True))


# Weights

LEVELS = 5


def tf_idf(words: Sequence[str]) -> dict[str, float]:
    """Return how often each word occurs, times its inverse document frequency (`idf`).

    G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988.
    """
    counts = Counter(words)
    return {word: count * idf(word) for word, count in counts.items()}


def idf(word: str) -> float:
    """Return the inverse document frequency of *word*: jieba's of one in Han, else 1."""
    return float(han_frequencies(hashes_of([word]))[0]) if not word.isascii() and is_han(word) else 1.0


def levels(words: Sequence[str]) -> dict[str, float]:
    """Return 1 to 5 for each word, by the fifth that it falls in when all are sorted by tf * idf.

    Equal words have equal levels, the lower one.
    """
    ranks = tf_idf(words)
    values = np.array([*ranks.values()])
    below = np.searchsorted(np.sort(values), values)
    found = 1 + np.floor(LEVELS * below / max(len(values), 1))
    return dict(zip(ranks, found.tolist(), strict=True))


def tag_decay(page: Page, decay: float = 0.45) -> dict[str, float]:
    """Return each tag of *page* with the sum of decay^depth over its occurrences, the root at depth 0.

    Nearly all weight lies on the outermost tags, so most pages of the web are similar by it.
    """
    weights = dict.fromkeys(page.tags, 0.0)
    for (tag, depth), count in Counter(zip(page.tags, page.depths, strict=True)).items():
        weights[tag] += count * decay**depth
    return {tag: round(256 * weight) / 256 for tag, weight in weights.items()}
