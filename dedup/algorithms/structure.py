"""Other features of a page's tags than the default ones.

Each function takes a page and returns its features with weights, multiples of 1/256.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from dedup.reading.page import Page
from dedup.recipes.weights import WEIGHT_UNIT

TAG_NGRAM = 4
PATH_LEVELS = 4
DECAY = 0.45


def tag_ngrams(page: Page) -> dict[str, float]:
    """Return each run of four tags in document order, weighted ln(1 + count).

    A page of fewer tags is one run.
    """
    tags = page.tags
    if 0 < len(tags) < TAG_NGRAM:
        return {" ".join(tags): 1.0}
    counts = Counter(zip(*(tags[start:] for start in range(TAG_NGRAM)), strict=False))
    return _whole({" ".join(gram): math.log1p(count) for gram, count in counts.items()})


def tag_decay(page: Page, decay: float = DECAY) -> dict[str, float]:
    """Return each tag with the sum of decay^depth over its occurrences, the root at depth 0.

    The plain form of the literature.  Nearly all weight lies on the outermost tags, so most pages of
    the web are similar by it: measure before you use it.
    """
    return _decayed(zip(page.tags, page.depths, strict=True), decay)


def tag_paths(page: Page, decay: float = DECAY) -> dict[str, float]:
    """Return each path of a tag and up to three ancestors, with the sum of decay^depth."""
    return _decayed(zip(_paths(page), page.depths, strict=True), decay)


def tag_classes(page: Page) -> dict[str, float]:
    """Return each tag with its classes in alphabetical order, weighted ln(1 + count)."""
    features: Counter[str] = Counter(page.tags)
    for (tag, classes), count in Counter(page.classes).items():
        features[tag] -= count
        features[".".join([tag, *sorted(set(classes.split()))])] += count
    return _whole({feature: math.log1p(count) for feature, count in features.items() if count})


def _decayed(features: Iterable[tuple[str, int]], decay: float) -> dict[str, float]:
    weights: dict[str, float] = {}
    for (feature, depth), count in Counter(features).items():
        weights[feature] = weights.get(feature, 0.0) + count * decay**depth
    return _whole(weights)


def _whole(weights: Mapping[str, float]) -> dict[str, float]:
    return {feature: round(WEIGHT_UNIT * weight) / WEIGHT_UNIT for feature, weight in weights.items()}


def _paths(page: Page) -> list[str]:
    ancestors: list[str] = []
    paths = []
    for tag, depth in zip(page.tags, page.depths, strict=True):
        del ancestors[depth:]
        ancestors.append(tag)
        paths.append("/".join(ancestors[-PATH_LEVELS:]))
    return paths
