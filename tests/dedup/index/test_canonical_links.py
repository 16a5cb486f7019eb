"""What a page declares as its canonical URL: recorded always, obeyed only where it may decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, Reason, Verdict
from dedup.index import Index
from tests.pages import page, text

DECIDE = DedupConfig(canonical_link="decide")


def check(detector: Detector, number: int, url: str, link: str = "") -> Verdict:
    return detector.check(replace(page(text(number), url), canonical_link=link))


@pytest.fixture
def detector(index: Index) -> Detector:
    return Detector(index, DECIDE)


def test_a_link_is_recorded_and_decides_nothing_by_default(index: Index) -> None:
    detector = Detector(index)
    check(detector, 1, "http://a/1")
    assert check(detector, 2, "http://a/2", "http://a/1").reason is Reason.NEW
    assert [row.sighting.canonical_link for row in index.rows()] == ["", "http://a/1"]


@pytest.mark.parametrize("link", ["http://a/1", "1", "/1#top", "HTTP://A/1"])
def test_a_page_repeats_the_one_that_it_names(detector: Detector, link: str) -> None:
    first = check(detector, 1, "http://a/1")
    copy = check(detector, 2, "http://a/2", link)
    assert (copy.reason, copy.kept, copy.canonical) == (Reason.CANONICAL_LINK, False, first.row)
    assert copy.content_distance is not None
    assert copy.content_distance > 10


@pytest.mark.parametrize("link", ["http://a/2", "2", "http://a/unseen", "http://[", "", "mailto:x"])
def test_a_link_to_itself_or_to_nothing_seen_says_nothing(detector: Detector, link: str) -> None:
    check(detector, 1, "http://a/1")
    assert check(detector, 2, "http://a/2", link).reason is Reason.NEW


def test_a_link_to_a_copy_leads_to_what_that_one_repeats(detector: Detector) -> None:
    first = check(detector, 1, "http://a/1")
    check(detector, 1, "http://a/2")
    assert check(detector, 3, "http://a/3", "http://a/2").canonical == first.row


def test_a_link_to_a_page_that_is_forgotten_says_nothing(index: Index, detector: Detector) -> None:
    check(detector, 1, "http://a/1")
    index.ledger.forget_url("http://a/1")
    assert check(detector, 2, "http://a/2", "http://a/1").reason is Reason.NEW


def test_no_page_repeats_itself_by_way_of_its_copy(index: Index) -> None:
    with Detector(index, DECIDE) as detector:
        check(detector, 1, "http://a/1")
        check(detector, 1, "http://a/2")
    with Detector(index, DECIDE) as detector:
        assert check(detector, 2, "http://a/1", "http://a/2").reason is Reason.UPDATED


def test_in_the_next_run_such_a_copy_is_unchanged_and_still_a_copy(index: Index) -> None:
    for reason in (Reason.CANONICAL_LINK, Reason.UNCHANGED):
        with Detector(index, DECIDE) as detector:
            check(detector, 1, "http://a/1")
            copy = check(detector, 2, "http://a/2", "http://a/1")
            assert (copy.reason, copy.kept, copy.repeats_another) == (reason, False, True)


def test_an_unchanged_page_that_is_dropped_repeats_no_other(index: Index) -> None:
    for _ in range(2):
        with Detector(index, DedupConfig(unchanged="drop")) as detector:
            verdict = check(detector, 1, "http://a/1")
    assert (verdict.reason, verdict.kept, verdict.repeats_another) == (Reason.UNCHANGED, False, False)
