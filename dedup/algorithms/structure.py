"""Features of a page's tags.

`decayed_ngrams` is what a crawl weighs, as `hashed_runs`.  Each function takes a page and returns its
features with weights, multiples of 1/256.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from dedup.algorithms.simhash import Weights
from dedup.algorithms.sketch import shingle_hashes
from dedup.algorithms.weights import WEIGHT_UNIT
from dedup.model.hashes import Hashes, hashes_of
from dedup.reading.page import Page

RUN = 5
NGRAM_DECAY = 0.97
# The root is at depth 0; what lies deeper than this weighs no less.
MAX_DEPTH = 255

TAG_NGRAM = 4
DECAY = 0.45


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


def hashed_runs(page: Page) -> tuple[Hashes, Weights]:
    """Return `decayed_ngrams` as hashes, each made of those of the tags, and whole numbers."""
    size = min(RUN, len(page.tags))
    if not size:
        return np.zeros(0, np.uint64), np.zeros(0)
    tags = dict.fromkeys(page.tags)
    numbers = dict(zip(tags, range(len(tags)), strict=True))
    sequence = np.fromiter(map(numbers.__getitem__, page.tags), np.intp, len(page.tags))
    runs = shingle_hashes(hashes_of(tags)[sequence], size)
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


def _decayed(features: Iterable[tuple[str, int]], decay: float) -> dict[str, float]:
    weights: dict[str, float] = {}
    for (feature, depth), count in Counter(features).items():
        weights[feature] = weights.get(feature, 0.0) + count * decay**depth
    return _whole(weights)


def _whole(weights: Mapping[str, float]) -> dict[str, float]:
    return {feature: round(WEIGHT_UNIT * weight) / WEIGHT_UNIT for feature, weight in weights.items()}
