from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.algorithms.bands import Banding, band_keys, densified
from dedup.algorithms.minhash import (
    choose_banding,
    estimated_jaccard,
    jaccard,
    minhash,
    minima,
)
from dedup.algorithms.sketch import BINS, EMPTY, sketch
from dedup.model.errors import ConfigError
from dedup.model.hashes import Hashes, murmur3
from tests.budget import examples

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15

features = st.lists(st.text("abcdefgh", max_size=3) | st.text(max_size=3), max_size=40)
bandings = st.builds(Banding, bands=st.integers(1, 40), rows=st.integers(1, 12))


def slow_mixed(word: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor & MASK
    return word ^ word >> 33


def slow_minhash(members: list[str], length: int, seed: int) -> list[int]:
    drawn = [slow_mixed(slow_mixed(n * STEP & MASK) ^ seed) for n in range(1, 2 * length + 1)]
    orders = [(drawn[2 * place] | 1, drawn[2 * place + 1]) for place in range(length)]
    return [min([murmur3(x) * a + b & MASK for x in members], default=MASK) for a, b in orders]


def slow_band_keys(signature: list[int], banding: Banding) -> list[int]:
    places = [slow_mixed(word + (n + 1) * STEP & MASK) for n, word in enumerate(signature)]
    starts = range(0, banding.length, banding.rows)
    return [slow_mixed(sum(places[start : start + banding.rows]) & MASK) for start in starts]


def slow_densified(sketched: bytes) -> list[int]:
    if sum(byte > 0 for byte in sketched) < 2:
        return [MASK] * BINS
    signature = []
    for place in range(BINS):
        ranks = [slow_mixed((place * BINS + other + 1) * STEP & MASK) for other in range(BINS)]
        ranks[place] = -1
        first = min((other for other in range(BINS) if sketched[other]), key=ranks.__getitem__)
        signature.append(first * 256 + sketched[first])
    return signature


def pair(rng: np.random.Generator, size: int, similarity: float) -> tuple[Hashes, Hashes, float]:
    """Return the hashes of two sets of *size* members, and their exact similarity."""
    shared = round(2 * size * similarity / (1 + similarity))
    drawn = rng.integers(0, 2**64, 2 * size - shared, np.uint64)
    return drawn[:size], drawn[size - shared :], shared / (2 * size - shared)


# Signatures


@given(features, st.integers(1, 40), st.integers(0, MASK))
def test_a_signature_equals_the_definition(members: list[str], length: int, seed: int) -> None:
    assert minhash(members, length, seed=seed).tolist() == slow_minhash(members, length, seed)


def test_many_members_are_taken_in_blocks() -> None:
    hashes = np.random.default_rng(3).integers(0, 2**64, 5000, np.uint64)
    parts = [minima(part) for part in np.array_split(hashes, 77)]
    assert minima(hashes).tolist() == np.min(parts, axis=0).tolist()


def test_a_pinned_signature() -> None:
    assert minhash(["the", "tide", "turns", "\ud800"], 2).tolist() == PINNED


PINNED = [4383494345863062960, 2326278510180446069]


@pytest.mark.parametrize("length", [0, -1])
def test_a_signature_has_a_place_at_least(length: int) -> None:
    with pytest.raises(ConfigError, match=rf"length \({length}\) must be 1 or more"):
        minhash(["a"], length)


# Similarity


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_exact_similarity(a: set[object], b: set[object]) -> None:
    shared = sum(x in b for x in a)
    either = len(a) + len(b) - shared
    assert jaccard(a, b) == jaccard(b, a) == (shared / either if either else 0)


@pytest.mark.parametrize("similarity", [0, 0.1, 0.6, 1])
@pytest.mark.parametrize("size", [10, 3000])
def test_signatures_estimate_the_similarity(similarity: float, size: int) -> None:
    rng = np.random.default_rng(size)
    errors = []
    for seed in range(60):
        a, b, exact = pair(rng, size, similarity)
        errors.append(estimated_jaccard(minima(a, 256, seed), minima(b, 256, seed)) - exact)
    deviation = (exact * (1 - exact) / 256) ** 0.5
    assert abs(np.mean(errors)) <= 4 * deviation / 60**0.5
    assert np.sqrt(np.mean(np.square(errors))) <= 1.4 * deviation


def test_signatures_of_other_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"length \(7\) must be 8"):
        estimated_jaccard(minhash("a", 8), minhash("a", 7))


# Banding


@pytest.mark.parametrize(
    ("similarity", "probability"),
    [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975), (0.8, 0.9996)],
)
def test_the_s_curve_of_the_textbook(similarity: float, probability: float) -> None:
    assert Banding(20, 5).s_curve(similarity) == pytest.approx(probability, abs=0.0006)


