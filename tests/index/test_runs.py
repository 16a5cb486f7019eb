from dataclasses import replace
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Reason, Verdict, fingerprint
from dedup.index import Index, Run
from dedup.model.fingerprint import PageToRecord
from dedup.model.urls import url_key
from dedup.model.verdict import DRY_RUN, Outcome
from tests.index.conftest import ON_BOTH
from tests.support.pages import edited, find_or_add, page, sighting, submit, text

pytestmark = ON_BOTH

CONFIG = DedupConfig()


def add(index: Index, run: Run, url: str, content: str, **how: Any) -> Verdict:
    how = {"confirmed": False, **how}
    return find_or_add(index, fingerprint(page(content)), url, run=run, config=CONFIG, **how)


def number(verdict: Verdict) -> int:
    assert verdict.row is not None
    return verdict.row


def outcomes(index: Index) -> list[Outcome]:
    return [row.outcome for row in index.rows()]


def test_a_pending_canonical_is_compared_with_until_it_is_released(index: Index) -> None:
    run = index.runs.begin("spider")
    first, other = add(index, run, "http://a/", text(1)), add(index, run, "http://o/", text(2))
    for settle, is_pending in ((None, True), (index.ledger.confirm, False)):
        if settle:
            settle(number(first))
        copy = add(index, run, f"http://b/{is_pending}", text(1))
        assert copy.standing
        assert copy.standing.is_pending is is_pending
    add(index, run, "http://p/", text(2))
    index.ledger.release(number(other))
    confirmed, released, orphaned = Outcome.CONFIRMED, Outcome.RELEASED, Outcome.ORPHANED
    assert outcomes(index) == [confirmed, released, confirmed, confirmed, orphaned]
    assert add(index, run, "http://c/", text(2)).reason is Reason.NEW


def test_nobody_waits_for_a_pending_canonical_of_another_run(index: Index) -> None:
    add(index, index.runs.begin("spider"), "http://a/", text(1))
    run = index.runs.begin("spider")
    other = add(index, run, "http://b/", text(1), wait_for=[run.id])
    assert other.row
    assert not other.kept


def test_the_end_of_a_run_releases_what_is_pending_and_orphans_what_leaned_on_it(index: Index) -> None:
    run = index.runs.begin("spider")
    add(index, run, "http://a/", text(1))
    add(index, run, "http://b/", text(1))
    index.runs.end(run, "shutdown")
    assert outcomes(index) == [Outcome.RELEASED, Outcome.ORPHANED]
    assert [(r.ending, r.ended is None) for r in index.runs.all()] == [("shutdown", False)]


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_released_update_leaves_the_old_version(index: Index, *, confirmed: bool) -> None:
    first = add(index, index.runs.begin("s"), "http://a/", text(1), confirmed=True)
    update = add(index, index.runs.begin("s"), "http://a/", text(2), confirmed=confirmed)
    assert update.reason is Reason.UPDATED
    index.ledger.release(number(update))
    assert [row.listed for row in index.rows()] == [True, False]
    assert add(index, index.runs.begin("s"), "http://b/", text(1)).canonical == first.row


def test_forgetting_a_run_orphans_what_leaned_on_it(index: Index) -> None:
    first, second = index.runs.begin("s"), index.runs.begin("s")
    add(index, first, "http://a/", text(1), confirmed=True)
    add(index, first, "http://b/", edited(1), confirmed=True)
    add(index, second, "http://c/", edited(1), confirmed=True)
    assert index.runs.forget(first.id) == 2
    assert outcomes(index) == [Outcome.FORGOTTEN, Outcome.FORGOTTEN, Outcome.ORPHANED]
    assert index.runs.forget(first.id) == 0


def test_a_job_goes_on_with_its_run_until_it_is_finished(index: Index) -> None:
    first = index.runs.begin("s", job="/jobs/1")
    index.runs.end(first, "shutdown")
    resumed = index.runs.begin("s", job="/jobs/1")
    assert (resumed.id, resumed.ended) == (first.id, None)
    assert index.runs.begin("s", job="/jobs/2").id != first.id
    index.runs.end(resumed, "finished")
    assert index.runs.begin("s", job="/jobs/1").id != first.id
    for _ in range(2):
        last = index.runs.begin("s")
        index.runs.end(last, "shutdown")
    assert last.id == 5, "without a job none goes on"


def test_a_confirmed_page_that_is_taken_back_was_never_seen(index: Index) -> None:
    run = index.runs.begin("spider")
    first = add(index, run, "http://a/", text(1), confirmed=True)
    add(index, run, "http://b/", text(1))
    rows = [number(first), number(add(index, run, "http://c/", text(2)))]
    assert index.ledger.release(*rows) == 2
    assert index.ledger.release(*rows) == 0
    assert outcomes(index) == [Outcome.RELEASED, Outcome.ORPHANED, Outcome.RELEASED]
    assert add(index, run, "http://d/", text(1)).reason is Reason.NEW


