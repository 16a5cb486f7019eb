"""Scores of a classifier of pairs, and their intervals.  Pure: arrays in, numbers out.

*labels* are 1 and 0, without the grey pairs.  A score that has nothing to count, for instance the recall
without a positive, is nan.  *weights* say how many pairs each pair stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int8]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64] | Floats
Interval = tuple[float, float]

RESAMPLES = 2000
SEED = 5
_TAILS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many pairs of label 1 were dropped and kept (*hits*, *misses*), and of label 0
    (*wrong*, *right*)."""

    hits: float
    misses: float
    wrong: float
    right: float

    @property
    def precision(self) -> float:
        return _ratio(self.hits, self.hits + self.wrong)

    @property
    def recall(self) -> float:
        return _ratio(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float:
        return _ratio(2 * self.hits, 2 * self.hits + self.wrong + self.misses)


def confusion(labels: Ints, dropped: Bools, weights: Floats | None = None) -> Confusion:
    """Return the four counts of a rule."""
    counted = np.ones(len(labels)) if weights is None else weights
    cells = np.bincount(_cells(labels, dropped), counted, minlength=4).tolist()
    return Confusion(right=cells[0], wrong=cells[1], misses=cells[2], hits=cells[3])


def intervals(labels: Ints, dropped: Bools) -> dict[str, Interval]:
    """Return 95 % bootstrap intervals over pairs of precision, recall and F1.

    To draw pairs with replacement and count them is to draw the four counts from a multinomial
    distribution, so that is done (B. Efron, R. Tibshirani, An introduction to the bootstrap, 1993,
    ch. 13 on percentiles).  Draws without a value are left out.
    """
    cells = np.bincount(_cells(labels, dropped), minlength=4)
    right, wrong, misses, hits = _drawn(cells).T
    del right
    return {
        "precision": _interval(hits, hits + wrong),
        "recall": _interval(hits, hits + misses),
        "f1": _interval(2 * hits, 2 * hits + wrong + misses),
    }


def auc(labels: Ints, scores: Floats) -> float:
    """Return the chance that a pair of label 1 has a higher score than one of label 0, ties half.

    The area under the ROC curve (J. Hanley, B. McNeil, Radiology 143, 1982).
    """
    return float(_areas(*_by_value(labels, scores))[0])


def auc_interval(labels: Ints, scores: Floats) -> Interval:
    """Return the 95 % bootstrap interval over pairs of `auc`."""
    negatives, positives = _by_value(labels, scores)
    drawn = _drawn(np.concatenate((negatives[0], positives[0])))
    areas = _areas(drawn[:, : negatives.shape[1]], drawn[:, negatives.shape[1] :])
    return _percentiles(areas)


def best_f1(labels: Ints, scores: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Return the highest F1 of all rules "score of at least t", and the highest such t.

    That is what hindsight would give; nan where there is no pair of label 1.
    """
    if not (labels == 1).any():
        return float("nan"), float("nan")
    values, places = np.unique(scores, return_inverse=True)
    counted = np.ones(len(labels)) if weights is None else weights
    ones = np.bincount(places, counted * (labels == 1), minlength=len(values))
    every = np.bincount(places, counted, minlength=len(values))
    hits, dropped = (np.cumsum(counts[::-1]) for counts in (ones, every))
    scored = 2 * hits / (dropped + hits[-1])
    best = int(np.argmax(scored))
    return float(scored[best]), float(values[::-1][best])


def shares(dropped: Bools, keys: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return for each key how many of its pairs were dropped, and how many it has."""
    counts: dict[str, tuple[int, int]] = {}
    for key, is_dropped in zip(keys, dropped.tolist(), strict=True):
        before, pairs = counts.get(key, (0, 0))
        counts[key] = (before + is_dropped, pairs + 1)
    return counts


def band(jaccard: float) -> str:
    """Return the band of similarity that *jaccard* (0 to 1) lies in; 1 is one of its own.

    >>> band(0.0), band(0.8999), band(0.9), band(1.0)
    ('0.0-0.1', '0.8-0.9', '0.9-1.0', '1.0')
    """
    if jaccard >= 1:
        return "1.0"
    # Tenths are not binary fractions: .3 * 10 is exact only after rounding.
    low = int(round(jaccard * 10, 6))
    return f"{low / 10:.1f}-{(low + 1) / 10:.1f}"


def curve(labels: Ints, scores: Floats, thresholds: Iterable[float]) -> list[tuple[float, float, float]]:
    """Return threshold, precision and recall of the rules "score of at least t"; undefined ones
    are left out."""
    points = []
    for threshold in thresholds:
        found = confusion(labels, scores >= threshold)
        if found.hits + found.wrong and found.hits + found.misses:
            points.append((threshold, found.precision, found.recall))
    return points


def _cells(labels: Ints, dropped: Bools) -> NDArray[np.intp]:
    return np.asarray(2 * (labels == 1) + dropped, np.intp)


def _by_value(labels: Ints, scores: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each score occurs, the lowest first, with label 0 and with label 1."""
    values, places = np.unique(scores, return_inverse=True)
    zeros, ones = (np.bincount(places[labels == label], minlength=len(values)) for label in (0, 1))
    return zeros[None].astype(np.int64), ones[None].astype(np.int64)


def _areas(negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> Floats:
    below = np.cumsum(negatives, axis=1) - negatives / 2
    won = (positives * below).sum(axis=1)
    return _ratios(won, positives.sum(axis=1) * negatives.sum(axis=1))


def _drawn(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    rng = np.random.default_rng(SEED)
    total = int(cells.sum())
    if not total:
        return np.zeros((1, len(cells)), np.int64)
    return rng.multinomial(total, cells / total, RESAMPLES)


def _interval(part: Counts, whole: Counts) -> Interval:
    return _percentiles(_ratios(part, whole))


def _ratios(part: Counts, whole: Counts) -> Floats:
    found = np.full(len(part), np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def _percentiles(values: Floats) -> Interval:
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.percentile(known, _TAILS).tolist()
    return low, high


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
