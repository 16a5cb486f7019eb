"""A page of a site that is known is kept for two words that stand beside each other nowhere else."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, fingerprint
from dedup.reading.tokens import token_lines, tokens
from dedup.recipes.pairs import MOST_PAIRS, is_said, pairs
from dedup.recipes.sketch import shingle_hashes
from dedup.recipes.terms import Terms
from dedup.rule import loss
from dedup.rule.loss import KNOWN_PAGES_OF_EDITS, LossVerifier
from tests.dedup.rule.test_edits import document
from tests.dedup.rule.test_loss import Known
from tests.dedup.rule.test_records import words

LINES = st.lists(
    st.lists(
        st.sampled_from(["tide", "sea", "7", "12:30pm", "ss61", "3fa9c0de", "x", "武汉"]), min_size=1
    ),
    max_size=8,
)


def slow_pairs(lines: list[list[str]]) -> set[int]:
    """Return the hashes of the pairs in *lines*, by their definition."""
    found = {(line * 2)[place : place + 2] for line in map(tuple, lines) for place in range(len(line))}
    beside = {
        (one, other)
        for line in lines
        for one, other in (pairwise(line) if len(line) > 1 else [(line[0], line[0])])
    }
    assert beside <= found
    said = [pair for pair in beside if all(map(is_said, pair))]
    hashes = [Terms.from_tokens(list(pair)).hashes() for pair in said]
    return {int(shingle_hashes(np.resize(one, 2), 2)[0]) >> 32 for one in hashes}


@given(LINES)
def test_they_are_the_neighbours_on_a_line(lines: list[list[str]]) -> None:
    terms = Terms.from_tokens([word for line in lines for word in line])
    found = pairs(terms.names, terms.hashes(), terms.sequence, list(map(len, lines)))
    assert np.frombuffer(found, "<u4").tolist() == sorted(slow_pairs(lines))


def test_a_text_of_many_has_the_smallest() -> None:
    terms = Terms.from_tokens([f"word{'abcdefghij'[n % 10]}{'x' * (n // 10)}" for n in range(3000)])
    found = np.frombuffer(pairs(terms.names, terms.hashes(), terms.sequence, [3000]), "<u4")
    assert len(found) == MOST_PAIRS
    assert found.tolist() == sorted(set(found.tolist()))
    assert pairs([], terms.hashes()[:0], terms.sequence[:0], []) == b""


@given(st.text(st.sampled_from("abA 1.\n\x0c-é武的ア…\u0301"), max_size=40))
def test_lines_of_tokens_are_the_tokens(text: str) -> None:
    lines = token_lines(text)
    assert [word for line in lines for word in line] == tokens(text)
    assert all(lines)
    if tokens(text):
        each = [tokens(f"{line}\nx")[:-1] for line in text.split("\n")]
        assert lines == [line for line in each if line]


def records(count: int, others: int, record: str) -> tuple[MemoryIndex, list[bool]]:
    """Return whether each of so many pages that differ in *record* is kept, among other pages."""
    rng, index = Random(others), MemoryIndex()
    with Detector(index) as detector:
        for number in range(others):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))
        found = [
            detector.check(
                document(
                    "Member",
                    f"{words(Random(7), 60)} {record.format(words(rng, 1))}",
                    f"http://a.example/m/{n}",
                )
            ).kept
            for n in range(count)
        ]
    return index, found


@pytest.mark.parametrize(
    ("others", "record", "kept"),
    [
        (KNOWN_PAGES_OF_EDITS, "born in {} harbour", 40),
        (KNOWN_PAGES_OF_EDITS, "seen {0}42{0}1 times", 40),
        (5, "born in {} harbour", 1),  # little is known of the site
    ],
)
def test_a_record_that_says_one_thing_of_its_own_is_kept(others: int, record: str, kept: int) -> None:
    assert sum(records(40, others, record)[1]) == pytest.approx(kept, abs=2)


def test_a_clock_a_counter_or_an_id_makes_no_record() -> None:
    with Detector(MemoryIndex()) as detector:
        rng = Random(2)
        for number in range(30):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))
        kept = [
            detector.check(
                document(
                    "Sea",
                    f"{words(Random(7), 80)} at {n % 24}:{n}pm hits id {n:08x}c0",
                    f"http://a.example/s/{n}",
                )
            ).kept
            for n in range(10, 50)
        ]
    assert kept == [True] + [False] * 39


def test_what_stands_on_a_page_that_was_dropped_is_kept_with_the_next_one() -> None:
    """The pairs of pages that were kept count, and of no other."""
    shared, rng = words(Random(7), 60), Random(3)
    with Detector(MemoryIndex()) as detector:

        def kept(title: str, content: str, path: str) -> bool:
            return detector.check(document(title, content, f"http://a.example/{path}")).kept

        for number in range(30):
            assert kept(f"Text {number}", words(rng, 60), str(number))
        assert kept("Harbour", f"{shared} tide tables", "1/a")
        assert not kept("Harbour", f"{shared} tide tables", "1/b")
        assert kept("Harbour", f"{shared} tide mill museum", "1/c")


def test_the_law_finds_a_rule_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "_new_pairs", lambda *_: 0)
    assert sum(records(40, 30, "born in {} harbour")[1]) < 20


def test_a_check_tells_how_many_there_are() -> None:
    kept, page = (
        fingerprint(document("Sea", f"{words(Random(1), 60)} {end}", ""))
        for end in ("", "brass lantern")
    )
    for pages, passes in ((KNOWN_PAGES_OF_EDITS - 1, True), (KNOWN_PAGES_OF_EDITS, False)):
        check = LossVerifier(DedupConfig()).check(kept, page, Known(pages=pages))
        assert check.passes is passes
        assert check.sentence.endswith("Pairs of its words that stand on no page kept: 3.") != passes
