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
    band,
    best_f1,
    confusion,
    curve,
    intervals,
    shares,
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


@given(scored_pairs)
def test_auc_of_turned_scores_is_the_rest(pairs: list[tuple[int, float]]) -> None:
    labels, scores = labels_of(pairs), scores_of(pairs)
    assert auc(labels, -scores) == pytest.approx(1 - auc(labels, scores), nan_ok=True)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 3)), min_size=1, max_size=20))
def test_a_weight_is_so_many_pairs(pairs: list[tuple[bool, bool, int]]) -> None:
    labels, dropped, weights = (np.array(column) for column in zip(*pairs, strict=True))
    weighted = confusion(labels.astype(np.int8), dropped, weights.astype(float))
    repeated = confusion(np.repeat(labels, weights).astype(np.int8), np.repeat(dropped, weights))
    assert weighted == repeated


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20))
def test_the_four_counts_are_counted(pairs: list[tuple[bool, bool]]) -> None:
    found = confusion(np.array([a for a, _ in pairs], np.int8), np.array([b for _, b in pairs], bool))
    cells = [pairs.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))]
    assert [found.hits, found.misses, found.wrong, found.right] == cells


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50))
def test_f1_is_the_harmonic_mean(hits: int, misses: int, wrong: int) -> None:
    found = Confusion(hits=hits, misses=misses, wrong=wrong, right=7)
    assert found.f1 == pytest.approx(2 / (1 / found.precision + 1 / found.recall))


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


def test_intervals_of_a_perfect_rule_have_no_width() -> None:
    labels = np.array([1] * 20 + [0] * 80, np.int8)
    assert set(intervals(labels, labels == 1).values()) == {(1.0, 1.0)}
    assert auc_interval(labels, labels.astype(float)) == (1.0, 1.0)


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


def test_intervals_are_the_same_every_time_and_around_the_score() -> None:
    labels = np.array([1] * 100 + [0] * 100, np.int8)
    dropped = np.arange(200) % 4 > 0
    first = intervals(labels, dropped)
    assert first == intervals(labels, dropped)
    low, high = first["recall"]
    # That of a share of .75 in 100, by the normal distribution: .75 +- .085.
    assert (low, high) == pytest.approx((0.665, 0.835), abs=0.015)


@pytest.mark.parametrize("label", [0, 1])
def test_what_cannot_be_counted_has_no_interval(label: int) -> None:
    labels = np.full(5, label, np.int8)
    found = intervals(labels, np.zeros(5, bool))
    assert math.isnan(found["precision"][0])
    assert math.isnan(found["recall"][0]) is (label == 0)
    assert math.isnan(auc_interval(labels, np.zeros(5))[0])
    none = intervals(labels[:0], np.zeros(0, bool))
    assert math.isnan(none["f1"][1])


@given(st.integers(0, 1000))
def test_a_band_holds_what_is_in_it(thousandths: int) -> None:
    jaccard = thousandths / 1000
    low, _, high = band(jaccard).partition("-")
    assert round(float(low) * 1000) <= thousandths
    assert thousandths < round(float(high) * 1000) if high else jaccard == 1


def test_shares_by_key() -> None:
    dropped = np.array([True, False, True, True])
    assert shares(dropped, ["a", "a", "b", "a"]) == {"a": (2, 3), "b": (1, 1)}


def test_a_curve_has_no_point_where_nothing_is_dropped() -> None:
    labels, scores = np.array([1, 0, 1], np.int8), np.array([0.9, 0.5, 0.1])
    points = [(1.0, 1.0, 0.5), (0.5, 0.5, 0.5), (0.1, 2 / 3, 1.0)]
    assert curve(labels, scores, [2.0, 0.9, 0.5, 0.1]) == [
        (0.9, *points[0][1:]),
        (0.5, *points[1][1:]),
        (0.1, *points[2][1:]),
    ]
