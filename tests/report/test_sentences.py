"""What a report says, and that what is none is none from the index to the file."""

from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.model.errors import printable
from dedup.model.verdict import Reason, Verdict
from dedup.reading.tokens import tokens
from dedup.report import diff
from dedup.report.diff import BOTH, COPY, KEPT, Span, compared, units
from dedup.report.explanation import loss
from tests.support.pages import text


def text_of(line: diff.MarkedLine, own: str) -> str:
    """Return what is shown of one text, without white space."""
    return "".join("".join(span.text for span in line if span.of in {own, BOTH}).split())


@given(st.text("ab \n.\u202e", max_size=200), st.text("ab \n.\u202e", max_size=200))
def test_all_of_the_copy_is_there(kept: str, copy: str) -> None:
    for number, line in compared(kept, copy).lines:
        is_added = all(span.of == KEPT for span in line)
        said = "" if is_added else printable("".join(copy.split("\n")[number].split()))
        assert text_of(line, COPY) == said
        assert any(span.of != BOTH for span in line)


def test_what_replaces_lines_stands_in_these() -> None:
    lines = compared("Tea\nred\nXL\nSunday, noon", "Tea\nblue\nM\nFriday, noon").lines
    said = ["".join(span.text for span in line) for _, line in lines]
    assert said == ["red blue", "XL M", "Sunday Friday, noon"]


@pytest.mark.parametrize(
    ("kept", "copy", "lost"),
    [
        (
            "The harbour opens at nine. Boats for hire on every day but Monday. Bring a coat.",
            "Boats for hire on every day but Monday. The harbour opens at ten. Bring a warm coat.",
            ["ten.", "warm"],
        ),
        # A run that was moved, of which a word is equal by chance, and a line that was.
        ("one two three four\nx three y", "x three y\none two three four", []),
        ("b\nc\nb a", "b a\nb\nc", []),
        # One of two equal lines is new.
        ("S\nM\nS", "S\nM\nM", ["M"]),
        ("Views: 1,234\nLikes: 56,789", "Views: 4,321\nLikes: 98,765", ["4,321", "98,765"]),
        ("It costs nine crowns.", "It costs nine euros.\nNo boats today.", ["euros", "No boats today"]),
    ],
)
def test_what_is_lost_is_what_the_page_kept_has_nowhere(kept: str, copy: str, lost: list[str]) -> None:
    shown = compared(kept, copy)
    assert [part.strip(".") for part in shown.lost_parts] == [part.strip(".") for part in lost]
    assert shown.lost == sum(len(tokens(part)) for part in lost)
    assert compared(copy, copy).lost == 0


@given(st.lists(st.sampled_from(["Wiki", "Media Wiki", "red", "a b", "灯塔"]), max_size=9), st.randoms())
def test_lines_in_another_order_lose_nothing(lines: list[str], now: Random) -> None:
    assert compared("\n".join(lines), "\n".join(now.sample(lines, len(lines)))).lost == 0


def test_long_equal_stretches_are_shown_by_their_ends() -> None:
    words = text(1).split()
    ((_, line),) = compared(" ".join(words), " ".join([*words, "more"])).lines
    equal = Span(f"{' '.join(words[:6])} … {' '.join(words[-6:])}", BOTH)
    assert diff.shortened(line) == (equal, Span(" more", COPY))
    assert compared("a" * diff.MAX_TEXT, "b" * (diff.MAX_TEXT + 1)).is_cut


@pytest.mark.parametrize(
    ("missing", "ending"),
    [
        (None, ""),
        (0, ", all of which stand on other pages kept"),
        (8, ", all but about 8 of which stand on other pages kept"),
        (90, ""),
    ],
)
def test_a_sentence_tells_how_many_words_stand_on_other_pages(missing: int | None, ending: str) -> None:
    verdict = Verdict(Reason.NEAR_DUPLICATE, False, lost=69, missing=missing)
    assert loss(verdict, 640) == f"about 69 of 640 words{ending}"
    for words in (0, 2, 19):  # counted: what was estimated of the others is left out beside a few words
        texts = compared(text(1), text(1) + " more" * words)
        lost = f"{words} of {120 + words} words" if words else "nothing"
        assert loss(verdict, 640, texts) == f"{lost}{ending * (words == 19)}"


words = st.lists(st.sampled_from(["a", "b", "c", "the ", " ", "\n", "灯", "塔", ".", "x1"]), max_size=25)
texts = words.map(" ".join) | words.map("".join) | words.map("\n".join) | st.text(max_size=30)


@given(texts, texts)
def test_the_changes_lead_from_one_text_to_the_other(a: str, b: str) -> None:
    found = diff.pieces_of(a, b)
    assert "".join(unit for of, unit in found if of != KEPT) == b
    before = [unit.strip() for of, unit in found if of != COPY]
    assert before == [unit.strip() for unit in units(a)]
    assert "".join(units(a)) == a
    assert all(of == BOTH for of, _ in diff.pieces_of(a, a))


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ("灯塔建成", "灯塔完工", [(BOTH, "灯塔"), (KEPT, "建成"), (COPY, "完工")]),
        ("a.eu/b?c=1.", "a.eu/b?d=1.", [(KEPT, "a.eu/b?c=1"), (COPY, "a.eu/b?d=1"), (BOTH, ".")]),
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
    joined = groupby(diff.pieces_of(a, b), key=lambda part: part[0])
    assert [(of, "".join(unit for _, unit in group)) for of, group in joined] == wanted
