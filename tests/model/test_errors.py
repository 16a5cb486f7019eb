import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.model.errors import LIMIT, printable


@given(st.text(st.characters(), max_size=2 * LIMIT))
def test_nothing_in_it_acts(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert not any(ord(character) < 32 or ord(character) == 127 for character in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200f\u2028")


@pytest.mark.parametrize("text", ["http://a/?b=c", "灯塔的历史", "déjà vu"])
def test_ordinary_text_stays_and_is_cut_where_it_is_long(text: str) -> None:
    assert printable(text) == text
    assert printable((text * LIMIT)[: LIMIT + 1]) == (text * LIMIT)[:LIMIT] + "…"
