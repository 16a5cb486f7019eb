from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.report.diff import stretches

words = st.lists(st.sampled_from(["a", "b", "c", "the ", " ", "\n", "灯", "塔", ".", "x1"]), max_size=25)
texts = words.map(" ".join) | words.map("".join) | words.map("\n".join) | st.text(max_size=30)


@given(texts, texts)
def test_the_changes_lead_from_one_text_to_the_other(a: str, b: str) -> None:
    found = stretches(a, b)
    assert "".join(unit for one in found for unit in one.before) == a
    assert "".join(unit for one in found for unit in one.after) == b
    for one, other in pairwise(found):
        assert one.is_equal != other.is_equal
    for one in found:
        before, after = ([unit.strip() for unit in side] for side in (one.before, one.after))
        assert before == after if one.is_equal else before or after


@given(texts)
def test_a_text_equals_itself(a: str) -> None:
    assert all(one.is_equal for one in stretches(a, a))


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ("", "", []),
        ("", "new", [(False, "", "new")]),
        ("old", "", [(False, "old", "")]),
        ("a  b", "a\nb", [(True, "a  b", "a\nb")]),
        (
            "the red fox ran",
            "the brown fox ran",
            [(True, "the", "the"), (False, " red", " brown"), (True, " fox ran", " fox ran")],
        ),
        ("灯塔建成", "灯塔完工", [(True, "灯塔", "灯塔"), (False, "建成", "完工")]),
        ("x, y", "x; y", [(True, "x", "x"), (False, ",", ";"), (True, " y", " y")]),
        # A word between two longer changes is none of what stayed.
        (
            "one two and three four",
            "five six and seven eight",
            [(False, "one two and three four", "five six and seven eight")],
        ),
    ],
)
def test_changes(a: str, b: str, wanted: list[tuple[bool, str, str]]) -> None:
    found = [(one.is_equal, "".join(one.before), "".join(one.after)) for one in stretches(a, b)]
    assert found == wanted
