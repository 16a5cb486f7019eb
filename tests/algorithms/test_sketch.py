from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.model.hashes import murmur3
from dedup.native._pages import similarity
from tests.oracle.prints import runs_of, sketch_of

token_lists = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def sketch(tokens: list[str], size: int) -> bytes:
    return sketch_of(runs_of([murmur3(token) for token in tokens], size))


def slow_similarity(a: bytes, b: bytes) -> float:
    equal = sum(x == y != 0 for x, y in zip(a, b, strict=True))
    either = sum(x != 0 or y != 0 for x, y in zip(a, b, strict=True))
    return max(0.0, (equal / either - 1 / 255) / (1 - 1 / 255)) if either else 0.0


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
