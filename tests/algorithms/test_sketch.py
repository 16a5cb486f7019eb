from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.algorithms.sketch import BINS, shingle_hashes, sketch
from dedup.model.hashes import Hashes, hashes_of
from dedup.native._search import similarity

token_lists = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def words(tokens: list[str]) -> Hashes:
    return hashes_of(tokens)


def slow_sketch(hashes: list[int]) -> bytes:
    smallest: dict[int, int] = {}
    for value in hashes:
        place = value >> 56
        smallest[place] = min(value, smallest.get(place, value))
    return bytes(smallest[b] % 255 + 1 if b in smallest else 0 for b in range(BINS))


def slow_similarity(a: bytes, b: bytes) -> float:
    equal = sum(x == y != 0 for x, y in zip(a, b, strict=True))
    either = sum(x != 0 or y != 0 for x, y in zip(a, b, strict=True))
    return max(0.0, (equal / either - 1 / 255) / (1 - 1 / 255)) if either else 0.0


@given(token_lists, st.integers(1, 5))
def test_equals_the_definition(tokens: list[str], size: int) -> None:
    hashes = shingle_hashes(words(tokens), size).tolist() if len(tokens) >= size else []
    assert sketch(words(tokens), size) == slow_sketch(hashes)


@given(token_lists, token_lists)
def test_similarity_equals_the_definition(a: list[str], b: list[str]) -> None:
    one, two = sketch(words(a), 2), sketch(words(b), 2)
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
        errors.append(similarity(sketch(words(a), 1), sketch(words(b), 1)) - exact)
    assert abs(sum(errors) / len(errors)) < 0.02
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 0.05
