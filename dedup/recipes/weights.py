"""How much each term of a text weighs.

G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988, for all that are
made of term and document frequencies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from dedup.recipes.config import DedupConfig
from dedup.recipes.functions import own_function
from dedup.recipes.simhash import Weights, exact
from dedup.recipes.terms import Terms, terms_of
from dedup.recipes.textrank import textrank
from dedup.values.errors import ConfigError

# Weights are whole multiples of 1/256, so that sums are exact and every machine agrees on them.
WEIGHT_UNIT = 256

LEVELS = 5


def weights_of(terms: Terms, text: str, config: DedupConfig) -> Weights:
    """Return the weight of each of the *terms* of *text* as whole numbers, as *config* chooses.

    Raises `ConfigError` where a function of the user's does not return finite numbers.
    """
    if not terms.names:
        return np.zeros(0)
    if config.weights not in _WEIGHTS:
        return exact(_own_weights(terms, config))
    weights: Weights = np.rint(WEIGHT_UNIT * _WEIGHTS[config.weights](terms, text, config))
    return weights


def uniform(terms: Terms, _text: str, _config: DedupConfig) -> Weights:
    """Return 1 for every term."""
    return np.ones(len(terms.names))


def tf(terms: Terms, _text: str, _config: DedupConfig) -> Weights:
    """Return how often each term occurs.

    Function words and menus outweigh everything else: unrelated pages become similar.
    """
    return terms.counts.astype(np.float64)


def sublinear_tf(terms: Terms, _text: str, _config: DedupConfig) -> Weights:
    """Return 1 + ln tf."""
    weights: Weights = 1 + np.log(terms.counts)
    return weights


def tf_idf(terms: Terms, _text: str, config: DedupConfig) -> Weights:
    """Return tf * idf, idf as `Terms.idf` says."""
    return terms.counts * terms.idf(config.frequencies)


def sublinear_tf_idf(terms: Terms, text: str, config: DedupConfig) -> Weights:
    """Return (1 + ln tf) * sqrt(idf): both are damped, so that no term outvotes the others."""
    return sublinear_tf(terms, text, config) * np.sqrt(terms.idf(config.frequencies))


def line_tf_idf(terms: Terms, text: str, config: DedupConfig) -> Weights:
    """Return tf * idf where the documents are the page's own lines: ln((1 + lines) / (1 + df)) + 1.

    It needs no table.  A word on every line, as in lists of products, weighs little.
    """
    lines = text.splitlines()
    df = Counter(term for line in lines for term in set(terms_of(line, config)))
    documents = np.array([df[name] for name in terms.names], np.float64)
    weights: Weights = terms.counts * (np.log((1 + len(lines)) / (1 + documents)) + 1)
    return weights


def textrank_weights(terms: Terms, _text: str, _config: DedupConfig) -> Weights:
    """Return the TextRank of each term; one that has no other near it weighs 1 - damping."""
    ranks = textrank([terms.names[number] for number in terms.sequence])
    return np.array([ranks.get(name, 0.15) for name in terms.names])


def levels(terms: Terms, text: str, config: DedupConfig) -> Weights:
    """Return 1 to 5, by the fifth of the terms that a term falls in when sorted by tf * idf.

    Equal terms have equal levels, the lower one.
    """
    values = tf_idf(terms, text, config)
    below = np.searchsorted(np.sort(values), values)
    weights: Weights = 1 + np.floor(LEVELS * below / len(values))
    return weights


def _own_weights(terms: Terms, config: DedupConfig) -> Weights:
    returned = own_function("weights", config.weights)(
        [terms.names[number] for number in terms.sequence]
    )
    return np.array(list(finite("weights", config.weights, returned, terms.names).values()))


def finite(
    field: str, function: str, returned: object, names: list[str] | None = None
) -> dict[str, float]:
    """Return the weights, of *names* if given, that a user's function *returned*; checks them."""
    if isinstance(returned, Mapping):
        chosen = returned if names is None else {name: returned.get(name, 0.0) for name in names}
        try:
            weights = {str(name): float(weight) for name, weight in chosen.items()}
        except (TypeError, ValueError):
            weights = {"": math.nan}
        if all(map(math.isfinite, weights.values())):
            return weights
    raise ConfigError(f"{field} ({function!r}) must return a map of texts to finite numbers")


_WEIGHTS: dict[str, Callable[[Terms, str, DedupConfig], Weights]] = {
    "uniform": uniform,
    "tf": tf,
    "sublinear_tf": sublinear_tf,
    "tf_idf": tf_idf,
    "sublinear_tf_idf": sublinear_tf_idf,
    "line_tf_idf": line_tf_idf,
    "textrank": textrank_weights,
    "levels": levels,
}
