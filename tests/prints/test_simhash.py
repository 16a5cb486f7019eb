import math
import re
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup import simhash
from dedup.model.errors import ConfigError
from dedup.model.hashes import hashes_of, murmur3
from dedup.prints.literature import fnv1

features = st.dictionaries(st.text(max_size=8), st.integers(-1000, 1000), max_size=40)


def slow_simhash(weights: dict[str, float], hasher: Callable[[str], int], *, tie: bool) -> int:
    if not weights:
        return 0
    word = 0
    for bit in range(64):
        vote = math.fsum(w if hasher(f) >> bit & 1 else -w for f, w in weights.items())
        if vote > 0 or (tie and vote == 0):
            word |= 1 << bit
    return word


@given(features, st.booleans(), st.sampled_from([murmur3, fnv1]))
def test_is_as_defined(weights: dict[str, float], tie: bool, hasher: Callable[[str], int]) -> None:
    assert simhash(weights, hasher=hasher, tie=tie) == slow_simhash(weights, hasher, tie=tie)


@given(st.dictionaries(st.text(max_size=8), st.floats(-1e6, 1e6), max_size=40))
def test_order_does_not_matter_for_fractions_either(weights: dict[str, float]) -> None:
    assert simhash(dict(reversed(weights.items()))) == simhash(weights)


@pytest.mark.parametrize("weight", [math.inf, -math.inf, math.nan])
def test_weights_must_be_finite_and_bits_64_128_or_256(weight: float) -> None:
    with pytest.raises(ConfigError, match="finite"):
        simhash({"a": weight})
    with pytest.raises(ConfigError, match=r"bits \(96\) must be one of 64, 128, 256"):
        simhash({"a": 1}, bits=96)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("this is a test phrase", 0x8C3A5F7E9ECB3F35),
        ("this is a test phrass", 0x8C3A5F7E9ECB3F21),
        ("foo bar", 0xD8DBE7186BAD3DB3),
    ],
)
def test_reproduces_a_known_implementation(text: str, word: int) -> None:
    words = re.findall(r"[\w']+(?:\://[\w\./]+){0,1}", text.lower())
    assert simhash(dict.fromkeys(words, 1), hasher=fnv1, tie=True) == word


@given(st.lists(st.text(st.characters(), max_size=5), max_size=5))
@example(["a", "\ud800"])
def test_hashing_many_equals_hashing_each(texts: list[str]) -> None:
    assert hashes_of(texts).tolist() == [murmur3(text) for text in texts]
    assert hashes_of(texts, fnv1).tolist() == [fnv1(text) for text in texts]


@given(features, st.booleans())
def test_wide_words_begin_with_the_narrow_ones(weights: dict[str, float], tie: bool) -> None:
    narrow, middle, wide = (simhash(weights, tie=tie, bits=bits) for bits in (64, 128, 256))
    assert (wide % 2**128, middle % 2**64) == (middle, narrow)
    assert wide < 2**256


def test_many_features_are_folded_in_parts() -> None:
    weights = {f"feature {number}": float(number % 7) for number in range(40_000)}
    assert simhash(weights) == slow_simhash(weights, murmur3, tie=False)
