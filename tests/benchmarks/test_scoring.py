"""Scores against slow ones, and what they say where there is nothing to count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.accuracy.scoring import (
    Confusion,
    auc,
    auc_interval,
    best_f1,
    confusion,
    intervals,
)

# Few values, so that there are ties.
scored_pairs = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=30)


def labels_of(pairs: Sequence[tuple[int, float]]) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.array([label for label, _ in pairs], np.int8)


def scores_of(pairs: Sequence[tuple[int, float]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([score for _, score in pairs], float)


def slow_auc(pairs: Sequence[tuple[int, float]]) -> float:
    ones = [score for label, score in pairs if label]
    zeros = [score for label, score in pairs if not label]
    if not ones or not zeros:
        return float("nan")
    won = sum((one > zero) + (one == zero) / 2 for one, zero in product(ones, zeros))
    return won / (len(ones) * len(zeros))


@given(scored_pairs)
def test_auc_is_the_share_of_pairs_in_the_right_order(pairs: list[tuple[int, float]]) -> None:
    assert auc(labels_of(pairs), scores_of(pairs)) == pytest.approx(slow_auc(pairs), nan_ok=True)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20))
def test_the_four_counts_are_counted(pairs: list[tuple[bool, bool]]) -> None:
    found = confusion(np.array([a for a, _ in pairs], np.int8), np.array([b for _, b in pairs], bool))
    cells = [pairs.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))]
    assert [found.hits, found.misses, found.wrong, found.right] == cells


@pytest.mark.parametrize(
    ("found", "precision", "recall", "f1"),
    [
        (Confusion(hits=0, misses=0, wrong=0, right=9), math.nan, math.nan, math.nan),
        (Confusion(hits=0, misses=0, wrong=2, right=9), 0, math.nan, 0),
        (Confusion(hits=0, misses=3, wrong=0, right=9), math.nan, 0, 0),
        (Confusion(hits=0, misses=3, wrong=2, right=9), 0, 0, 0),
        (Confusion(hits=3, misses=0, wrong=0, right=0), 1, 1, 1),
        (Confusion(hits=3, misses=1, wrong=3, right=0), 0.5, 0.75, 0.6),
    ],
)
def test_scores_of_counts(found: Confusion, precision: float, recall: float, f1: float) -> None:
    assert found.precision == pytest.approx(precision, nan_ok=True)
    assert found.recall == pytest.approx(recall, nan_ok=True)
    assert found.f1 == pytest.approx(f1, nan_ok=True)


@given(scored_pairs, st.integers(1, 4))
def test_best_f1_is_the_best_of_all_thresholds(pairs: list[tuple[int, float]], weight: int) -> None:
    labels, scores = labels_of(pairs), scores_of(pairs)
    weights = np.where(labels == 1, 1.0, float(weight))
    found, threshold = best_f1(labels, scores, weights)
    if not labels.any():
        assert math.isnan(found)
        return
    tried = {t: confusion(labels, scores >= t, weights).f1 for t in set(scores.tolist())}
    assert found == pytest.approx(max(tried.values()))
    assert tried[threshold] == pytest.approx(found)


def test_intervals_are_those_of_drawing_pairs() -> None:
    rng = np.random.default_rng(1)
    labels = (rng.random(300) < 0.4).astype(np.int8)
    scores = np.round(labels + rng.normal(0, 0.8, 300), 1)
    dropped = scores > 0.6
    drawn = [rng.integers(0, 300, 300) for _ in range(2000)]
    counts = [confusion(labels[draw], dropped[draw]) for draw in drawn]
    for name, found in intervals(labels, dropped).items():
        slow = np.percentile([getattr(count, name) for count in counts], (2.5, 97.5))
        assert found == pytest.approx(slow, abs=0.015), name
    slow = np.percentile([auc(labels[draw], scores[draw]) for draw in drawn], (2.5, 97.5))
    assert auc_interval(labels, scores) == pytest.approx(slow, abs=0.015)
