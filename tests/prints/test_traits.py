from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.prints.fingerprinter import (
    UNTITLED,
    other_names,
    other_pairs,
    pairs_in,
    title_in,
    traits,
    words_and_numbers,
)

PAIRS = st.sets(st.integers(0, 2**32 - 1), max_size=30)


def packed(hashes: set[int]) -> bytes:
    return np.array(sorted(hashes), "<u4").tobytes()


@given(PAIRS, PAIRS)
def test_other_pairs_are_those_that_the_page_kept_has_not(kept: set[int], page: set[int]) -> None:
    here, there = traits("a", packed(kept)), traits("b", packed(page))
    assert other_pairs(here, there) == packed(page - kept)
    assert len(pairs_in(there)) == 4 * len(page)
    parts = tuple(packed({pair for pair in page if pair % 2 == rest}) for rest in (0, 1))
    assert words_and_numbers(packed(page)) == parts
    assert title_in(traits("", packed(page))) == UNTITLED != title_in(there)


@given(st.text(max_size=8))
def test_a_title_is_its_hash(title: str) -> None:
    assert title_in(traits(title)) == title_in(traits(title, packed({1})))
    assert (title_in(traits(title)) == UNTITLED) == (title == "")


@given(*[st.lists(st.integers(0, 9), max_size=9).map(lambda some: np.array(some, "<u4").tobytes())] * 2)
def test_of_damaged_ones_some_names_are_told(one: bytes, other: bytes) -> None:
    assert set(other_names(one, other).tolist()) <= set(range(10))


def test_a_fingerprint_has_them() -> None:
    page = Page.from_html("<title>Match 7</title><p>North beat South 3 to 1.")
    found = fingerprint(page).traits
    assert title_in(found) == title_in(traits("Match 7"))
    assert len(pairs_in(found)) == 4 * 6
