"""How much each term of a text weighs.

G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dedup.recipes.config import DedupConfig
from dedup.recipes.functions import own_function
from dedup.recipes.simhash import Weights, exact
from dedup.recipes.terms import Terms
from dedup.values.errors import ConfigError

# Weights are whole multiples of 1/256, so that sums are exact and every machine agrees on them.
WEIGHT_UNIT = 256


def weights_of(terms: Terms, config: DedupConfig) -> Weights:
    """Return the weight of each of the *terms* of a text as whole numbers, as *config* chooses.

    Raises `ConfigError` where a function of the user's does not return finite numbers.
    """
    if not terms.names:
        return np.zeros(0)
    if config.weights != "sublinear_tf_idf":
        return exact(_own_weights(terms, config))
    weights: Weights = np.rint(WEIGHT_UNIT * sublinear_tf_idf(terms))
    return weights


def sublinear_tf_idf(terms: Terms) -> Weights:
    """Return (1 + ln tf) * sqrt(idf): both are damped, so that no term outvotes the others."""
    weights: Weights = (1 + np.log(terms.counts)) * np.sqrt(terms.idf())
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
