"""What of a page's tags is weighed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

RUN = 5
NGRAM_DECAY = 0.97

# The root is at depth 0; what lies deeper than this weighs no less.
MAX_DEPTH = 255


def structure_hashes(page: Page, config: DedupConfig, hasher: Hasher) -> tuple[Hashes, Weights]:
    """Return the hashes of the structural features of *page*, and their weights as whole numbers."""
    if config.structure == "decayed_ngrams":
        return _hashed_runs(page, hasher)
    features = structure_features(page, config)
    return hashes_of(features.keys(), hasher), exact(np.fromiter(features.values(), np.float64))


def structure_features(page: Page, config: DedupConfig) -> dict[str, float]:
    """Return the structural features of *page* with whole weights, empty where it has no tags.

    Raises `ConfigError` where a function of the user's does not return finite numbers.
    """
    if config.structure != "decayed_ngrams":
        return finite("structure", config.structure, own_function("structure", config.structure)(page))
    return {run: float(round(WEIGHT_UNIT * weight)) for run, weight in decayed_ngrams(page).items()}


def decayed_ngrams(page: Page, decay: float = NGRAM_DECAY) -> Mapping[str, float]:
    """Return each different run of five tags in document order, weighted decay^depth.

    The depth is that of its outermost tag, at the place nearest to the root.  How often a run
    occurs does not count: lists grow and shrink, the template stays.  A page of fewer tags is one
    run.
    """
    weights: dict[str, float] = {}
    for run, depths in zip(_runs(page.tags), _runs(page.depths), strict=True):
        feature, weight = " ".join(run), decay ** min(*depths, MAX_DEPTH)
        weights[feature] = max(weights.get(feature, 0.0), weight)
    return weights


def _runs(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    if 0 < len(values) < RUN:
        return [values]
    return zip(*(values[start:] for start in range(RUN)), strict=False)


def _hashed_runs(page: Page, hasher: Hasher) -> tuple[Hashes, Weights]:
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
    return runs[firsts], weights_by_depth()[np.minimum(nearest, MAX_DEPTH)]


@cache
def weights_by_depth(decay: float = NGRAM_DECAY) -> Weights:
    """Return decay^depth for each depth from 0 to `MAX_DEPTH`, as whole numbers."""
    return np.array([round(WEIGHT_UNIT * decay**depth) for depth in range(MAX_DEPTH + 1)], np.float64)
