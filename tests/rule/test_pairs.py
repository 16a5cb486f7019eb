"""A page of a site that is known is kept for two words that stand beside each other nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, fingerprint
from dedup.algorithms.features import Terms
from dedup.algorithms.sketch import shingle_hashes
from dedup.prints.samples import CODE, DAY, IN_NO_PAIR, MOST_PAIRS, NUMBER, WORD, YEAR, kind_of, pairs
from dedup.reading.tokens import token_lines, tokens
from dedup.rule import loss
from dedup.rule.loss import LossVerifier
from dedup.rule.site import COMMON_PAGES
from tests.rule.test_edits import document
from tests.rule.test_loss import Known
from tests.rule.test_records import words

LINES = st.lists(
    st.lists(
        st.sampled_from(["tide", "sea", "7", "2024", "12:30pm", "ss61", "3fa9c0de", "年", "武汉"]),
        min_size=1,
    ),
    max_size=8,
)


def slow_pairs(lines: list[list[str]]) -> set[int]:
    """Return the hashes of the pairs in *lines*, by their definition."""
    beside = {
        (one, other)
        for line in lines
        for one, other in (pairwise(line) if len(line) > 1 else [(line[0], line[0])])
    }
    found = set()
    for pair in beside:
        kinds = set(map(kind_of, pair))
        if IN_NO_PAIR not in kinds:
            found.add(hash_of(pair, 1 if kinds & {NUMBER, DAY, YEAR} else 2 if CODE in kinds else 0))
    for line in lines:
        for three in zip(line, line[1:], line[2:], strict=False):
            one, between, other = map(kind_of, three)
            if {one, other} <= {NUMBER, DAY, YEAR} and between != IN_NO_PAIR:
                is_date = between in {CODE, WORD} and YEAR in {one, other} <= {DAY, YEAR}
                found.add(hash_of(three, 2 if is_date else 1))
    return found


def hash_of(tokens: Sequence[str], last_bits: int) -> int:
    hashes = np.array([Terms.from_tokens([token]).hashes()[0] for token in tokens])
    return (int(shingle_hashes(hashes, len(tokens))[0]) >> 34 << 2) + last_bits


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


def kept_of(title: str, record: str, others: int = 30) -> list[bool]:
    """Return whether each of 40 pages that differ in *record* is kept, among other pages.

    A record has a word of its own, and a number.
    """
    rng, shared = Random(others), words(Random(7), 60)
    with Detector(MemoryIndex()) as detector:
        for number in range(others):
            detector.check(document(f"Text {number}", words(rng, 60), f"http://a.example/{number}"))
        return [
            detector.check(
                document(
                    title.format(n),
                    f"{shared} {record.format(words(rng, 1), n)}",
                    f"http://a.example/own/{n}",
                )
            ).kept
            for n in range(10, 50)
        ]


@pytest.mark.parametrize(
    ("others", "record", "kept"),
    [
        (20, "born in {} harbour", 40),
        (20, "seen {0}42{0}1 times", 40),
        (0, "born in {} harbour", 40),
    ],
)
def test_a_record_that_says_one_thing_of_its_own_is_kept(others: int, record: str, kept: int) -> None:
    assert sum(kept_of("Member", record, others)) == pytest.approx(kept, abs=2)


@pytest.mark.parametrize(
    ("title", "record", "kept"),
    [
        ("Ticket {}", "number {1} of the harbour", 40),
        ("Report {}", "of 2024年{1}月1日", 40),
        ("Ticket", "number {1} of the harbour", 1),  # a counter, or a page that was seen again
        ("Ticket {}", "number of the harbour {1}:07", 1),
        ("Ticket {}", "number of the harbour {1:08x}c0", 1),
    ],
)
def test_a_number_beside_others_makes_a_record_under_another_title(
    title: str, record: str, kept: int
) -> None:
    assert sum(kept_of(title, record)) == kept


@pytest.mark.parametrize(
    ("title", "record"),
    [("Branch meeting", "Tuesday, {1} May 2026, 7.30pm"), ("分会会议", "2026年{1}月")],
)
def test_a_new_date_makes_a_record_under_one_title_too(title: str, record: str) -> None:
    assert sum(kept_of(title, record)) == 40


@pytest.mark.parametrize(("others", "kept"), [(0, 39), (COMMON_PAGES, 40), (30, 40)])
def test_under_a_title_of_many_a_number_makes_a_record(others: int, kept: int) -> None:
    """However little is known of the site, but that many of its pages have that title."""
    rng, shared = Random(2), words(Random(7), 60)
    with Detector(MemoryIndex()) as detector:
        for number in range(others):
            detector.check(document("Ticket", words(rng, 60), f"http://a.example/{number}"))
        found = [
            detector.check(document("Ticket", f"{shared} number {n} of it", f"http://a.example/own/{n}"))
            for n in range(40)
        ]
    assert sum(verdict.kept for verdict in found) == kept


@pytest.mark.parametrize("century", [19, 20, 21])
def test_a_counter_is_no_date_though_it_could_be_a_year(century: int) -> None:
    record = f"replies 57 views {century}{{1}} likes 140"
    assert kept_of("Sea", record) == [True] + [False] * 39


def test_a_clock_a_counter_or_an_id_makes_no_record() -> None:
    assert kept_of("Sea", "at {1}:{1}pm hits id {1:08x}c0") == [True] + [False] * 39


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
    assert sum(kept_of("Member", "born in {} harbour")) < 20


def test_a_check_tells_how_many_there_are() -> None:
    kept, page = (
        fingerprint(document("Sea", f"{words(Random(1), 60)} {end}", ""))
        for end in ("", "brass lantern")
    )
    for pages, passes in ((0, True), (1, False)):
        check = LossVerifier(DedupConfig()).check(kept, page, Known(pages=pages))
        assert check.is_duplicate is passes
        assert check.sentence.endswith("Pairs of its words that stand on no page kept: 3.") != passes
