"""A page of a site that is known is kept for two words that stand beside each other nowhere else."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, Page, fingerprint
from dedup.prints.fingerprinter import MOST_PAIRS, SAMPLED_BYTES, other_names, pairs_in
from dedup.rule.loss import check
from dedup.rule.site import COMMON_PAGES
from tests.oracle.prints import pairs_of
from tests.rule.test_edits import document, kept_among, texts
from tests.rule.test_loss import Known
from tests.rule.test_records import words

LINES = st.lists(
    st.lists(
        st.sampled_from(["tide", "sea", "7", "2024", "12:30pm", "ss61", "3fa9c0de", "年", "武汉"]),
        min_size=1,
    ),
    max_size=8,
)


def pairs(text: str) -> bytes:
    return pairs_in(fingerprint(Page.from_text(text)).traits)


@given(LINES)
def test_they_are_the_neighbours_on_a_line(lines: list[list[str]]) -> None:
    assert pairs("\n".join(map(" ".join, lines))) == pairs_of(lines)


def test_a_name_is_one_where_both_titles_and_texts_say_another() -> None:
    def named(title: str, text: str) -> bytes:
        return fingerprint(Page.from_html(f"<title>{title}</title><p>{text}")).traits

    kept = named("The Sea tools", "All of the Sea are here")
    assert len(other_names(kept, named("The Tide tools", "All of the Tide are here"))) == 1
    for title, text in [
        ("The Tide tools", "All of the Sea are here"),  # its text does not say it
        ("The Tide tools", "The Tide tools<p>All of the Sea are here"),  # but for the title
        ("The Sea tools, printed", "printed view: all of the Sea are here"),  # which only adds a word
    ]:
        assert not len(other_names(kept, named(title, text)))
    assert not len(other_names(named("The tools", "All are here"), kept))


def test_a_text_of_many_has_the_smallest() -> None:
    words = [f"word{n}" for n in range(3000)]
    assert pairs(" ".join(words)) == pairs_of([words])
    assert len(pairs(" ".join(words))) == MOST_PAIRS * SAMPLED_BYTES
    assert pairs("") == b""


def kept_of(title: str, record: str, others: int = 30) -> list[bool]:
    """Return whether each of 40 pages that differ in *record* is kept, among other pages.

    A record has a word of its own, and a number.
    """
    rng, shared = Random(others), words(Random(7), 60)
    pages = ((title.format(n), f"{shared} {record.format(words(rng, 1), n)}") for n in range(10, 50))
    return kept_among(texts(rng, others), pages)


@pytest.mark.parametrize(
    ("title", "record", "kept"),
    [
        ("Member", "born in {} harbour", 40),
        ("Member", "seen {0}42{0}1 times", 40),
        # A number beside others makes a record under another title, a date under one title too.
        ("Ticket {}", "number {1} of the harbour", 40),
        ("Report {}", "of 2024年{1}月1日", 40),
        ("Branch meeting", "Tuesday, {1} May 2026, 7.30pm", 40),
        ("分会会议", "2026年{1}月", 40),
        # A counter, though it could be a year, a page that was seen again, a clock or an id make none.
        ("Ticket", "number {1} of the harbour", 1),
        *(("Sea", f"replies 57 views {century}{{1}} likes 140", 1) for century in (19, 20, 21)),
        ("Ticket {}", "number of the harbour {1}:07", 1),
        ("Ticket {}", "number of the harbour {1:08x}c0", 1),
        ("Sea", "at {1}:{1}pm hits id {1:08x}c0", 1),
    ],
)
def test_a_record_that_says_one_thing_of_its_own_is_kept(title: str, record: str, kept: int) -> None:
    assert sum(kept_of(title, record)) == pytest.approx(kept, abs=2 if title == "Member" else 0)


@pytest.mark.parametrize("size", [60, 600])
@pytest.mark.parametrize("is_left_out", [False, True])
def test_a_number_is_no_counter_where_it_is_known_what_changes(size: int, *, is_left_out: bool) -> None:
    """Of products the variants have one title, the same words and another price, which others have, too."""
    rng, kept = Random(7), []
    with Detector(MemoryIndex()) as detector:
        for number, (title, content) in enumerate(texts(rng, 30)):
            detector.check(document(title, content, f"http://a.example/{number}"))
        for product in range(2):
            shared = words(rng, size)
            for number in range(100, 110):
                url = f"http://a.example/{product}/{number}"
                page = document(f"Sea {product}", f"{shared} for {number}.5 euro", url)
                seen = detector.sighting(page)
                seen = replace(seen, fingerprint=replace(seen.fingerprint, left_out=is_left_out))
                kept.append(detector.submit(seen, confirmed=True).kept)
    assert sum(kept) == (20 if is_left_out else 2)


def test_however_little_is_known_of_its_site() -> None:
    assert sum(kept_of("Member", "born in {} harbour", others=0)) >= 38


@pytest.mark.parametrize(("others", "kept"), [(0, 39), (COMMON_PAGES, 40), (30, 40)])
def test_under_a_title_of_many_a_number_makes_a_record(others: int, kept: int) -> None:
    """However little is known of the site, but that many of its pages have that title."""
    rng, shared = Random(2), words(Random(7), 60)
    pages = [("Ticket", f"{shared} number {number} of it") for number in range(40)]
    assert sum(kept_among([("Ticket", words(rng, 60)) for _ in range(others)], pages)) == kept


def test_what_stands_on_a_page_that_was_dropped_is_kept_with_the_next_one() -> None:
    """The pairs of pages that were kept count, and of no other."""
    shared = words(Random(7), 60)
    said = ("tide tables", "tide tables", "tide mill museum")
    pages = [("Harbour", f"{shared} {each}") for each in said]
    assert kept_among(texts(Random(3), 30), pages) == [True, False, True]


def test_a_check_tells_how_many_there_are() -> None:
    kept, page = (
        fingerprint(document("Sea", f"{words(Random(1), 60)} {end}", ""))
        for end in ("", "brass lantern")
    )
    for pages, passes in ((0, True), (1, False)):
        found = check(kept, page, DedupConfig(), Known(pages=pages))
        assert found.is_duplicate is passes
        assert found.sentence.endswith("Pairs of its words that stand on no page kept: 3.") != passes


@pytest.mark.parametrize(("names", "most"), [("http://a.example/{}", 1), ("http://b.example/{}", 20)])
def test_a_page_for_print_may_name_the_address_that_it_was_made_from(names: str, most: int) -> None:
    """But one of another host is something that it says."""
    rng, kept = Random(1), 0
    with Detector(MemoryIndex()) as detector:
        for number in range(20):
            title, text, name = f"Text {number}", words(rng, 60), words(rng, 1)
            detector.check(document(title, text, f"http://a.example/{name}"))
            source = f"<p>Printed from {names.format(name)}</p>"
            kept += detector.check(document(title, f"{text}{source}", f"http://a.example/p/{name}")).kept
    assert kept == most


def test_what_stands_behind_an_address_without_a_space_is_said_all_the_same() -> None:
    said = ("红色", "蓝色", "绿色", "黑色", "白色")
    with Detector(MemoryIndex()) as detector:
        kept = [
            detector.check(
                Page.from_text(
                    f"{words(Random(1), 60)} 原文https://a.example/7。{colour}鞋子价格优惠",
                    url=f"http://a.example/{number}",
                )
            ).kept
            for number, colour in enumerate(said)
        ]
    assert all(kept)
