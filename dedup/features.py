"""What a page is made of, with weights: terms of its text, patterns of its tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.config import DedupConfig
from dedup.dictionary import han_frequencies
from dedup.hashing import Words, hash_words
from dedup.page import Page
from dedup.simhashing import Weights
from dedup.tokens import is_han

# Weights are whole multiples of 1/256, so that sums are exact and every machine agrees on them.
WEIGHT_UNIT = 256

TAG_NGRAM = 4


@dataclass(frozen=True, slots=True)
class Terms:
    """The different tokens of a text (*names*), how often each occurs, and the text as their numbers."""

    names: list[str]
    counts: NDArray[np.intp]
    sequence: NDArray[np.intp]

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> Terms:
        """Return the terms of a text."""
        numbers: dict[str, int] = {}
        sequence = np.fromiter(
            (numbers.setdefault(token, len(numbers)) for token in tokens), np.intp, len(tokens)
        )
        return cls(list(numbers), np.bincount(sequence, minlength=len(numbers)), sequence)

    def words(self) -> Words:
        """Return the hash of each of *names*."""
        return hash_words(self.names)

    def weights(self) -> Weights:
        """Return the weight of each of *names*: (1 + ln tf) * sqrt(idf), in units of 1/256.

        idf is jieba's for Han words and 1 for all others (G. Salton, C. Buckley, Term-weighting
        approaches in automatic text retrieval, 1988, on why tf and idf are damped).
        """
        weights: Weights = np.rint(WEIGHT_UNIT * (1 + np.log(self.counts)) * np.sqrt(self._idf()))
        return weights

    def _idf(self) -> Weights:
        idf = np.ones(len(self.names))
        han = [number for number, name in enumerate(self.names) if is_han(name)]
        if han:
            idf[han] = han_frequencies()[[self.names[number] for number in han]]
        return idf


def content_features(tokens: Sequence[str]) -> dict[str, float]:
    """Return the terms of *tokens* with their weights, as `Terms.weights` gives them."""
    terms = Terms.from_tokens(tokens)
    return dict(zip(terms.names, terms.weights().tolist(), strict=True))


def structure_features(page: Page, config: DedupConfig) -> dict[str, float]:
    """Return the structural features of *page* with whole weights, empty where it has no tags."""
    weights = _STRUCTURES[config.structure](page, config)
    return {feature: float(round(WEIGHT_UNIT * weight)) for feature, weight in weights.items()}


def tag_ngrams(page: Page, _: DedupConfig) -> Mapping[str, float]:
    """Return each run of four tags in document order, weighted ln(1 + count).

    A page of fewer tags is one run.
    """
    tags = page.tags
    if 0 < len(tags) < TAG_NGRAM:
        return {" ".join(tags): 1.0}
    counts = Counter(zip(*(tags[start:] for start in range(TAG_NGRAM)), strict=False))
    return {" ".join(gram): float(np.log1p(count)) for gram, count in counts.items()}


def tag_decay(page: Page, config: DedupConfig) -> Mapping[str, float]:
    """Return each tag with the sum of decay^depth over its occurrences, the root at depth 0.

    The plain form of the literature.  Nearly all weight lies on the outermost tags, so most pages
    of the web look alike to it: measure before you use it.
    """
    weights: dict[str, float] = {}
    for (tag, depth), count in Counter(zip(page.tags, page.depths, strict=True)).items():
        weights[tag] = weights.get(tag, 0.0) + count * config.structure_decay**depth
    return weights


_STRUCTURES: dict[str, Callable[[Page, DedupConfig], Mapping[str, float]]] = {
    "tag_ngrams": tag_ngrams,
    "tag_decay": tag_decay,
}
