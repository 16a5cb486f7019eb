"""Words of a page that no page before it had."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.reading.compiled import compiled_pages
from dedup.reading.tokens import UNSPACED
from dedup.urls.newness import NEW_WORDS, TOGETHER, Newness, new_words_in_python
from tests.budget import examples
from tests.pages import text

HOST = "a.example"
lines = st.lists(st.text(st.sampled_from("ab é灯塔7#. "), max_size=30), max_size=8)


@given(lines, st.randoms(use_true_random=False))
@settings(max_examples=examples(50), deadline=None)
def test_the_same_lines_in_any_order_are_not_new(page: list[str], order: random.Random) -> None:
    newness = Newness()
    newness.words(HOST, "\n".join(page))
    order.shuffle(page)
    assert newness.words(HOST, "\n".join(page)) == 0.0


@given(lines)
@settings(max_examples=examples(50), deadline=None)
def test_what_was_learned_can_be_saved(page: list[str]) -> None:
    newness = Newness()
    newness.words(HOST, text(1))
    again = Newness(newness.state())
    assert again.words(HOST, text(1)) == 0.0
    assert again.words(HOST, "\n".join(page)) == newness.words(HOST, "\n".join(page))


def test_an_article_is_new_once_a_host() -> None:
    newness = Newness()
    assert [newness.words(HOST, text(1)) for _ in range(2)] == [120.0, 0.0]
    assert newness.words("b.example", text(1)) == 120.0


def test_numbers_count_for_nothing() -> None:
    newness = Newness()
    newness.words(HOST, "Visitor 1 at 12:01. No events on 3.2.2026.")
    assert newness.words(HOST, "Visitor 2 at 12:05. No events on 9.7.2031.") == 0.0


def test_two_characters_of_chinese_are_a_word() -> None:
    assert Newness().words(HOST, "灯塔建成于一八六四年") == 5.0


def test_of_a_changed_line_what_stands_beside_the_change_is_new() -> None:
    newness = Newness()
    newness.words(HOST, text(1))
    assert newness.words(HOST, text(1) + " and a few more words") == 5.0 < NEW_WORDS


def test_memory_is_bounded_and_what_is_old_is_forgotten_first() -> None:
    newness = Newness()
    size = len(newness.state())
    for seed in range(300):
        newness.words(HOST, text(seed, 300))
    assert len(newness.state()) == size
    assert newness.words(HOST, text(299, 300)) == 0.0


@given(st.lists(lines, max_size=4))
@settings(max_examples=examples(50), deadline=None)
def test_it_counts_as_a_plain_loop_over_all_words_does(pages: list[list[str]]) -> None:
    newness, known = Newness(), set[tuple[str, ...]]()
    for page in pages:
        assert newness.words(HOST, "\n".join(page)) == plainly("\n".join(page), known)


@given(
    st.lists(st.text() | lines.map("\n".join) | st.text("aB é灯塔ทฉ๑7#.²½_\n\r\x85\u2028ΣİՒ\ud800👍"))
)
@settings(max_examples=examples(200), deadline=None)
def test_compiled_code_counts_and_learns_the_same(pages: list[str]) -> None:
    if (module := compiled_pages()) is None:
        pytest.skip("there is no compiled code")
    # So few places that phrases take those of others.
    one, other = np.zeros(64, "<u4"), np.zeros(64, "<u4")
    for page in pages:
        found = module.new_words(page, 2**63 + 7, one, TOGETHER)
        assert found == new_words_in_python(page, 2**63 + 7, other)
        assert one.tobytes() == other.tobytes()


def plainly(page: str, known: set[tuple[str, ...]]) -> float:
    """Return how many words of *page* stand in no phrase that is *known*; all are known then."""
    count, met = 0.0, set[tuple[str, ...]]()
    for line in page.lower().split("\n"):
        words = [
            word if re.search(r"[^\W\d_]", word) else "#"
            for word in re.findall(rf"[{UNSPACED}]|[^\s{UNSPACED}]+", line)
        ]
        size = min(3, len(words))
        phrases = [tuple(words[at : at + size]) for at in range(len(words) - size + 1) if words]
        for place, word in enumerate(words):
            around = phrases[max(place - size + 1, 0) : place + 1]
            if word != "#" and known.isdisjoint(around):
                count += 0.5 if re.fullmatch(f"[{UNSPACED}]", word) else 1.0
        met.update(phrases)
    known |= met
    return count
