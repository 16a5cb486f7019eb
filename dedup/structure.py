"""What of a page's tags is weighed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from dedup.choices import own_function
from dedup.config import DedupConfig
from dedup.page import Page
from dedup.weighting import WEIGHT_UNIT, finite

TAG_NGRAM = 4
PATH_LEVELS = 4


def structure_features(page: Page, config: DedupConfig) -> dict[str, float]:
    """Return the structural features of *page* with whole weights, empty where it has no tags.

    Raises `ConfigError` where a function of the user's does not return finite numbers.
    """
    if config.structure not in _STRUCTURES:
        return finite("structure", config.structure, own_function("structure", config.structure)(page))
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
    return _decayed(zip(page.tags, page.depths, strict=True), config.structure_decay)


def tag_paths(page: Page, config: DedupConfig) -> Mapping[str, float]:
    """Return each path of a tag and up to three ancestors, with the sum of decay^depth."""
    return _decayed(zip(_paths(page), page.depths, strict=True), config.structure_decay)


def tag_classes(page: Page, _: DedupConfig) -> Mapping[str, float]:
    """Return each tag with its classes in alphabetical order, weighted ln(1 + count)."""
    counts = Counter(zip(page.tags, page.classes, strict=True))
    merged: Counter[str] = Counter()
    for (tag, classes), count in counts.items():
        merged[".".join([tag, *sorted(set(classes.split()))])] += count
    return {feature: float(np.log1p(count)) for feature, count in merged.items()}


def _decayed(features: object, decay: float) -> Mapping[str, float]:
    weights: dict[str, float] = {}
    for (feature, depth), count in Counter(features).items():  # type: ignore[call-overload]
        weights[feature] = weights.get(feature, 0.0) + count * decay**depth
    return weights


def _paths(page: Page) -> list[str]:
    ancestors: list[str] = []
    paths = []
    for tag, depth in zip(page.tags, page.depths, strict=True):
        del ancestors[depth:]
        ancestors.append(tag)
        paths.append("/".join(ancestors[-PATH_LEVELS:]))
    return paths


_STRUCTURES: dict[str, Callable[[Page, DedupConfig], Mapping[str, float]]] = {
    "tag_ngrams": tag_ngrams,
    "tag_decay": tag_decay,
    "tag_paths": tag_paths,
    "tag_classes": tag_classes,
}
