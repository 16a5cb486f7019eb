"""Rows of data whose parts touch are more than a word: what is lost with them is not one word a row."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Page, compare
from dedup.native._pages import MOST_CHARACTERS
from dedup.reading.tokens import tokens
from tests.pages import text

FRAME = text(1, 300)


def rows(seed: int, number: int, parts: int, between: str, of: str) -> str:
    rng = Random(seed)
    part: Callable[[], str] = {
        "numbers": lambda: f"{rng.uniform(0, 99):.1f}",
        "times": lambda: f"{rng.randint(5, 23):02}:{rng.randint(0, 59):02}",
        "words": lambda: "".join(rng.choices("abdeiklmnorst", k=7)),
        "letters": lambda: rng.choice("ACDEFGHIKLMNPQRSTVWY"),
    }[of]
    return "\n".join(between.join(part() for _ in range(parts)) for _ in range(number))


@pytest.mark.parametrize(
    ("number", "parts", "between", "of"),
    [
        (10, 20, ",", "numbers"),
        (1, 240, ",", "numbers"),
        (10, 15, ",", "times"),
        (10, 12, "|", "words"),
        (5, 30, "→", "words"),
        (1, 200, "+", "words"),
        (1, 120, "#", "words"),
        (12, 60, "", "letters"),
        (10, 12, "</span><span>", "words"),
        (1, 120, "</a><a href=/t>", "words"),
    ],
)
def test_pages_of_other_data_are_no_copies(number: int, parts: int, between: str, of: str) -> None:
    one, other = (
        Page.from_html(
            f"<main><p>{FRAME}</p><pre><a>{rows(seed, number, parts, between, of)}</a></pre></main>"
        )
        for seed in (1, 2)
    )
    assert not compare(one, other).is_duplicate


@given(st.text(max_size=200))
def test_no_token_has_more_than_so_many_characters(said: str) -> None:
    assert max(map(len, tokens(said)), default=0) <= MOST_CHARACTERS
