from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, fingerprint
from dedup.native import pages
from dedup.recipes.traits import MOST_NUMBERS, news, numbers_in, traits

NUMBERS = st.sets(st.integers(0, 10**6).map(str), max_size=MOST_NUMBERS)


@given(NUMBERS, NUMBERS, st.sampled_from("ab"))
def test_news_are_the_numbers_that_the_other_page_has_not(
    kept: set[str], page: set[str], title: str
) -> None:
    found = news(traits("a", kept), traits(title, page))
    if len(kept) < MOST_NUMBERS:
        assert found == (len(page - kept), title == "a")
    assert news(traits("a", page), traits("a", page)) == (0, True)
    assert news(b"", traits("a", page)) is news(traits("a", kept), b"") is None


def test_beyond_its_last_number_a_page_of_many_says_nothing() -> None:
    many = {str(number) for number in range(5000)}
    one, other = traits("", many), traits("", many - {str(number) for number in range(0, 5000, 50)})
    assert len(one) == 4 + 4 * MOST_NUMBERS
    assert news(one, other) == (0, True)
    found = news(other, one)
    assert found is not None
    assert found.numbers <= 8


@given(st.text(st.sampled_from("019.,:/- abZ_é٣"), max_size=60))
def test_compiled_code_finds_the_same_numbers(text: str) -> None:
    if module := pages():
        assert module.numbers(text.encode()) == numbers_in(text)


def test_a_fingerprint_has_them() -> None:
    page = Page.from_html("<title>Match 7</title><p>North beat South 3:1 on 12 May, 1,204 came.</p>")
    assert fingerprint(page).traits == traits("Match 7", {"3:1", "12", "1,204"})
    assert fingerprint(Page.from_text("no number")).traits == traits("", ())
