from __future__ import annotations

import random
from functools import reduce
from hashlib import blake2b, shake_256
from operator import xor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.recipes.sketch import (
    BINS,
    CHECK_BINS,
    EMPTY,
    _binned,
    agrees,
    check_sketch,
    shingle_hashes,
    similarities,
    similarity,
    sketch,
)
from dedup.recipes.terms import Terms
from dedup.values.hashes import SECRET_SIZE, Hashes, hashes_of, keyed_hashes, mixed
from tests.pages import text

SECRETS = bytes(SECRET_SIZE), bytes([1] * SECRET_SIZE)
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


@given(st.lists(token_lists, min_size=1, max_size=5), token_lists)
def test_many_at_once_equal_one_by_one(many: list[list[str]], one: list[str]) -> None:
    sketches = [sketch(words(tokens), 3) for tokens in many]
    page = sketch(words(one), 3)
    rows = np.frombuffer(b"".join(sketches), np.uint8).reshape(-1, BINS)
    assert similarities(page, rows).tolist() == [similarity(page, other) for other in sketches]


@given(st.lists(st.sampled_from("abc"), min_size=4))
def test_equal_pages_have_similarity_one(tokens: list[str]) -> None:
    page = sketch(words(tokens), 4)
    assert similarity(page, page) == 1.0


def test_pages_without_a_shingle_are_not_alike() -> None:
    assert sketch(words(["a", "b", "c"]), 4) == EMPTY
    assert similarity(EMPTY, EMPTY) == 0.0


def test_order_inside_a_shingle_counts() -> None:
    a, b = words(["a", "b", "c"]), words(["c", "b", "a"])
    assert shingle_hashes(a, 3).tolist() != shingle_hashes(b, 3).tolist()


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


def slow_keyed_word(token: str, secret: bytes) -> int:
    data = token.encode("utf-8", "surrogatepass")
    if len(data) > 23:
        return int.from_bytes(blake2b(data, digest_size=8, key=secret).digest(), "little")
    drawn = shake_256(secret).digest(24 * 256 * 8)
    places = (8 * (256 * place + byte) for place, byte in enumerate(data + b"\0"))
    return reduce(xor, (int.from_bytes(drawn[place : place + 8], "little") for place in places))


def slow_check_sketch(tokens: list[str], size: int, secret: bytes) -> bytes:
    hashes = [slow_keyed_word(token, secret) for token in tokens]
    smallest: dict[int, int] = {}
    for start in range(len(hashes) - size + 1):
        shingle = 0
        for value in hashes[start : start + size]:
            shingle = (shingle * 0x9E3779B97F4A7C15 + value) % 2**64
        found = int(mixed(np.array([shingle], np.uint64))[0])
        smallest[found >> 58] = min(found, smallest.get(found >> 58, found))
    return bytes(smallest[b] % 255 + 1 if b in smallest else 0 for b in range(CHECK_BINS))


def keyed(tokens: list[str], size: int = 4, secret: bytes = SECRETS[0]) -> bytes:
    terms = Terms.from_tokens(tokens)
    return check_sketch(terms.names, terms.sequence, size, secret)


@given(st.lists(st.text(st.characters(min_codepoint=33), max_size=30), max_size=20), st.integers(1, 5))
def test_a_check_sketch_equals_the_definition(tokens: list[str], size: int) -> None:
    assert keyed(tokens, size) == slow_check_sketch(tokens, size, SECRETS[0])


@given(st.lists(st.text(st.characters(min_codepoint=33), max_size=40), unique=True))
def test_keyed_words_do_not_depend_on_the_other_words(tokens: list[str]) -> None:
    together = keyed_hashes(tokens, SECRETS[0]).tolist()
    assert together == [keyed_hashes([token], SECRETS[0])[0] for token in tokens]
    assert len(set(together)) == len(tokens)


def test_a_secret_says_nothing_of_another_one() -> None:
    tokens = text(1, 500).split()
    assert similarity(keyed(tokens), keyed(tokens, secret=SECRETS[1])) < 0.05
    assert similarity(keyed(tokens), keyed(tokens)) == 1.0


def test_the_check_sketch_estimates_what_the_sketch_does() -> None:
    rng = random.Random(2)
    errors = []
    for _ in range(100):
        shared = [str(rng.random()) for _ in range(rng.randrange(2, 2000))]
        a, b = (shared + [str(rng.random()) for _ in range(1000)] for _ in range(2))
        public = similarity(sketch(words(a), 1), sketch(words(b), 1))
        errors.append(similarity(keyed(a, 1), keyed(b, 1)) - public)
        assert agrees(public, keyed(a, 1), keyed(b, 1))
    assert abs(sum(errors) / len(errors)) < 0.02


def check_pair(equal: int, other: int) -> tuple[bytes, bytes]:
    """Two check sketches with so many bins equal and so many different ones."""
    empty = bytes(CHECK_BINS - equal - other)
    return bytes([1] * (equal + other)) + empty, bytes([1] * equal + [2] * other) + empty


@given(st.floats(0, 1), st.integers(1, CHECK_BINS))
def test_more_in_common_never_disagrees(public: float, bins: int) -> None:
    found = [agrees(public, *check_pair(equal, bins - equal)) for equal in range(bins + 1)]
    assert found == sorted(found)
    assert found[-1]


@pytest.mark.parametrize("public", [0.62, 0.8, 1.0])
def test_nothing_in_common_disagrees(public: float) -> None:
    for bins in range(2, CHECK_BINS + 1):
        assert not agrees(public, *check_pair(0, bins)), bins


@pytest.mark.parametrize(
    ("public", "least"), [(0.62, 22), (0.7, 27), (0.8, 35), (0.9, 44), (0.95, 49), (1.0, 56)]
)
def test_how_many_bins_must_agree(public: float, least: int) -> None:
    assert agrees(public, *check_pair(least, CHECK_BINS - least))
    assert not agrees(public, *check_pair(least - 1, CHECK_BINS - least + 1))


@pytest.mark.parametrize("alike", [0.62, 0.7, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("shingles", [5, 20, 60, 300])
def test_copies_are_hardly_ever_refused(alike: float, shingles: int) -> None:
    rng = np.random.default_rng(3)
    assert all(agrees(*measured(rng, shingles, alike)) for _ in range(500))


def measured(rng: np.random.Generator, count: int, alike: float) -> tuple[float, bytes, bytes]:
    """How alike two sets with *count* elements are, a share *alike* in both, and their check sketches."""
    common = round(count * alike)
    first = common + (count - common) // 2
    pairs = []
    for bins in (BINS, CHECK_BINS):
        hashes = rng.integers(0, 2**64, count, np.uint64)
        one, other = hashes[:first], np.concatenate((hashes[:common], hashes[first:]))
        pairs.append((_binned(np.sort(one), bins), _binned(np.sort(other), bins)))
    return similarity(*pairs[0]), *pairs[1]
