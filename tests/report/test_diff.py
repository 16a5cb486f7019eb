from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.report.diff import BOTH, COPY, KEPT, parts_of, units

words = st.lists(st.sampled_from(["a", "b", "c", "the ", " ", "\n", "灯", "塔", ".", "x1"]), max_size=25)
texts = words.map(" ".join) | words.map("".join) | words.map("\n".join) | st.text(max_size=30)


@given(texts, texts)
def test_the_changes_lead_from_one_text_to_the_other(a: str, b: str) -> None:
    found = parts_of(a, b)
    assert "".join(unit for of, unit in found if of != KEPT) == b
    before = [unit.strip() for of, unit in found if of != COPY]
    assert before == [unit.strip() for unit in units(a)]
    assert "".join(units(a)) == a
    assert all(of == BOTH for of, _ in parts_of(a, a))


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ("", "", []),
        ("", "new", [(COPY, "new")]),
        ("old", "", [(KEPT, "old")]),
        ("a  b", "a\nb", [(BOTH, "a\nb")]),
        (
            "the red fox ran",
            "the brown fox ran",
            [(BOTH, "the"), (KEPT, " red"), (COPY, " brown"), (BOTH, " fox ran")],
        ),
        ("灯塔建成", "灯塔完工", [(BOTH, "灯塔"), (KEPT, "建成"), (COPY, "完工")]),
        ("x, y", "x; y", [(BOTH, "x"), (KEPT, ","), (COPY, ";"), (BOTH, " y")]),
        # A word between two longer changes is none of what stayed.
        (
            "one two and three four",
            "five six and seven eight",
            [(KEPT, "one two and three four"), (COPY, "five six and seven eight")],
        ),
    ],
)
def test_changes(a: str, b: str, wanted: list[tuple[str, str]]) -> None:
    joined = groupby(parts_of(a, b), key=lambda part: part[0])
    assert [(of, "".join(unit for _, unit in group)) for of, group in joined] == wanted
