from __future__ import annotations

import time
from difflib import SequenceMatcher
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.report import diff
from dedup.report.diff import DELETE, EQUAL, INSERT, REPLACE, Change, word_diff
from tests.pages import text

words = st.lists(st.sampled_from(["a", "b", "c", "the ", " ", "\n", "灯", "塔", ".", "x1"]), max_size=25)
texts = words.map(" ".join) | words.map("".join) | words.map("\n".join) | st.text(max_size=30)


def check(changes: list[Change], a: str, b: str) -> None:
    assert "".join(change.before for change in changes) == a
    assert "".join(change.after for change in changes) == b
    for one, other in pairwise(changes):
        assert (one.op == EQUAL) != (other.op == EQUAL)
    for change in changes:
        assert change.before or change.after
        match change.op:
            case diff.EQUAL:
                assert "".join(change.before.split()) == "".join(change.after.split())
            case diff.INSERT:
                assert not change.before
            case diff.DELETE:
                assert not change.after
            case _:
                assert (change.op, bool(change.before and change.after)) == (REPLACE, True)


@given(texts, texts)
def test_the_changes_lead_from_one_text_to_the_other(a: str, b: str) -> None:
    check(word_diff(a, b), a, b)


@given(texts, texts, st.integers(0, 6))
def test_so_do_those_of_texts_over_the_limit(a: str, b: str, limit: int) -> None:
    before, diff.LIMIT = diff.LIMIT, limit
    try:
        check(word_diff(a, b), a, b)
    finally:
        diff.LIMIT = before


@given(texts)
def test_a_text_equals_itself(a: str) -> None:
    assert all(change.op == EQUAL for change in word_diff(a, a))


@given(words, words)
def test_no_match_is_lost_that_a_plain_search_finds(a: list[str], b: list[str]) -> None:
    """Before short matches are given up, as much is equal as `difflib` finds, or more."""
    one, other = [word.strip() for word in a], [word.strip() for word in b]
    spans = diff._spans(one, other)
    found = sum(len(span.before) for span in spans if span.is_equal)
    slow = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    assert found >= sum(block.size for block in slow)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", []),
        ("", "new", [(INSERT, "", "new")]),
        ("old", "", [(DELETE, "old", "")]),
        ("a  b", "a\nb", [(EQUAL, "a  b", "a\nb")]),
        (
            "the red fox ran",
            "the brown fox ran",
            [(EQUAL, "the", "the"), (REPLACE, " red", " brown"), (EQUAL, " fox ran", " fox ran")],
        ),
        ("灯塔建成", "灯塔完工", [(EQUAL, "灯塔", "灯塔"), (REPLACE, "建成", "完工")]),
        ("x, y", "x; y", [(EQUAL, "x", "x"), (REPLACE, ",", ";"), (EQUAL, " y", " y")]),
        # A word between two longer changes is none of what stayed.
        ("one two and three four", "five six and seven eight", [(REPLACE, None, None)]),
    ],
)
def test_changes(a: str, b: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    wanted = [
        (op, a if one is None else one, b if other is None else other) for op, one, other in expected
    ]
    assert [(change.op, change.before, change.after) for change in word_diff(a, b)] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("parts", [(" ", "one line"), ("\n", "many lines")], ids=lambda parts: parts[1])
def test_huge_texts_take_bounded_time(parts: tuple[str, str]) -> None:
    """Texts that have nothing to do with each other, and one change in 200,000 words."""
    rng = Random(1)
    a, b = (parts[0].join(f"{rng.randrange(10**6)}" for _ in range(200_000)) for _ in range(2))
    begin = time.process_time()
    check(word_diff(a, b), a, b)
    check(word_diff(a, a + " end"), a, a + " end")
    assert time.process_time() - begin < 20


def test_long_texts_with_changed_lines_are_still_compared_by_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diff, "LIMIT", 150)
    lines = [text(number, 50) for number in range(20)]
    changed = list(lines)
    for place in (2, 9, 16):
        changed[place] = changed[place].replace(" ", " new ", 1)
    changes = word_diff("\n".join(lines), "\n".join(changed))
    assert [change.after for change in changes if change.op != EQUAL] == [" new"] * 3
