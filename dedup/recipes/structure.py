"""What of a page's tags is weighed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.recipes.functions import own_function
from dedup.recipes.simhash import Weights, exact
from dedup.recipes.sketch import shingle_hashes
from dedup.recipes.weights import WEIGHT_UNIT, finite
from dedup.values.hashes import Hasher, Hashes, hashes_of

TAG_NGRAM = 4
PATH_LEVELS = 4
RUN = 5
PLAIN_DECAY = 0.45
NGRAM_DECAY = 0.97

# The root is at depth 0; what lies deeper than this weighs no less.
MAX_DEPTH = 255


def structure_hashes(page: Page, config: DedupConfig, hasher: Hasher) -> tuple[Hashes, Weights]:
    """Return the hashes of the structural features of *page*, and their weights as whole numbers."""
    if config.structure == "decayed_ngrams":
        return _hashed_runs(page, config, hasher)
    features = structure_features(page, config)
    return hashes_of(features.keys(), hasher), exact(np.fromiter(features.values(), np.float64))


def structure_features(page: Page, config: DedupConfig) -> dict[str, float]:
    """Return the structural features of *page* with whole weights, empty where it has no tags.

    Raises `ConfigError` where a function of the user's does not return finite numbers.
    """
    if config.structure not in _STRUCTURES:
        return finite("structure", config.structure, own_function("structure", config.structure)(page))
    weights = _STRUCTURES[config.structure](page, config)
    return {feature: float(round(WEIGHT_UNIT * weight)) for feature, weight in weights.items()}


def decayed_ngrams(page: Page, config: DedupConfig) -> Mapping[str, float]:
    """Return each different run of five tags in document order, weighted decay^depth (0.97).

    The depth is that of its outermost tag, at the place nearest to the root.  How often a run
    occurs does not count: lists grow and shrink, the template stays.  A page of fewer tags is one
    run.
    """
    decay = config.structure_decay or NGRAM_DECAY
    weights: dict[str, float] = {}
    for run, depths in zip(_runs(page.tags), _runs(page.depths), strict=True):
        feature, weight = " ".join(run), decay ** min(*depths, MAX_DEPTH)
        weights[feature] = max(weights.get(feature, 0.0), weight)
    return weights


def _runs(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    if 0 < len(values) < RUN:
        return [values]
    return zip(*(values[start:] for start in range(RUN)), strict=False)


def _hashed_runs(page: Page, config: DedupConfig, hasher: Hasher) -> tuple[Hashes, Weights]:
    """Return what `decayed_ngrams` does; the hash of a run is made of the hashes of its tags."""
    size = min(RUN, len(page.tags))
    if not size:
        return np.zeros(0, np.uint64), np.zeros(0)
    tags = dict.fromkeys(page.tags)
    numbers = dict(zip(tags, range(len(tags)), strict=True))
    sequence = np.fromiter(map(numbers.__getitem__, page.tags), np.intp, len(page.tags))
    runs = shingle_hashes(hashes_of(tags, hasher)[sequence], size)
    depths = np.fromiter(page.depths, np.intp, len(page.depths))
    outermost = depths[: len(runs)]
    for offset in range(1, size):
        outermost = np.minimum(outermost, depths[offset : offset + len(runs)])
    order = runs.argsort()
    runs = runs[order]
    firsts = np.flatnonzero(np.concatenate(([True], runs[1:] != runs[:-1])))
    nearest = np.minimum.reduceat(outermost[order], firsts)
    weights = weights_by_depth(config.structure_decay or NGRAM_DECAY)
    return runs[firsts], weights[np.minimum(nearest, MAX_DEPTH)]


@cache
def weights_by_depth(decay: float) -> Weights:
    """Return decay^depth for each depth from 0 to `MAX_DEPTH`, as whole numbers."""
    return np.array([round(WEIGHT_UNIT * decay**depth) for depth in range(MAX_DEPTH + 1)], np.float64)


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

    The plain form of the literature.  Nearly all weight lies on the outermost tags, so most pages of
    the web are similar by it: measure before you use it.
    """
    return _decayed(zip(page.tags, page.depths, strict=True), config.structure_decay or PLAIN_DECAY)


def tag_paths(page: Page, config: DedupConfig) -> Mapping[str, float]:
    """Return each path of a tag and up to three ancestors, with the sum of decay^depth."""
    return _decayed(zip(_paths(page), page.depths, strict=True), config.structure_decay or PLAIN_DECAY)


def tag_classes(page: Page, _: DedupConfig) -> Mapping[str, float]:
    """Return each tag with its classes in alphabetical order, weighted ln(1 + count)."""
    features: Counter[str] = Counter(page.tags)
    for (tag, classes), count in Counter(page.classes).items():
        features[tag] -= count
        features[".".join([tag, *sorted(set(classes.split()))])] += count
    return {feature: float(np.log1p(count)) for feature, count in features.items() if count}


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
    "decayed_ngrams": decayed_ngrams,
    "tag_ngrams": tag_ngrams,
    "tag_decay": tag_decay,
    "tag_paths": tag_paths,
    "tag_classes": tag_classes,
}
