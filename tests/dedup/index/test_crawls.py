"""What a crawl gives is a whole copy of the sites it visits: pages lean only on what it has met."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, Reason, Verdict
from dedup.index import Index
from dedup.values.urls import host_of
from dedup.values.verdict import Outcome
from tests.pages import edited, page, text

P, Q, MIRROR = "http://a/p", "http://a/q", "http://m/p"


class Crawler:
    """A crawl that visits the host of each page, as the plugin does."""

    def __init__(self, detector: Detector) -> None:
        self.detector = detector

    def visit(self, *hosts: str) -> None:
        for host in hosts:
            self.detector.visit(host)

    def see(self, url: str, content: str, key: str = "", *, kept: bool | None = True) -> Verdict:
        """Judge a page; its item is then *kept*, lost, or with None still under way."""
        self.visit(host_of(url))
        found = replace(page(content, url), item_key=key, seen_on=host_of(url))
        sighting = self.detector.sighting(found, kind="item")
        verdict = self.detector.submit(sighting, wait_for=[self.detector.run.id])
        if verdict.kept and verdict.row and kept is not None:
            self.settle(verdict, kept=kept)
        return verdict

    def settle(self, verdict: Verdict, *, kept: bool) -> None:
        assert verdict.row is not None
        index = self.detector.index
        (index.ledger.confirm if kept else index.ledger.release)(verdict.row)


@contextmanager
def crawling(
    index: Index,
    *,
    ending: str = "finished",
    spider: str = "s",
    name: str = "",
    job: str = "",
    action: str = "drop",
    **config: object,
) -> Iterator[Crawler]:
    chosen = DedupConfig(**config)  # type: ignore[arg-type]
    detector = Detector(index, chosen, spider, crawl=name, job=job, action=action)
    yield Crawler(detector)
    detector.close(ending)


@pytest.fixture
def known(index: Index) -> Index:
    """An index that knows a page and its copy from the day before."""
    with crawling(index) as day:
        assert day.see(P, text(1)).kept
        assert not day.see(Q, edited(1)).kept
    return index


def outcomes(index: Index, url: str) -> list[Outcome]:
    return [row.outcome for row in index.views.history(url)]


def test_an_unchanged_site_gives_the_same_pages_in_any_order(known: Index) -> None:
    for pages in ([P, Q], [Q, P], [P, Q], [Q, P], [Q, P]):
        with crawling(known) as day:
            kept = [day.see(url, text(1) if url == P else edited(1)).kept for url in pages]
        assert sum(kept) == 1
    assert len([row for row in known.rows() if row.listed]) == 2


def test_a_copy_of_what_vanished_is_kept(known: Index) -> None:
    with crawling(known) as day:
        verdict = day.see(Q, edited(1))
        assert verdict.kept
        assert verdict.represents == 1
    with crawling(known) as day:
        assert day.see(Q, edited(1)).reason is Reason.UNCHANGED


def test_a_copy_waits_for_the_page_that_is_met_again(known: Index) -> None:
    with crawling(known) as day:
        met = day.see(P, text(1), kept=None)
        waiting = day.see(Q, edited(1))
        assert waiting.row is None
        assert waiting.standing
        assert waiting.standing.row == met.row
        day.settle(met, kept=False)
        assert day.see(Q, edited(1)).kept


def test_a_page_waits_for_the_copy_that_stands_in_its_place(known: Index) -> None:
    with crawling(known) as day:
        copy = day.see(Q, edited(1), kept=None)
        assert day.see(P, text(1)).row is None
        day.settle(copy, kept=False)
        assert day.see(P, text(1)).kept


def test_two_copies_of_one_page_need_not_be_copies_of_each_other(index: Index) -> None:
    middle = text(1, 400)
    words = middle.split()
    one = " ".join([f"x{n}" for n in range(35)] + words[35:])
    other = " ".join(words[:-35] + [f"y{n}" for n in range(35)])
    with crawling(index, min_similarity=0.75, verifier="similarity") as day:
        assert [day.see(url, it).kept for url, it in ((P, middle), (Q, one), ("http://a/r", other))] == [
            True,
            False,
            False,
        ]
    with crawling(index, min_similarity=0.75, verifier="similarity") as day:
        pages = ((Q, one), ("http://a/r", other), (P, middle))
        assert [day.see(url, it).kept for url, it in pages] == [True, True, False]


def test_a_mirror_that_is_crawled_later_is_dropped(known: Index) -> None:
    with crawling(known) as day:
        verdict = day.see(MIRROR, text(1))
        assert not verdict.kept
        assert verdict.standing
        assert verdict.standing.is_elsewhere


def test_not_if_a_crawl_has_missed_the_page_since(known: Index) -> None:
    with crawling(known) as day:
        day.see("http://a/other", text(2))
    with crawling(known) as day:
        assert day.see(MIRROR, text(1)).kept


@pytest.mark.parametrize("ending", ["shutdown", "closespider_itemcount"])
def test_a_crawl_that_was_cut_short_has_missed_nothing(known: Index, ending: str) -> None:
    with crawling(known, ending=ending) as day:
        day.see("http://a/other", text(2))
    with crawling(known) as day:
        assert not day.see(MIRROR, text(1)).kept


def test_what_leaned_on_a_host_that_is_visited_later_is_an_orphan_if_the_page_is_gone(
    known: Index,
) -> None:
    with crawling(known) as day:
        assert not day.see(MIRROR, text(1)).kept
        day.see("http://a/other", text(2))
    assert [row.sighting.url for row in known.views.orphans()] == [MIRROR]
    with crawling(known) as day:
        day.visit("a")
        assert day.see(MIRROR, text(1)).kept


def test_it_is_none_if_the_page_is_met_after_all(known: Index) -> None:
    with crawling(known) as day:
        assert not day.see(MIRROR, text(1)).kept
        assert day.see(P, text(1)).kept
    assert known.views.orphans() == []


def test_nothing_needs_to_stand_where_all_is_delivered_once(known: Index) -> None:
    with crawling(known, unchanged="drop") as day:
        day.visit("a")
        verdict = day.see("http://a/new", edited(1))
        assert not verdict.kept
        assert not verdict.canonical_was_met


def test_stricter_thresholds_bring_a_copy_back(known: Index) -> None:
    for unchanged in ("drop", "keep"):
        with crawling(known, unchanged=unchanged, min_similarity=1.0) as day:
            day.see(P, text(1))
            assert day.see(Q, edited(1)).kept
        known.book.forget(known.runs()[-1].id)


def test_a_dry_run_is_no_reason_to_drop(index: Index) -> None:
    with crawling(index, action="dry run") as day:
        assert day.see(P, text(1)).kept
        assert not day.see(Q, edited(1)).kept
    with crawling(index, unchanged="drop") as day:
        assert day.see(Q, edited(1)).kept
        assert not day.see(P, text(1)).kept


def test_a_dry_run_takes_the_place_of_nothing(known: Index) -> None:
    with crawling(known, action="dry run") as day:
        assert day.see(P, text(3)).reason is Reason.UPDATED
    with crawling(known) as day:
        assert day.see(P, text(1)).reason is Reason.UNCHANGED


def test_a_run_that_goes_on_for_real_is_not_bound_by_its_dry_beginning(index: Index) -> None:
    with crawling(index, action="dry run", job="j", ending="shutdown") as day:
        day.see(P, text(1))
    with crawling(index, job="j") as day:
        assert day.see(Q, edited(1)).kept


def test_workers_of_a_name_are_one_crawl(index: Index) -> None:
    with crawling(index, name="november") as worker:
        worker.see(P, text(1))
    with crawling(index, name="november") as worker:
        assert not worker.see(Q, edited(1)).kept
        assert worker.see(P, text(1)).reason is Reason.EXACT_DUPLICATE
    with crawling(index, name="december") as worker:
        assert worker.see(Q, edited(1)).kept


def test_runs_that_are_alive_at_the_same_time_are_one_crawl(index: Index) -> None:
    with crawling(index) as one, crawling(index) as other:
        one.see(P, text(1))
        assert not other.see(Q, edited(1)).kept
    with crawling(index) as later:
        assert later.see(Q, edited(1)).kept


def test_what_leaned_on_another_process_is_an_orphan_if_that_loses_its_page(known: Index) -> None:
    with crawling(known) as one, crawling(known) as other:
        met = one.see(P, text(1), kept=None)
        copy = other.detector.submit(other.detector.sighting(page(edited(1), Q), kind="item"))
        assert not copy.kept
        one.settle(met, kept=False)
        assert outcomes(known, Q)[-1] is Outcome.ORPHANED


def test_items_with_different_keys_are_never_copies(index: Index) -> None:
    for _ in range(2):
        with crawling(index) as day:
            for number in range(3):
                assert day.see(P, text(1), f"k{number}").kept
            assert day.see(P, text(1)).kept
            assert not day.see(Q, text(1)).kept


@pytest.mark.parametrize(("unchanged", "kept"), [("keep", True), ("drop", False)])
def test_the_same_key_is_the_same_thing_wherever_it_is(index: Index, unchanged: str, kept: bool) -> None:
    with crawling(index) as day:
        day.see(P, text(1), "k")
    with crawling(index, unchanged=unchanged) as day:
        again = day.see("http://a/moved", text(1), "k")
        assert (again.reason, again.kept) == (Reason.UNCHANGED, kept)
    with crawling(index, unchanged=unchanged) as day:
        assert day.see("http://a/moved", text(2), "k").reason is Reason.UPDATED


def test_without_a_name_what_it_says_is_its_identity(index: Index) -> None:
    contents = [text(1), edited(1), text(2), "two words", "other words"]
    with crawling(index) as day:
        day.visit("")
        first = [day.see("", content).kept for content in contents]
    for _ in range(2):
        with crawling(index) as day:
            day.visit("")
            assert [day.see("", content).kept for content in contents] == first == [1, 0, 1, 1, 1]


def test_what_is_restored_is_kept_once_and_is_a_page_of_its_own_from_then_on(known: Index) -> None:
    (row,) = known.ledger.restore_run_copies(1)
    assert (row.sighting.url, outcomes(known, Q)) == (Q, [Outcome.RESTORED])
    with crawling(known) as day:
        day.see(P, text(1))
        assert day.see(Q, edited(1), kept=False).kept
    assert known.views.restored() != []
    with crawling(known, unchanged="drop") as day:
        day.see(P, text(1))
        assert day.see(Q, edited(1)).kept
    assert known.views.restored() == []
    with crawling(known) as day:
        assert [day.see(P, text(1)).reason, day.see(Q, edited(1)).reason] == [Reason.UNCHANGED] * 2


def test_restoring_a_url_takes_what_was_dropped_there(known: Index) -> None:
    assert known.ledger.restore_url_copies(P) == []
    assert [row.id for row in known.ledger.restore_url_copies(Q)] == [2]
    assert known.ledger.restore_url_copies("http://a/none") == []


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
def test_siblings_that_are_wanted_back_come_each_for_itself(index: Index, unchanged: str) -> None:
    contents = [text(1), edited(1), edited(1, 2), edited(1, 3)]
    with crawling(index) as day:
        assert [day.see(P, content).kept for content in contents] == [True, False, False, False]
    assert len(index.ledger.restore_run_copies(1)) == 3
    with crawling(index, unchanged=unchanged) as day:
        found = [day.see(P, content).kept for content in contents]
    assert found == [unchanged == "keep", True, True, True]
    assert index.views.restored() == []


def test_a_page_that_changed_answers_one_wish(known: Index) -> None:
    known.ledger.restore_url_copies(Q)
    with crawling(known) as day:
        day.see(P, text(1))
        assert day.see(Q, edited(1, 5)).kept
    assert known.views.restored() == []


@pytest.mark.parametrize("name", ["november", ""])
def test_what_leaned_on_a_host_that_another_worker_visits_later_is_an_orphan(
    index: Index, name: str
) -> None:
    with crawling(index) as day:
        day.see(P, text(1))
        day.see(MIRROR, text(1))
    with crawling(index, name=name) as other:
        other.visit("c")
        with crawling(index, name=name) as worker:
            assert not worker.see(MIRROR, text(1)).kept
        other.see("http://a/other", text(2))
    assert [row.sighting.url for row in index.views.orphans()] == [MIRROR]


def test_a_job_that_is_paused_lists_what_it_may_still_meet(known: Index) -> None:
    with crawling(known, job="j", ending="shutdown") as day:
        day.see(MIRROR, text(1))
        day.see("http://a/other", text(2))
    assert [row.sighting.url for row in known.views.orphans()] == [MIRROR]
    with crawling(known, job="j") as day:
        day.see(P, text(1))
    assert known.views.orphans() == []


def test_who_keeps_leans_on_nothing_that_another_crawl_has_met_and_not_kept(known: Index) -> None:
    with crawling(known, unchanged="drop") as other, crawling(known) as day:
        assert not other.see(P, text(1)).kept
        assert day.see(Q, edited(1)).kept
