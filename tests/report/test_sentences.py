"""What a report says, and that what is none is none from the index to the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Fingerprint, MemoryIndex
from dedup.index import Row
from dedup.model.verdict import Match, Outcome, Reason, Verdict
from dedup.report.diff import MAX_TEXT, Paragraphs, Span, one_line, side_by_side
from dedup.report.explanation import by_site, loss, lost_sentence, on_record
from dedup.rule.loss import LOST, NOT_ALIKE
from dedup.rule.match import in_words
from tests.pages import text
from tests.sightings import sighting


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            DedupConfig(),
            "Candidates are pages whose content simhashes differ in at most 10 bits or whose structure "
            "simhashes differ in at most 8 bits. They are copies if they share at least 0.62 of their "
            "shingles and few of their words would be lost: at most 15; or at most 40 or 10%, never "
            "more than a third of what is not common on the site; or words of other pages kept.",
        ),
    ],
)
def test_the_rule_in_words(config: DedupConfig, sentence: str) -> None:
    assert in_words(config) == sentence


def texts_of(rows: Sequence[Paragraphs | int], side: str) -> str:
    """Return what is shown of one side, without white space."""
    spans = [span for row in rows if isinstance(row, Paragraphs) for span in getattr(row, side)]
    return "".join("".join(span.text for span in spans).split())


@given(st.text("ab \n.\u202e", max_size=200), st.text("ab \n.\u202e", max_size=200))
def test_each_side_has_all_of_its_text(one: str, other: str) -> None:
    rows = side_by_side(one, other).rows
    if any(isinstance(row, int) for row in rows):
        return
    assert texts_of(rows, "before") == "".join(one_line(one).split())
    assert texts_of(rows, "after") == "".join(one_line(other).split())


@given(st.lists(st.text("abcd ", min_size=1, max_size=30), max_size=8), st.data())
def test_equal_paragraphs_stand_beside_each_other(paragraphs: list[str], data: st.DataObject) -> None:
    more = data.draw(
        st.lists(st.text("xyz ", max_size=20), min_size=len(paragraphs), max_size=len(paragraphs))
    )
    other = [f"{one} {new}" for one, new in zip(paragraphs, more, strict=True)]
    rows = side_by_side("\n".join(paragraphs), "\n".join(other)).rows
    for row in rows:
        if isinstance(row, Paragraphs) and not row.is_changed:
            assert [span.text for span in row.before] == [span.text for span in row.after]


def test_paragraphs_far_from_a_change_are_counted() -> None:
    paragraphs = [f"paragraph {number} of this text" for number in range(9)]
    changed = [*paragraphs[:4], "paragraph 4 of that text", *paragraphs[5:]]
    before, kept, change, after, rest = side_by_side("\n".join(paragraphs), "\n".join(changed)).rows
    assert (before, rest) == (15, 15)
    assert isinstance(kept, Paragraphs)
    assert isinstance(after, Paragraphs)
    assert isinstance(change, Paragraphs)
    assert not kept.is_changed
    assert [span.text for span in change.before if span.is_changed] == [" this"]
    assert [span.text for span in change.after if span.is_changed] == [" that"]


def test_lost_words_are_counted_and_what_was_moved_is_not_lost() -> None:
    one = "The harbour opens at nine. Boats for hire on every day but Monday. Bring a coat."
    other = "Boats for hire on every day but Monday. The harbour opens at ten. Bring a warm coat."
    shown = side_by_side(one, other)
    changed = [
        span.text
        for row in shown.rows
        if isinstance(row, Paragraphs)
        for span in row.after
        if span.is_changed
    ]
    assert (changed, shown.lost, shown.words) == ([" ten.", " warm"], 2, 17)
    assert side_by_side(one, one).lost == 0
    assert shown.counted("nothing") == "2 of 17 words"
    said = "The page would lose about 9 of 20 words: nothing is known here of its site."
    assert shown.counted(said) == "The page would lose 2 of 17 words: nothing is known here of its site."
    assert (
        side_by_side(one, one).counted("The page lost about 9 of 20 words.") == "The page lost nothing."
    )


@pytest.mark.parametrize("end", ["", "\nPrint this page"])
def test_a_new_paragraph_ends_with_its_own_full_stop(end: str) -> None:
    one = f"It costs nine crowns. Bring a coat and a hat.{end}"
    other = f"It costs nine euros. Bring a coat and a hat.\nNo boats today.{end}"
    shown = side_by_side(one, other)
    row = shown.rows[1]
    assert isinstance(row, Paragraphs)
    assert (row.before, row.after) == ((), (Span("No boats today.", is_changed=True),))


def test_long_equal_stretches_are_shown_by_their_ends() -> None:
    words = text(1).split()
    shown = side_by_side(" ".join(words), " ".join([*words, "more"]))
    (row,) = shown.rows
    assert isinstance(row, Paragraphs)
    equal, added = row.after
    assert equal == Span(f"{' '.join(words[:25])} […] {' '.join(words[-25:])}", is_changed=False)
    assert (added, shown.is_cut) == (Span(" more", is_changed=True), False)
    assert side_by_side("a" * MAX_TEXT, "b" * (MAX_TEXT + 1)).is_cut


def test_older_rows_tell_no_loss_and_have_their_tokens_for_words() -> None:
    old = row_of(Verdict(Reason.NEAR_DUPLICATE, False, 3, 0, 0.9), words=0)
    assert (loss(old), lost_sentence(old)) == ("", "")
    assert loss(replace(old, verdict=replace(old.verdict, lost=7))) == "about 7 of 700 words"


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
    row = row_of(Verdict(Reason.NEAR_DUPLICATE, False, lost=69, missing=missing))
    assert lost_sentence(row) == f"The page lost about 69 of 640 words{ending}."
    assert on_record(row) == lost_sentence(row)
    for words in (0, 2, 19):  # counted: what was estimated of the others is left out beside a few words
        texts = side_by_side(text(1), text(1) + " more" * words)
        lost = f"{words} of {120 + words} words" if words else "nothing"
        assert texts.counted(lost_sentence(row)) == f"The page lost {lost}{ending * (words == 19)}."


@pytest.mark.parametrize(
    ("lost", "missing", "limit", "finding", "sentence"),
    [
        (200, 8, 40, LOST, "other pages with its words"),
        (200, 2, 2, LOST, "other pages with its words"),
        (200, 6, 2, LOST, ""),  # within what the crawl allowed, not within the limit of this report
        (50, None, 10, LOST, ""),
        (None, None, 40, LOST, ""),  # judged by a rule that did not ask
        (200, 3, 40, NOT_ALIKE, ""),
    ],
)
def test_a_drop_that_the_site_decided_is_none_of_the_settings(
    lost: int | None, missing: int | None, limit: int, finding: str, sentence: str
) -> None:
    config = DedupConfig(max_lost_words=limit)
    row = row_of(Verdict(Reason.NEAR_DUPLICATE, False, lost=lost, missing=missing))
    check = Match(Reason.NEW, finding, "Two are two.", 0.8, 3, None, lost=lost)
    decided = by_site(row, check, config)
    assert sentence in decided
    assert bool(decided) is bool(sentence)
    assert not by_site(replace(row, verdict=Verdict(Reason.UNCHANGED, False)), check, config)


def row_of(verdict: Verdict, words: int = 640) -> Row:
    """Return the row of a page of so many words and 700 tokens, with that verdict."""
    page = Fingerprint(1, 1, b"", b"b", b"t", tokens=700, words=words)
    seen = sighting(page, run=MemoryIndex().runs.begin("s"), config=DedupConfig())
    return Row(1, seen, verdict, Outcome.CONFIRMED, listed=False)
