"""What a crawl gives is a whole copy of the sites it visits: pages lean only on what it has met."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Reason, Verdict
from dedup.index import Index
from dedup.index.known import MOST_OF_KEY
from dedup.model.urls import host_of
from dedup.model.verdict import Outcome
from dedup.rule.match import COMMON_PAGES
from tests.support.pages import checked, edited, page, submit, text

P, Q, MIRROR = "http://a/p", "http://a/q", "http://m/p"


class Crawler:
    """A crawl that visits the host of each page, as the plugin does."""

    def __init__(self, detector: Detector) -> None:
        self.detector = detector

    def visit(self, *hosts: str) -> None:
        for host in hosts:
            self.detector.visit(host)

    def see(self, url: str, said: str, key: str = "", kept: bool | None = True, **how: Any) -> Verdict:
        """Judge a page; its item is then *kept*, lost, or with None still under way."""
        self.visit(host_of(url))
        found = replace(page(said, url), item_key=key, seen_on=host_of(url))
        sighting = self.detector.sighting(found, kind="item")
        verdict = submit(self.detector, sighting, wait_for=[self.detector.run.id], **how)
        if verdict.kept and verdict.row and kept is not None:
            self.settle(verdict, kept=kept)
        return verdict

    def settle(self, verdict: Verdict, *, kept: bool) -> None:
        assert verdict.row is not None
        index = self.detector.index
        (index.ledger.confirm if kept else index.ledger.release)(verdict.row)


@contextmanager
def crawling(index: Index, *, ending: str = "finished", name: str = "", **how: Any) -> Iterator[Crawler]:
    """Crawl; *how* has a job, an action, and what a `DedupConfig` takes."""
    of_run = {key: how.pop(key) for key in ("job", "action") if key in how}
    detector = Detector(index, DedupConfig(**how), "s", crawl=name, **of_run)
    yield Crawler(detector)
    detector.close(ending)


@pytest.fixture
def known(index: Index) -> Index:
    """An index that knows a page and its copy from the day before."""
    with crawling(index) as day:
        assert day.see(P, text(1)).kept
        assert not day.see(Q, edited(1)).kept
    return index


def restored(index: Index) -> list[int]:
    return [row.id for row in index.rows() if row.outcome is Outcome.RESTORED]


def in_order(*parts: int) -> str:
    """Return a text in which these parts follow each other, with the same pairs of words in any order."""
    return " and ".join(["", *(text(part, 40) for part in parts), ""])


ORDERS = {P: in_order(1, 2, 3, 4), Q: in_order(1, 3, 2, 4)}


def test_an_unchanged_site_gives_the_same_pages_in_any_order(index: Index) -> None:
    for pages in ([P, Q], [P, Q], [Q, P], [P, Q], [Q, P], [Q, P]):
        with crawling(index) as day:
            kept = [day.see(url, ORDERS[url]).kept for url in pages]
        assert sum(kept) == 1
    assert len([row for row in index.rows() if row.listed]) == 2


# Crawls, one after the other: how they are set, what each page is (kept or not, or why), and which pages
# are orphans at the end.  A page without content is a host that is visited.
# A fourth value is the key of an item.
Life = Sequence[tuple[dict[str, Any], Sequence[tuple[Any, ...]], Sequence[str]]]
OTHER, DROP, DRY = "http://a/other", {"unchanged": "drop"}, {"action": "report"}
GLOBAL, NOVEMBER = {"scope": "global"}, {"name": "november"}
SEEN = [(P, text(1), True), (Q, edited(1), False)]
KNOWN: Any = ({}, SEEN, ())
SHARED: Any = (GLOBAL, SEEN, ())
PAUSED = GLOBAL | {"job": "j", "ending": "shutdown"}
GONE = [(MIRROR, text(1), False), (OTHER, text(2), True)]
UNCHANGED, UPDATED = Reason.UNCHANGED, Reason.UPDATED
KEYED = [(P, text(1), True, "k0"), (P, text(1), True, "k1"), (P, text(1), True), (Q, text(1), False)]
NAMELESS = [text(1), edited(1), text(2), "two words", "other words"]
WITHOUT_NAME = [("", content, content != edited(1)) for content in NAMELESS]
MOVED = "http://a/moved"
BEGUN = " ".join([f"feed{n:04}" for n in range(35)] + text(1, 400).split()[35:])
ENDED = " ".join(text(1, 400).split()[:-35] + [f"dead{n:04}" for n in range(35)])

LIVES: dict[str, Life] = {
    "a copy of what vanished is kept": [
        KNOWN,
        ({}, [(Q, edited(1), True)], ()),
        ({}, [(Q, edited(1), UNCHANGED)], ()),
    ],
    "a mirror is kept if a crawl has missed the page since": [
        SHARED,
        (GLOBAL, [(OTHER, text(2), True)], ()),
        (GLOBAL, [(MIRROR, text(1), True)], ()),
    ],
    "a crawl that was cut short has missed nothing": [
        SHARED,
        (GLOBAL | {"ending": "shutdown"}, [(OTHER, text(2), True)], ()),
        (GLOBAL | {"ending": "closespider_itemcount"}, [(OTHER, text(2), True)], ()),
        (GLOBAL, [(MIRROR, text(1), False)], ()),
    ],
    "what leaned on a host that is visited later is an orphan if the page is gone": [
        SHARED,
        (GLOBAL, GONE, [MIRROR]),
        (GLOBAL, [(OTHER, "", None), (MIRROR, text(1), True)], [MIRROR]),
    ],
    "it is none if the page is met after all": [
        SHARED,
        (GLOBAL, [(MIRROR, text(1), False), (P, text(1), True)], ()),
    ],
    "a job that is paused lists what it may still meet": [
        SHARED,
        (PAUSED, GONE, [MIRROR]),
        (GLOBAL | {"job": "j"}, [(P, text(1), True)], ()),
    ],
    "nothing needs to stand where all is delivered once": [
        KNOWN,
        (DROP, [("http://a/new", text(1), False), (MIRROR, text(1), False)], ()),
    ],
    "a dry run is no reason to drop": [
        (DRY, [(P, ORDERS[P], True), (Q, ORDERS[Q], False)], ()),
        (DROP, [(Q, ORDERS[Q], True), (P, ORDERS[P], False)], ()),
    ],
    "a dry run takes the place of nothing": [
        KNOWN,
        (DRY, [(P, text(3), UPDATED)], ()),
        ({}, [(P, text(1), UNCHANGED)], ()),
    ],
    "a run that goes on for real is not bound by its dry beginning": [
        (DRY | {"job": "j", "ending": "shutdown"}, [(P, text(1), True)], ()),
        ({"job": "j"}, [(Q, edited(1), True)], ()),
    ],
    "two copies of one page need not be copies of each other": [
        (
            {"max_lost_words": 36},
            [(P, text(1, 400), True), (Q, BEGUN, False), (MOVED, ENDED, False)],
            (),
        ),
        ({"max_lost_words": 36}, [(Q, BEGUN, True), (MOVED, ENDED, True), (P, text(1, 400), False)], ()),
    ],
    "workers of a name are one crawl": [
        (NOVEMBER, [(P, text(1), True)], ()),
        (NOVEMBER, [(Q, edited(1), False), (P, text(1), Reason.EXACT_DUPLICATE)], ()),
        ({"name": "december"}, [(Q, edited(1), True)], ()),
    ],
    "a mirror that is crawled later is dropped": [SHARED, (GLOBAL, [(MIRROR, text(1), False)], ())],
    "stricter thresholds bring a copy back": [
        KNOWN,
        ({"max_lost_words": 0}, [(P, text(1), True), (Q, edited(1), True)], ()),
    ],
    "stricter thresholds bring a copy back where nothing is delivered twice": [
        KNOWN,
        (DROP | {"max_lost_words": 0}, [(P, text(1), False), (Q, edited(1), True)], ()),
    ],
    "items with different keys are never copies": [({}, KEYED, ())] * 2,
    "the same key is the same thing wherever it is": [
        ({}, [(P, text(1), True, "k")], ()),
        ({}, [(MOVED, text(1), UNCHANGED, "k")], ()),
        (DROP, [(MOVED, text(1), False, "k")], ()),
        (DROP, [(MOVED, text(2), UPDATED, "k")], ()),
        ({}, [(MOVED, text(3), UPDATED, "k")], ()),
    ],
    "without a name what it says is its identity": [({}, WITHOUT_NAME, ())] * 3,
    "a host with www. is the one without it": [
        (GLOBAL, [(P, text(1), True)], ()),
        (GLOBAL, [("http://b/", text(2), True)], ()),
        (GLOBAL, [("http://www.a/p", text(1), True)], ()),
        (GLOBAL, [("http://b/", text(2), UNCHANGED)], ()),
        (GLOBAL, [(P, text(1), UNCHANGED)], ()),
    ],
    "a site that has moved is delivered": [
        KNOWN,
        ({}, [(MIRROR, text(1), True), ("http://m/q", edited(1), False)], ()),
        ({}, [(MIRROR, text(1), UNCHANGED)], ()),
    ],
}


@pytest.mark.parametrize("life", LIVES)
def test_a_life(index: Index, life: str) -> None:
    for number, (how, pages, orphans) in enumerate(LIVES[life]):
        with crawling(index, **how) as day:
            for url, content, expected, *key in pages:
                if expected is None:
                    day.visit(host_of(url))
                    continue
                found = day.see(url, content, *key)
                assert expected == (found.kept if isinstance(expected, bool) else found.reason), number
        assert [row.sighting.url for row in index.orphans()] == list(orphans), number


def test_a_copy_waits_for_the_page_that_is_met_again(known: Index) -> None:
    with crawling(known) as day:
        met, waiting = day.see(P, text(1), kept=None), day.see(Q, edited(1))
        assert waiting.row is None
        assert waiting.standing
        assert waiting.standing.row == met.row
        day.settle(met, kept=False)
        assert day.see(Q, edited(1)).kept


def with_no_new_pair(content: str) -> str:
    return f"{content}</p><p>{' '.join(content.split()[:5])}"


def test_a_page_waits_for_the_copy_that_stands_in_its_place(known: Index) -> None:
    with crawling(known) as day:
        copy = day.see(Q, with_no_new_pair(text(1)), kept=None)
        assert day.see(P, text(1)).row is None
        day.settle(copy, kept=False)
        assert day.see(P, text(1)).kept


def test_nameless_runs_at_once_are_own_crawls(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    with crawling(index) as one, crawling(index) as other:
        for run in (one, other):
            run.visit("")
        (warning,) = caplog.messages
        assert warning.startswith("Run 1 of this spider is under way: it is another crawl, and what")
        one.see(P, text(1))
        one.see("http://a/r", text(2))
        assert other.see(Q, edited(1)).kept
        assert other.see("http://a/r", text(2)).kept
        assert not other.see("http://a/s", edited(2)).kept


def test_a_name_used_after_its_end_warns(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    with crawling(index, name="november", ending="shutdown") as worker:
        worker.visit("")
    with crawling(index, name="november") as worker, crawling(index, name="november") as other:
        worker.visit("")
        other.visit("")
    with crawling(index, name="december") as worker:
        worker.visit("")
        assert not caplog.records
    with crawling(index, name="november") as worker:
        worker.visit("")
        assert caplog.messages[-1].startswith("DEDUP_CRAWL ('november') names a crawl that has ended")


def test_what_is_restored_is_kept_once_and_is_a_page_of_its_own_from_then_on(known: Index) -> None:
    (row,) = known.ledger.restore(run=1)
    assert (row.sighting.url, [it.outcome for it in known.history(Q)]) == (Q, [Outcome.RESTORED])
    with crawling(known) as day:
        day.see(P, text(1))
        assert day.see(Q, edited(1), kept=False).kept
    assert restored(known) != []
    with crawling(known, unchanged="drop") as day:
        day.see(P, text(1))
        assert day.see(Q, edited(1)).kept
    assert restored(known) == []
    with crawling(known) as day:
        assert [day.see(P, text(1)).reason, day.see(Q, edited(1)).reason] == [Reason.UNCHANGED] * 2


def test_what_is_restored_stays_so_when_its_run_is_forgotten(index: Index) -> None:
    pages = {f"http://a/{number}": text(1) for number in range(2)}
    checked(index, pages)
    index.ledger.restore(url="http://a/1")
    assert index.runs.forget(1) == 1
    assert all(verdict.kept for verdict in checked(index, pages))


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
def test_siblings_that_are_wanted_back_come_each_for_itself(index: Index, unchanged: str) -> None:
    contents = [text(1), edited(1), edited(1, 2), edited(1, 3)]
    with crawling(index) as day:
        assert [day.see(P, content).kept for content in contents] == [True, False, False, False]
    assert len(index.ledger.restore(run=1)) == 3
    with crawling(index, unchanged=unchanged) as day:
        found = [day.see(P, content).kept for content in contents]
    assert (found, restored(index)) == ([unchanged == "keep", True, True, True], [])


def test_a_page_that_changed_answers_one_wish(known: Index) -> None:
    asked = [[row.id for row in known.ledger.restore(url=url)] for url in (P, Q, "http://a/none")]
    assert asked == [[], [2], []]
    with crawling(known) as day:
        day.see(P, text(1))
        assert day.see(Q, edited(1, 5)).kept
    assert restored(known) == []


def test_what_leaned_on_a_host_that_another_worker_visits_later_is_an_orphan(index: Index) -> None:
    with crawling(index, scope="global") as day:
        day.see(P, text(1))
        day.see(MIRROR, text(1))
    with crawling(index, scope="global", name="november") as other:
        other.visit("c")
        with crawling(index, scope="global", name="november") as worker:
            assert not worker.see(MIRROR, text(1)).kept
        other.see("http://a/other", text(2))
    assert [row.sighting.url for row in index.orphans()] == [MIRROR]


def test_who_keeps_leans_on_nothing_that_another_crawl_has_met_and_not_kept(known: Index) -> None:
    with crawling(known, unchanged="drop") as other, crawling(known) as day:
        assert not other.see(P, text(1)).kept
        assert day.see(Q, edited(1)).kept


# What was kept on a host that this crawl does not visit
def test_what_was_added_by_hand_is_a_reason_on_any_host(index: Index) -> None:
    with Detector(index, DedupConfig(), "s") as added:
        added.check(page(text(1), P), kind="item")
    with crawling(index) as day:
        assert not day.see(MIRROR, text(1)).kept


def seen_again(day: Crawler, content: str, *, kept: bool | None = True) -> Verdict:
    return day.see(P, content, kept=kept, siblings=())


def test_a_worker_is_given_each_change_whatever_others_of_its_crawl_have_kept(index: Index) -> None:
    with crawling(index, name="november") as first:
        assert first.see(P, text(1)).kept
    with crawling(index, name="november") as worker:
        assert worker.see(P, text(2)).kept  # the first request of a process is like any other
        shown = [seen_again(worker, content).reason for content in (edited(1), text(2), text(1))]
        assert shown == [UPDATED, UPDATED, UNCHANGED]
        assert worker.see(P, text(3)).kept  # as after it was killed, and went on with its job
        assert seen_again(worker, edited(2)).reason is UPDATED


def test_other_crawls_of_its_page_take_no_change_from_a_monitor(index: Index) -> None:
    with crawling(index) as monitor:
        seen_again(monitor, edited(1))
        for number in (2, 3, 4):
            with crawling(index) as day:
                for edit in (number - 1, number):
                    seen_again(day, edited(1, edit))
            assert seen_again(monitor, edited(1, number)).reason is Reason.UPDATED
            assert seen_again(monitor, edited(1, number)).reason is Reason.UNCHANGED


def test_a_monitor_is_given_a_change_after_another_crawl_has_replaced_what_it_met(index: Index) -> None:
    with crawling(index) as other:
        seen_again(other, edited(1))
        with crawling(index) as monitor:
            assert seen_again(monitor, edited(1)).reason is Reason.UNCHANGED
            assert seen_again(other, text(2)).reason is Reason.UPDATED
            assert monitor.see(Q, text(3)).kept
            assert seen_again(monitor, edited(3)).reason is Reason.UPDATED


def test_what_a_redirect_led_to_is_no_answer_to_a_request_for_its_url(index: Index) -> None:
    with crawling(index) as day:
        for content, kept in ((edited(1), True), (text(2), True), (edited(2), False)):
            led = replace(page(content, P), redirects=(Q,))
            verdict = submit(day.detector, day.detector.sighting(led, kind="item"))
            assert verdict.kept is kept
            day.settle(verdict, kept=kept) if kept else None
        assert seen_again(day, edited(1)).reason is Reason.EXACT_DUPLICATE
        assert seen_again(day, text(3)).reason is Reason.NEW
        assert seen_again(day, edited(3)).reason is Reason.UPDATED


def test_it_waits_for_what_it_repeats_and_not_for_what_it_replaces(index: Index) -> None:
    with crawling(index) as day:
        first = seen_again(day, edited(1), kept=None)
        assert seen_again(day, edited(1)).row is None
        second = seen_again(day, edited(1, 2), kept=None)
        assert (second.reason, second.kept) == (Reason.UPDATED, True)
        day.settle(first, kept=False)
        day.settle(second, kept=True)
        assert seen_again(day, edited(1, 2)).reason is Reason.UNCHANGED
        assert seen_again(day, edited(1)).reason is Reason.UPDATED


def test_items_of_one_response_are_no_revisits(index: Index) -> None:
    with crawling(index) as day:
        first = day.see(P, text(1))
        assert day.see(P, edited(1), siblings=[first.row or 0]).reason is Reason.NEAR_DUPLICATE
        assert day.see(P, text(2)).kept
        assert not seen_again(day, text(1)).kept
        assert not seen_again(day, text(2)).kept
        assert seen_again(day, text(3)).kept


# Addresses that vary, where unchanged pages are dropped
def article(edit: str = "", *, clock: str = "12:00:00", own: str = "") -> str:
    """Return the lines of an article with an *edit*, and of its frame."""
    lines = [text(seed, 40) for seed in range(10, 18)]
    if edit:
        lines[3] = f"{lines[3]} {edit}"
    return "</p><p>".join([f"It is {clock}", *lines, *([own] if own else [])])


@pytest.fixture
def site(index: Index) -> Index:
    """An index that knows enough pages of the site to tell a version of a page from another page."""
    with crawling(index, unchanged="drop") as day:
        for number in range(COMMON_PAGES):
            assert day.see(f"http://a/{number}", text(100 + number)).kept
    return index


EDIT = "and then somebody has added this"
BY_PRINT = "Printed for you by the press of this site"


@pytest.mark.parametrize("address", ["?sid={}", "?utm_source={}"], ids=lambda address: address[1:-3])
def test_an_edited_article_arrives_at_whatever_address(site: Index, address: str) -> None:
    url = f"{P}{address}"
    with crawling(site, unchanged="drop") as day:
        assert day.see(url.format(1), article()).kept
        assert not day.see(url.format(2), article(clock="12:00:07")).kept
    for number, content in ((3, article(EDIT)), (4, article("and then somebody else wrote that"))):
        with crawling(site, unchanged="drop") as day:
            assert not day.see(url.format(10 * number), article(clock="13:00:00")).kept
            news = day.see(url.format(number), content)
            assert (news.reason, news.kept) == (Reason.UPDATED, True), news.sentence
            assert not day.see(url.format(f"{number}b"), content).kept
            assert not day.see(f"http://a/copy{number}", content).kept


def test_crawls_of_an_unchanged_site_with_pages_for_print_deliver_nothing(site: Index) -> None:
    delivered = []
    for number in range(10):
        with crawling(site, unchanged="drop") as day:
            seen = [
                day.see(f"{P}?sid={number}", article(clock=f"12:00:{number:02}")),
                day.see(f"{P}/print?sid={number}", article(clock=f"12:01:{number:02}", own=BY_PRINT)),
                day.see("http://a/today", article(own=f"{BY_PRINT} {number}")),
            ]
            delivered.append(sum(verdict.kept for verdict in seen))
    assert delivered == [1] + 9 * [0]


def test_a_page_for_print_is_news_for_an_edit_and_for_no_clock(site: Index) -> None:
    """Also where the crawl before dropped only what it had met itself, and noted no sentences."""
    delivered, days = [], (("keep", ""), ("drop", ""), ("drop", ""), ("drop", EDIT))
    for number, (unchanged, edit) in enumerate(days):
        views = article(edit, clock=f"12:01:{number:02}", own=BY_PRINT)
        urls = {P: article(edit), f"{P}?utm_source=print": views}
        with crawling(site, unchanged=unchanged) as day:
            day.see("http://a/today", f"{text(200)}</p><p>{BY_PRINT}")
            # The page for print comes first from the second day on.
            order = sorted(urls, reverse=number > 0)
            delivered.append(sum(day.see(url, urls[url]).kept for url in order))
    assert delivered == [1, 0, 0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_what_an_own_version_said_stands_on_no_other_page(index: Index, seed: int) -> None:
    """Else an edited record would repeat one that is like it: each of its figures would be known."""
    now, names = Random(seed), [text(n, 2) for n in range(20)]
    said = "{}. In 2021 it had a turnover of {} pounds and a profit of {}. It employed {} people. The "
    said += f"directors propose {{}} pence a share. Creditors are paid in {{}} days. {text(40, 60)}"
    figures = [[now.randrange(1, 60) for _ in range(5)] for _ in names]
    for _ in range(2):
        with crawling(index, unchanged="drop") as day:
            records = (said.format(name, *each) for name, each in zip(names, figures, strict=True))
            seen = [day.see(f"http://a/{n}", record) for n, record in enumerate(records)]
        assert all(verdict.kept for verdict in seen)
        for each in figures:
            each[now.randrange(5)] += 1


def test_what_has_no_address_is_no_version_of_all_others_without_one(index: Index) -> None:
    with crawling(index, unchanged="drop") as day:
        day.see("", text(1))
        seen = day.detector.sighting(replace(page(text(1)), seen_on=""), kind="item")
        site = index.ledger.known(seen, day.detector.config).site()
        with index.store.transaction(writing=False):
            assert not site.unknown(seen.fingerprint.sample).any()


def test_a_copy_that_has_become_a_page_of_its_own_arrives(site: Index) -> None:
    with crawling(site, unchanged="drop") as day:
        day.see(P, article())
        assert not day.see(Q, article(own=BY_PRINT)).kept
    with crawling(site, unchanged="drop") as day:
        assert not day.see(Q, article(own=f"{BY_PRINT} again")).kept
        assert day.see(Q, article(own=text(31, 300))).kept


def test_of_many_things_of_one_key_copies_are_found(index: Index) -> None:
    contents = [text(seed, 60) for seed in range(3 * MOST_OF_KEY)]
    with crawling(index) as day:
        assert all(day.see(f"http://a/{n}", it, "k").kept for n, it in enumerate(contents))
        others = map(with_no_new_pair, contents[::20])
        copies = [day.see(f"http://b/{n}", one, "k") for n, one in enumerate(others)]
    assert not any(copy.kept for copy in copies)
    assert max(copy.candidates for copy in copies) <= 2 * MOST_OF_KEY
    with crawling(index) as day:
        again = [day.see(f"http://a/{n}", it, "k") for n, it in enumerate(contents[::20])]
        assert {verdict.reason for verdict in again} == {Reason.UNCHANGED}
        assert day.see("http://a/0", contents[0], "k").reason is Reason.EXACT_DUPLICATE
        assert day.see("http://a/new", text(999, 60), "k").kept


def test_things_of_one_key_at_two_urls_are_no_revisits(index: Index) -> None:
    with crawling(index) as day:
        for url, content, kept in ((P, 1, True), (Q, 2, True), ("http://a/r", 1, False)):
            assert day.see(url, text(content), "k", siblings=()).kept is kept


def test_an_edit_is_kept_where_a_job_that_was_resumed_met_two_rows_of_one_text(index: Index) -> None:
    one, edit, other = text(1), edited(1), text(2)
    # Where a page is asked for first in a process, nothing is known of earlier requests.
    for firsts, shown in (*2 * [(1, [one, other, one])], (2, [one, one, edit, one])):
        with crawling(index) as crawl:
            found = []
            for number, content in enumerate(shown):
                crawl.visit("a")
                seen = crawl.detector.sighting(page(content, P), kind="item")
                siblings = None if number < firsts else ()
                found.append(submit(crawl.detector, seen, confirmed=True, siblings=siblings))
    assert [(verdict.reason, verdict.kept) for verdict in found] == [
        *2 * [(Reason.UNCHANGED, True)],
        *2 * [(Reason.UPDATED, True)],
    ]


@pytest.mark.parametrize("is_left_out", [True, False])
def test_what_is_one_text_since_changes_are_known_comes_once(index: Index, *, is_left_out: bool) -> None:
    """Two addresses of one page were kept before that was known; then nothing of them changes."""
    with crawling(index) as crawl:
        rows = [crawl.see(url, text(1) + noise).row for url, noise in ((P, ""), (Q, " " + text(2)))]
        for row in rows:
            index.store.reprint(row or 0, crawl.detector.fingerprint(page(text(1), P)))
    for _ in range(2):
        with crawling(index) as crawl:
            found = []
            for url in (P, Q):
                crawl.visit("a")
                seen = crawl.detector.sighting(page(text(1), url), kind="item")
                seen = replace(seen, fingerprint=replace(seen.fingerprint, left_out=is_left_out))
                found.append(submit(crawl.detector, seen, confirmed=True))
        assert [(verdict.kept, verdict.canonical) for verdict in found] == [
            (True, rows[0]),
            (not is_left_out, rows[0] if is_left_out else rows[1]),
        ]
