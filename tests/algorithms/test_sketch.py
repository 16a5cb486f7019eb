from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.algorithms.literature import minhash
from dedup.algorithms.sketch import (
    Banding,
    band_keys,
)
from dedup.model.errors import ConfigError
from dedup.model.hashes import murmur3
from dedup.native._search import similarity
from tests.oracle.prints import runs_of, sketch_of

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15

token_lists = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def sketch(tokens: list[str], size: int) -> bytes:
    return sketch_of(runs_of([murmur3(token) for token in tokens], size))


def slow_similarity(a: bytes, b: bytes) -> float:
    equal = sum(x == y != 0 for x, y in zip(a, b, strict=True))
    either = sum(x != 0 or y != 0 for x, y in zip(a, b, strict=True))
    return max(0.0, (equal / either - 1 / 255) / (1 - 1 / 255)) if either else 0.0


@given(token_lists)
def test_equals_the_definition(tokens: list[str]) -> None:
    assert fingerprint(Page.from_text(" ".join(tokens))).sketch == sketch(tokens, 4)


@given(token_lists, token_lists)
def test_similarity_equals_the_definition(a: list[str], b: list[str]) -> None:
    one, two = sketch(a, 2), sketch(b, 2)
    assert similarity(one, two) == pytest.approx(slow_similarity(one, two))
    assert similarity(one, two) == similarity(two, one)
    assert type(similarity(one, two)) is float  # one of numpy's would stand in reports as such


def test_estimates_the_jaccard_similarity() -> None:
    rng = random.Random(1)
    errors = []
    for _ in range(60):
        shared = [str(rng.random()) for _ in range(rng.randrange(2, 2000))]
        a = shared + [str(rng.random()) for _ in range(1000)]
        b = shared + [str(rng.random()) for _ in range(1000)]
        exact = len(shared) / (len(shared) + 2000)
        errors.append(similarity(sketch(a, 1), sketch(b, 1)) - exact)
    assert abs(sum(errors) / len(errors)) < 0.02
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 0.05


# Bands

bandings = st.builds(Banding, bands=st.integers(1, 40), rows=st.integers(1, 12))


def slow_mixed(word: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor & MASK
    return word ^ word >> 33


def slow_band_keys(signature: list[int], banding: Banding) -> list[int]:
    places = [slow_mixed(word + (n + 1) * STEP & MASK) for n, word in enumerate(signature)]
    starts = range(0, banding.length, banding.rows)
    return [slow_mixed(sum(places[start : start + banding.rows]) & MASK) for start in starts]


@pytest.mark.parametrize(
    ("similarity", "probability"),
    [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975), (0.8, 0.9996)],
)
def test_the_s_curve_of_the_textbook(similarity: float, probability: float) -> None:
    assert Banding(20, 5).s_curve(similarity) == pytest.approx(probability, abs=0.0006)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Banding(0, 3), r"bands \(0\) must be 1 or more"),
        (lambda: Banding(3, -1), r"rows \(-1\) must be 1 or more"),
        (lambda: band_keys(minhash("a", 8), Banding(3, 3)), r"bands \(3\) times rows must be at most 8"),
    ],
)
def test_bad_values_name_value_and_rule(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        make()  # type: ignore[operator]


@given(st.lists(st.integers(0, 300), min_size=60, max_size=80), bandings)
def test_keys_equal_the_definition(places: list[int], banding: Banding) -> None:
    if banding.length <= len(places):
        signature = np.array(places, np.uint64)
        assert band_keys(signature, banding).tolist() == slow_band_keys(places, banding)


def test_the_signature_of_nothing_has_no_key() -> None:
    assert not len(band_keys(minhash([]), Banding(20, 5)))
