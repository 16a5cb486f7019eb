"""How much each term of a text weighs: `sublinear_tf_idf` in a crawl, and others of the literature.

Those take the terms of a text in their order, with their repetitions, and return a weight for each
different one, a multiple of 1/256.  G. Salton, C. Buckley, Term-weighting approaches in
automatic text retrieval, 1988, for all that are made of term and document frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dedup.algorithms.simhash import Weights
from dedup.algorithms.terms import DAMPING, Terms, textrank

# Weights are whole multiples of 1/256, so that sums are exact and every machine agrees on them.
WEIGHT_UNIT = 256
LEVELS = 5


def whole_weights(terms: Terms) -> Weights:
    """Return the `sublinear_tf_idf` of each of the *terms* of a text as whole numbers."""
    weights: Weights = np.rint(WEIGHT_UNIT * sublinear_tf_idf(terms))
    return weights


def sublinear_tf_idf(terms: Terms) -> Weights:
    """Return (1 + ln tf) * sqrt(idf): both are damped, so that no term outvotes the others."""
    weights: Weights = (1 + np.log(terms.counts)) * np.sqrt(terms.idf())
    return weights


def uniform(terms: Sequence[str]) -> dict[str, float]:
    """Return 1 for every term."""
    return dict.fromkeys(terms, 1.0)


def tf(terms: Sequence[str]) -> dict[str, float]:
    """Return how often each term occurs.

    Function words and menus outweigh everything else: unrelated pages become similar.

    >>> tf(["a", "b", "a"])
    {'a': 2.0, 'b': 1.0}
    """
    counted = Terms.from_tokens(terms)
    return _weights(counted, counted.counts.astype(np.float64))


def sublinear_tf(terms: Sequence[str]) -> dict[str, float]:
    """Return 1 + ln tf."""
    counted = Terms.from_tokens(terms)
    return _weights(counted, 1 + np.log(counted.counts))


def tf_idf(terms: Sequence[str]) -> dict[str, float]:
    """Return tf * idf, idf as `Terms.idf` says."""
    counted = Terms.from_tokens(terms)
    return _weights(counted, _tf_idf(counted))


def textrank_weights(terms: Sequence[str]) -> dict[str, float]:
    """Return the TextRank of each term; one that has no other near it weighs 1 - damping."""
    ranks, counted = textrank(terms), Terms.from_tokens(terms)
    return _weights(counted, np.array([ranks.get(name, 1 - DAMPING) for name in counted.names]))


def levels(terms: Sequence[str]) -> dict[str, float]:
    """Return 1 to 5, by the fifth of the terms that a term falls in when sorted by tf * idf.

    Equal terms have equal levels, the lower one.
    """
    counted = Terms.from_tokens(terms)
    values = _tf_idf(counted)
    below = np.searchsorted(np.sort(values), values)
    return _weights(counted, 1 + np.floor(LEVELS * below / max(len(values), 1)))


def _tf_idf(counted: Terms) -> Weights:
    return counted.counts * counted.idf()


def _weights(counted: Terms, weights: Weights) -> dict[str, float]:
    whole = np.rint(WEIGHT_UNIT * weights) / WEIGHT_UNIT
    return dict(zip(counted.names, whole.tolist(), strict=True))
