from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.native import pages
from dedup.recipes.traits import MOST_NUMBERS, new_hashes, new_names, news, numbers_in, traits
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
    assert len(one) == 4 + 4 * MOST_NUMBERS
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
CODE = re.compile(r"(?<![A-Za-z_0-9])[A-Z]{1,5}-?[0-9]{2,6}[A-Z]{0,3}(?![A-Za-z_0-9])")


@given(TEXTS)
def test_numbers_are_found_by_what_stands_around_them(text: str) -> None:
    assert numbers_in(text) == {*NUMBER.findall(text), *CODE.findall(text)}
    if module := pages():
        assert module.numbers(text.encode()) == numbers_in(text)


def slow_traits(title: str, numbers: list[str], names: list[str]) -> bytes:
    codes = [one for one in numbers if one[0].isalpha()]
    digits = [one for one in numbers if not one[0].isalpha()]
    parts = [title, *codes, *names, *digits, *(one.partition(".")[0] for one in digits)]
    hashes = (hashes_of(parts) >> np.uint64(32)).astype("<u4")
    of_codes, of_names, of_numbers = np.split(hashes[1:], [len(codes), len(codes) + len(names)])
    of_numbers, of_firsts = of_numbers.reshape(2, -1)
    of_part = np.clip(of_numbers & 1023, 1, 1021)
    of_part[of_numbers == of_firsts] = 0
    upper = np.uint32(2**32 - 1024)
    of_all = np.concatenate(
        (of_firsts & upper | of_part, of_codes | np.uint32(1023), of_names & upper | np.uint32(1022))
    )
    return hashes[:1].tobytes() + np.unique(of_all)[:MOST_NUMBERS].astype("<u4").tobytes()


@given(
    st.text(max_size=8),
    st.lists(
        st.from_regex(r"[A-Z]{1,2}[0-9]{2,3}|[0-9]{1,2}(\.[0-9]){0,2}", fullmatch=True), max_size=90
    ),
    st.lists(st.text("abc", min_size=3, max_size=4)),
)
def test_traits_are_hashes_in_order(title: str, numbers: list[str], names: list[str]) -> None:
    assert traits(title, numbers, names) == slow_traits(title, numbers, names)


def test_codes_and_names_are_no_numbers() -> None:
    here = traits("SS61 - Shop", numbers_in("Part SS61, 12 in a pack"), ["Shop"])
    there = traits("SS62 - Shop", numbers_in("Part SS62, 12 in a pack"), ["Shop", "Socket"])
    assert news(here, there) == (0, 1, False)
    codes, names = new_names(here, there)
    assert (len(codes), len(names)) == (4, 4)
    assert new_hashes(here, there) == codes
    assert new_names(there, there) == (b"", b"")


def test_a_fingerprint_has_them() -> None:
    page = Page.from_html("<title>Match 7</title><p>North beat South 3:1 on 12 May, 1,204 came.</p>")
    assert fingerprint(page).traits == traits("Match 7", {"3:1", "12", "1,204"})
    lines = "<pre>Printed on May 7, \n 2024, 12,\t2025</pre>"
    assert fingerprint(Page.from_html(lines)).traits == traits("", {"7, 2024", "12, 2025"})
    assert fingerprint(Page.from_text("no number")).traits == traits("", ())
