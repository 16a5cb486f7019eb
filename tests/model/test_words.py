from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup.model.hashes import hamming_distance, signed, simhash_distance, simhash_hex, unsigned

words = st.integers(0, 2**64 - 1)


@given(words, words)
def test_distance_counts_differing_digits(a: int, b: int) -> None:
    digits = zip(f"{a:064b}", f"{b:064b}", strict=True)
    assert hamming_distance(a, b) == sum(x != y for x, y in digits)


@given(words)
def test_signed_and_back(word: int) -> None:
    assert -(2**63) <= signed(word) < 2**63
    assert unsigned(signed(word)) == word


@given(words)
def test_zero_has_no_distance(word: int) -> None:
    assert simhash_distance(0, word) is None
    assert simhash_distance(word, 0) is None


@given(words)
def test_hex_is_sixteen_digits(word: int) -> None:
    assert len(simhash_hex(word)) == 16
    assert int(simhash_hex(word), 16) == word