@pytest.mark.parametrize("stored", [(), (0,), (0, 2), (0, 1, 2)])
def test_a_run_has_lost_what_is_in_files_not_stored(index: Index, stored: tuple[int, ...]) -> None:
    run = index.runs.begin("spider", job="job")
    before = add(index, run, "http://z/", text(9), confirmed=True)
    index.runs.hold(run)
    rows = [number(add(index, run, f"http://a/{n}", text(n), confirmed=True)) for n in range(3)]
    add(index, index.runs.begin("other"), "http://o/", text(8), confirmed=True)
    if stored:
        index.runs.note_stored(run, 1, [rows[n] for n in stored])
    index.runs.end(run, "died")
    kept = {rows[n] for n in stored} | {number(before)}
    assert {row.id for row in index.rows(run.id) if row.outcome is Outcome.CONFIRMED} == kept
    assert index.runs.lost(run.id) == 3 - len(stored)
    assert {row.outcome for row in index.rows() if row.sighting.run != run.id} == {Outcome.CONFIRMED}


def test_a_run_whose_files_are_all_stored_has_lost_nothing(index: Index) -> None:
    run = index.runs.begin("spider")
    index.runs.hold(run)
    add(index, run, "http://a/", text(1), confirmed=True)
    index.runs.let_go(run)
    index.runs.end(run, "finished")
    assert outcomes(index) == [Outcome.CONFIRMED]
    assert index.runs.lost(run.id) == 0


def test_a_version_that_this_crawl_met_again_stands_beside_a_new_one(index: Index) -> None:
    def asked(run: Run, url: str, content: str) -> Verdict:
        seen = sighting(fingerprint(page(content)), url, run=run, config=CONFIG)
        return index.ledger.find_or_add([PageToRecord(seen, siblings=set())], CONFIG, confirmed=True)[0]

    first = index.runs.begin("spider")
    old = number(asked(first, "http://a/", text(1)))
    index.runs.end(first, "finished")
    second = index.runs.begin("spider")
    assert asked(second, "http://a/", text(1)).reason is Reason.UNCHANGED
    assert asked(second, "http://a/", text(2)).replaces == old
    assert asked(second, "http://b/", text(1)).canonical == old


def test_what_waits_for_an_audit_when_a_run_ends_is_wanted_back(index: Index) -> None:
    run = index.runs.begin("spider")
    add(index, run, "http://a/", text(1), confirmed=True)
    copies = [number(add(index, run, f"http://a/{n}", text(1), confirmed=True)) for n in range(3)]
    index.runs.note_unaudited(run, "a", copies)
    index.runs.note_unaudited(run, "b", copies[:1])
    index.runs.note_unaudited(run, "a", copies[1:])  # the first one has passed there
    index.runs.note_unaudited(run, "b", [])
    index.runs.end(run, "finished")
    confirmed, restored = Outcome.CONFIRMED, Outcome.RESTORED
    assert outcomes(index) == [confirmed, confirmed, restored, restored]


def test_a_row_with_another_fingerprint_is_found_by_that_one_only(index: Index) -> None:
    run = index.runs.begin("spider")
    row = number(add(index, run, "http://a/", text(1), confirmed=True))
    before, other = index.row(row), fingerprint(page(text(2)))
    index.store.reprint(row, other)
    assert index.row(row) == replace(before, sighting=replace(before.sighting, fingerprint=other))
    assert add(index, run, "http://b/", text(1)).reason is Reason.NEW
    assert add(index, run, "http://c/", edited(2)).canonical == row
    assert not index.problems()


def test_a_detector_makes_sightings_of_its_run_and_now(index: Index) -> None:
    found = replace(page(text(1), "http://a/?b=2&a=1"), title="Sea", seen_on="b.example", item_key="7")
    with Detector(index, DedupConfig(scope="global"), "s", action=DRY_RUN) as detector:
        seen = detector.sighting(found)
        assert (seen.run, seen.is_dry, seen.scope, seen.kind) == (detector.run.id, 1, "", "keyed page")
        assert (seen.host, seen.title, seen.url_key) == ("b.example", "Sea", url_key("http://a?a=1&b=2"))
        assert seen.fingerprint == detector.fingerprint(found)


def test_what_was_sighted_before_the_run_began_is_of_the_run(index: Index) -> None:
    detector = Detector(index)
    seen = detector.sighting(page(text(1)))
    with Detector(index) as other:  # takes the next number
        other.check(page(text(2)))
    submit(detector, seen, confirmed=True)
    assert [row.sighting.run for row in index.rows()] == [1, 2]
    detector.close()
