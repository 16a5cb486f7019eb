from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.native import pages
from dedup.recipes.pairs import of_codes, without_numbers
from dedup.recipes.traits import (
    MOST_NUMBERS,
    UNTITLED,
    hashes_in,
    news,
    numbers_in,
    other_pairs,
    title_in,
    traits,
)
from dedup.values.hashes import hashes_of

NUMBERS = st.sets(st.integers(0, 10**6).map(str), max_size=MOST_NUMBERS)


@given(NUMBERS, NUMBERS, st.sampled_from("ab"))
def test_news_are_the_numbers_that_the_other_page_has_not(
    kept: set[str], page: set[str], title: str
) -> None:
    found = news(traits("a", kept), traits(title, page))
    if len(kept) < MOST_NUMBERS:
        assert found == (len(page - kept), len(page), title == "a")
    assert news(traits("a", page), traits("a", page)) == (0, len(page), True)
    assert news(b"", traits("a", page)) is news(traits("a", kept), b"") is None


def test_beyond_its_last_number_a_page_of_many_says_nothing() -> None:
    many = {str(number) for number in range(5000)}
    few = {str(number) for number in range(0, 5000, 50)}
    one, other = traits("", many), traits("", many - few)
    assert len(one) == 8 + 4 * MOST_NUMBERS
    none = news(one, other)
    assert none is not None
    assert (none.numbers, none.has_same_title) == (0, True)
    assert MOST_NUMBERS - len(few) // 10 <= none.of <= MOST_NUMBERS
    found = news(other, one)
    assert found is not None
    assert found.numbers <= 8


@pytest.mark.parametrize(
    ("kept", "page", "numbers", "of"),
    [
        ({"35", "35.1", "35.2"}, {"36", "36.1", "36.2", "36.2.1"}, 1, 1),
        ({"35.1", "35.2", "36"}, {"36", "36.1", "36.2", "36.3"}, 2, 1),
        ({"4.99", "4.49", "4"}, {"4.29", "4.19", "4"}, 2, 1),
        ({"4.99"}, {"4.29", "5.19", "4,29", "4:29"}, 4, 4),
        ({"2024-05-01"}, {"2024-05-02", "2024-05-03", "2024"}, 3, 3),
    ],
)
def test_the_parts_of_a_number_are_no_other_numbers(
    kept: set[str], page: set[str], numbers: int, of: int
) -> None:
    assert news(traits("", kept), traits("", page)) == (numbers, of, True)


PIECES = st.sampled_from(
    ["1", "07", "9", "2026", ", ", ",", ".", "-", " ", "x", "th", "May", "_", "é", "SS", "ABCDE", "B"]
)


TEXTS = st.text(st.sampled_from("0199.,:/-- abAZZ_é٣"), max_size=60) | st.lists(PIECES).map("".join)
# As one would write them: what stands before comes first.
NUMBER = re.compile(
    r"(?<![A-Za-z_0-9])(?<![0-9][.,:/-])"
    r"(?:[0-9]{1,2}, [0-9]{4}(?![.,:/-]?[0-9])|[0-9]++(?:[.,:/-][0-9]++)*+)"
    r"(?![A-Za-z_]{3}|[A-Za-z_]{1,2}[0-9])"
)


@given(TEXTS)
def test_numbers_are_found_by_what_stands_around_them(text: str) -> None:
    assert numbers_in(text) == set(NUMBER.findall(text))


@given(
    st.text(max_size=8), TEXTS | st.integers(0, 200).map(lambda most: " ".join(map(str, range(most))))
)
@example("\ud800", "3.1 4 3年4月 3")
def test_compiled_traits_are_those_of_python(title: str, text: str) -> None:
    if module := pages():
        expected = traits(title, numbers_in(text), b"pair")
        assert module.traits(title, text.encode(), b"pair", MOST_NUMBERS) == expected


def slow_traits(title: str, numbers: list[str]) -> bytes:
    parts = [title, *numbers, *(one.partition(".")[0] for one in numbers)]
    hashes = (hashes_of(parts) >> np.uint64(32)).astype("<u4")
    of_numbers, of_firsts = hashes[1:].reshape(2, -1)
    of_part = np.maximum(of_numbers & 1023, 1)
    of_part[of_numbers == of_firsts] = 0
    told = np.unique(of_firsts & np.uint32(2**32 - 1024) | of_part)[:MOST_NUMBERS]
    return b"".join(one.astype("<u4").tobytes() for one in (hashes[:1], np.array([len(told)]), told))


@given(
    st.text(max_size=8),
    st.lists(st.from_regex(r"[0-9]{1,2}(\.[0-9]){0,2}", fullmatch=True), max_size=90),
)
def test_traits_are_hashes_in_order(title: str, numbers: list[str]) -> None:
    assert traits(title, numbers) == slow_traits(title, numbers)


PAIRS = st.sets(st.integers(0, 2**32 - 1), max_size=30)


@given(NUMBERS, PAIRS, NUMBERS, PAIRS)
def test_pairs_are_no_numbers(
    kept: set[str], its_pairs: set[int], page: set[str], other: set[int]
) -> None:
    here, there = traits("a", kept, packed(its_pairs)), traits("b", page, packed(other))
    assert news(here, there) == news(traits("a", kept), traits("b", page))
    assert other_pairs(here, there) == packed(other - its_pairs)
    assert without_numbers(packed(other)) == packed({pair for pair in other if pair % 2 == 0})
    assert of_codes(packed(other)) == packed({pair for pair in other if pair % 4 in {2, 3}})
    assert hashes_in(there) == traits("b", page)[:4] + packed(other)
    assert title_in(traits("", page, packed(other))) == UNTITLED != title_in(there)


def packed(hashes: set[int]) -> bytes:
    return np.array(sorted(hashes), "<u4").tobytes()


def test_a_fingerprint_has_them() -> None:
    page = Page.from_html("<title>Match 7</title><p>North beat South 3:1 on 12 May, 1,204 came.</p>")
    assert numbered(page) == traits("Match 7", {"3:1", "12", "1,204"})
    lines = "<pre>Printed on May 7, \n 2024, 12,\t2025</pre>"
    assert numbered(Page.from_html(lines)) == traits("", {"7, 2024", "12, 2025"})
    assert numbered(Page.from_text("no number")) == traits("", ())
    assert numbered(Page.from_text("2024年5月1日")) == traits("", {"2024", "5", "1"})


def numbered(page: Page) -> bytes:
    """Return the traits of *page* without its pairs."""
    found = fingerprint(page).traits
    return found[: 8 + 4 * int.from_bytes(found[4:8], "little")]