@pytest.mark.parametrize("length", [1, 2, 16, 60])
@pytest.mark.parametrize("threshold", [0, 0.1, 0.6, 0.95, 1])
def test_the_chosen_banding_has_the_least_error(length: int, threshold: float) -> None:
    for miss_weight in (0.1, 0.7):
        chosen = choose_banding(length, threshold, miss_weight=miss_weight)
        assert chosen.length <= length
        best = slow_error(chosen, threshold, miss_weight)
        for rows in range(1, length + 1):
            for bands in {1, length // rows, max(1, length // rows // 2)}:
                assert best <= slow_error(Banding(bands, rows), threshold, miss_weight) + 1e-5


def slow_error(banding: Banding, threshold: float, miss_weight: float) -> float:
    grid = (np.arange(2000) + 0.5) / 2000
    missed = 1 - np.mean(1 - (1 - (threshold + (1 - threshold) * grid) ** banding.rows) ** banding.bands)
    found = np.mean(1 - (1 - (threshold * grid) ** banding.rows) ** banding.bands)
    return float(miss_weight * (1 - threshold) * missed + (1 - miss_weight) * threshold * found)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Banding(0, 3), r"bands \(0\) must be 1 or more"),
        (lambda: Banding(3, -1), r"rows \(-1\) must be 1 or more"),
        (lambda: choose_banding(0, 0.5), r"length \(0\) must be 1 or more"),
        (lambda: choose_banding(9, 1.5), r"threshold \(1.5\) must be 0 to 1"),
        (lambda: choose_banding(9, float("nan")), r"threshold \(nan\) must be 0 to 1"),
        (lambda: choose_banding(9, 0.5, miss_weight=-1), r"miss_weight \(-1\) must be 0 to 1"),
        (lambda: band_keys(minhash("a", 8), Banding(3, 3)), r"bands \(3\) times rows must be at most 8"),
    ],
)
def test_bad_values_name_value_and_rule(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        make()  # type: ignore[operator]


# Keys


@given(st.lists(st.integers(0, 300), min_size=60, max_size=80), bandings)
def test_keys_equal_the_definition(places: list[int], banding: Banding) -> None:
    if banding.length <= len(places):
        signature = np.array(places, np.uint64)
        assert band_keys(signature, banding).tolist() == slow_band_keys(places, banding)


def test_the_signature_of_nothing_has_no_key() -> None:
    assert not len(band_keys(minhash([]), Banding(20, 5)))
    assert not len(band_keys(densified(EMPTY), Banding(20, 5)))


# Sketches as signatures


def sketch_of(hashes: Hashes) -> bytes:
    """Return the sketch of a set: a token's hash is, but for a mixing, that of a shingle of one."""
    return sketch(hashes, 1)


sketches = st.dictionaries(st.integers(0, BINS - 1), st.integers(1, 255), max_size=30).map(
    lambda filled: bytes(filled.get(place, 0) for place in range(BINS))
)


@settings(max_examples=examples(15))
@given(sketches, st.integers(1, BINS))
def test_a_densified_sketch_equals_the_definition(sketched: bytes, length: int) -> None:
    assert densified(sketched, length).tolist() == slow_densified(sketched)[:length]


@pytest.mark.parametrize("similarity", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("size", [16, 1000])
def test_sketches_agree_and_meet_as_the_s_curve_says(similarity: float, size: int) -> None:
    rng = np.random.default_rng(size)
    banding, count = Banding(32, 3), 600
    agree, meet = [], []
    for _ in range(count):
        a, b, exact = pair(rng, size, similarity)
        one, other = densified(sketch_of(a)), densified(sketch_of(b))
        agree.append(np.mean(one == other))
        meet.append(np.any(band_keys(one, banding) == band_keys(other, banding)))
    assert np.mean(agree) == pytest.approx(exact + (1 - exact) / 255, abs=0.02)
    assert abs(np.mean(meet) - banding.s_curve(exact)) < 0.06
    if similarity >= 0.6:
        assert np.mean(meet) > banding.s_curve(exact) - 0.005


def test_short_different_sets_hardly_ever_meet() -> None:
    """Empty bins must not be what they have in common."""
    rng = np.random.default_rng(1)
    met = 0
    for _ in range(2000):
        one, other = (sketch_of(rng.integers(0, 2**64, 5, np.uint64)) for _ in range(2))
        banding = Banding(32, 3)
        met += bool(np.any(band_keys(densified(one), banding) == band_keys(densified(other), banding)))
    assert met <= 1
