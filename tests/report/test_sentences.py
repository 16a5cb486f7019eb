"""What a report says, and that what is none is none from the index to the file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, MemoryIndex
from dedup.index import Glance
from dedup.report.columns import NONE, columns_of, is_known, listed
from dedup.report.contents import Choices, contents_of
from dedup.report.embedded import embedded
from dedup.report.sentences import MEANINGS, fate, recorded, rule, why
from dedup.report.side_by_side import MAX_TEXT, Changed, Equal, one_line, side_by_side
from dedup.values.match import Check
from dedup.values.verdict import Reason, Verdict
from tests.browser.reports import hostile_index
from tests.pages import text

BITS = st.none() | st.integers(0, 64)


def test_every_reason_has_a_meaning() -> None:
    assert MEANINGS.keys() == set(Reason)


@pytest.mark.parametrize(
    ("reason", "passes", "sentence"),
    [
        (Reason.EXACT_DUPLICATE, True, "Two are one."),
        (Reason.NEAR_DUPLICATE, True, "Two are one."),
        (
            Reason.NEAR_DUPLICATE,
            False,
            "Two are one. With the settings of this report it is no duplicate.",
        ),
        (
            Reason.CANONICAL_LINK,
            False,
            "It names that page as its canonical (rel=canonical). Two are one.",
        ),
        (Reason.UNCHANGED, True, "An earlier run saw the same text at this URL."),
    ],
)
def test_why_a_page_is_a_duplicate(reason: Reason, passes: bool, sentence: str) -> None:
    assert why(reason, Check(passes, "x", "Two are one.", 0.9, 3, None)) == sentence


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            DedupConfig(),
            "Candidates are pages whose content simhashes differ in at most 10 bits or whose structure "
            "simhashes differ in at most 8 bits. They are duplicates if they share at least 0.62 of their shingles.",
        ),
        (
            DedupConfig(verifier="distance", max_distance=3),
            "Candidates are pages whose content simhashes differ in at most 3 bits. "
            "All candidates are duplicates.",
        ),
    ],
)
def test_the_rule_in_words(config: DedupConfig, sentence: str) -> None:
    assert rule(config) == sentence


def test_an_action_of_somebody_else_is_shown_inert() -> None:
    assert [fate(action) for action in ("drop", "dry run", "\x1b")] == [
        "dropped",
        "let through",
        "\\x1b",
    ]


@given(
    st.lists(
        st.tuples(BITS, BITS, st.none() | st.floats(0, 1, width=32), st.none() | st.integers(1, 9))
    ),
    st.data(),
)
def test_a_column_has_one_way_to_say_none(
    rows: list[tuple[int | None, int | None, float | None, int | None]], data: st.DataObject
) -> None:
    columns = columns_of(
        Glance(
            *(number, 1, "", 0, canonical, similarity),
            *("near_duplicate", False, content, structure, "confirmed", False),
        )
        for number, (content, structure, similarity, canonical) in enumerate(rows, 1)
    )
    numbers = data.draw(st.lists(st.integers(0, len(rows) + 1)))
    places = columns.places(np.array(numbers, np.int64))
    empty = (None,) * 4
    wanted = [rows[number - 1] if 0 < number <= len(rows) else empty for number in numbers]
    names = ("content_distance", "structure_distance", "similarity", "canonical")
    shown = [listed(getattr(columns, name), places) for name in names]
    assert list(zip(*shown, strict=True)) == wanted
    for name, values in zip(names, zip(*rows, strict=True), strict=False):
        assert is_known(getattr(columns, name)).tolist() == [value is not None for value in values]
    assert NONE < 0


def test_no_number_of_the_file_stands_for_none() -> None:
    contents = contents_of(Choices(index=hostile_index(), config=DedupConfig(), name="pages.db"))
    text = json.dumps(embedded(contents), allow_nan=False)
    assert "null" in text
    assert ":-" not in text
    assert not {"-1", "NaN"} & set(text.replace("[", ",").replace("]", ",").split(","))


@given(st.text("ab \n.\u202e", max_size=200), st.text("ab \n.\u202e", max_size=200))
def test_each_side_has_all_of_its_text(one: str, other: str) -> None:
    stretches = side_by_side(one, other).stretches
    left = [part.start if isinstance(part, Equal) else part.before for part in stretches]
    right = [part.start if isinstance(part, Equal) else part.after for part in stretches]
    if any(isinstance(part, Equal) and part.omitted for part in stretches):
        return
    assert "".join("".join(left).split()) == "".join(one_line(one).split())
    assert sorted("".join("".join(right).split())) == sorted("".join(one_line(other).split()))


def test_long_equal_stretches_are_shown_by_their_ends() -> None:
    words = text(1).split()
    shown = side_by_side(" ".join(words), " ".join([*words, "more"]))
    equal, changed = shown.stretches
    assert isinstance(equal, Equal)
    assert (equal.start, equal.end) == (" ".join(words[:25]), " ".join(words[-25:]))
    assert equal.omitted == len(words) - 50
    assert (changed, shown.is_cut) == (Changed("", "more"), False)
    assert side_by_side("a" * MAX_TEXT, "b" * (MAX_TEXT + 1)).is_cut


def test_an_empty_index_has_contents() -> None:
    contents = contents_of(Choices(index=MemoryIndex(), config=DedupConfig(), name=""))
    assert (contents.listed, contents.left_out, contents.texts) == (0, 0, {})


@pytest.mark.parametrize(
    ("reason", "measured", "sentence"),
    [
        (Reason.EXACT_DUPLICATE, (0, 0, 1.0), "Its bytes are those of the canonical page."),
        (
            Reason.NEAR_DUPLICATE,
            (3, 0, 0.951),
            "The pages share 0.95 of their shingles. The content simhashes differ in 3 of 64 bits. "
            "The structure simhashes differ in 0 of 64 bits.",
        ),
        (
            Reason.NEAR_DUPLICATE,
            (12, None, 0.5),
            "The pages share 0.50 of their shingles. The content simhashes differ in 12 of 64 bits.",
        ),
        (
            Reason.CANONICAL_LINK,
            (None, None, 0.7),
            "It names that page as its canonical (rel=canonical). The pages share 0.70 of their shingles.",
        ),
        (Reason.CANONICAL_LINK, (None,) * 3, "It names that page as its canonical (rel=canonical)."),
        (Reason.UNCHANGED, (None,) * 3, "An earlier run saw the same text at this URL."),
        (Reason.NEAR_DUPLICATE, (None,) * 3, ""),
    ],
)
def test_what_was_recorded_is_said_without_a_rule(
    reason: Reason, measured: tuple[int | None, int | None, float | None], sentence: str
) -> None:
    assert recorded(Verdict(reason, False, *measured)) == sentence
    assert recorded(Verdict(reason, True, *measured)) == ""
