from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, Reason, Verdict
from dedup.index import Index, Sighting
from dedup.model.verdict import UNDONE
from dedup.prints.fingerprinter import fingerprint
from tests.pages import edited, page, text

Crawl = Callable[..., list[Verdict]]


@pytest.fixture
def crawl(index: Index) -> Crawl:
    """Return a function that checks pages, given as {URL: text} or [(URL, text)], in one run."""

    def crawl(pages: object, **config: object) -> list[Verdict]:
        found = list(pages.items() if isinstance(pages, dict) else pages)  # type: ignore[call-overload]
        with Detector(index, DedupConfig(**config)) as detector:  # type: ignore[arg-type]
            return [detector.check(page(content, url)) for url, content in found]

    return crawl


def reasons(verdicts: list[Verdict]) -> list[tuple[Reason, bool]]:
    return [(verdict.reason, verdict.kept) for verdict in verdicts]


def test_a_page_seen_again_is_unchanged_and_kept(crawl: Crawl) -> None:
    first = crawl({"http://a/": text(1)})
    for _ in range(3):
        again = crawl({"http://a/": text(1)})
        assert reasons(again) == [(Reason.UNCHANGED, True)]
        assert again[0].canonical == first[0].row


def test_it_is_dropped_if_so_configured(crawl: Crawl) -> None:
    crawl({"http://a/": text(1)})
    assert reasons(crawl({"http://a/": text(1)}, unchanged="drop")) == [(Reason.UNCHANGED, False)]


def test_a_former_duplicate_is_dropped_again_with_its_canonical(crawl: Crawl) -> None:
    pages = {"http://a/": text(1), "http://b/": edited(1)}
    first = crawl(pages)
    for _ in range(3):
        again = crawl(dict(reversed(pages.items())))
        assert reasons(again) == [(Reason.UNCHANGED, False), (Reason.UNCHANGED, True)]
        assert [verdict.canonical for verdict in again] == [first[0].row] * 2


def test_a_changed_page_is_updated_and_kept(crawl: Crawl) -> None:
    crawl({"http://a/": text(1)})
    assert reasons(crawl({"http://a/": edited(1)})) == [(Reason.UPDATED, True)]
    assert reasons(crawl({"http://a/": edited(1)})) == [(Reason.UNCHANGED, True)]
    assert reasons(crawl({"http://a/": text(2)})) == [(Reason.UPDATED, True)]


def test_an_update_takes_the_place_of_the_old_version(crawl: Crawl) -> None:
    crawl({"http://a/": text(1)})
    new = crawl({"http://a/": text(2)})
    copies = crawl({"http://b/": text(1), "http://c/": text(2)})
    assert reasons(copies) == [(Reason.NEW, True), (Reason.EXACT_DUPLICATE, False)]
    assert copies[1].canonical == new[0].row


def test_an_update_may_have_become_a_copy_of_another_page(crawl: Crawl) -> None:
    first = crawl({"http://a/": text(1), "http://b/": text(2)})
    again = crawl({"http://a/": text(2)})
    assert reasons(again) == [(Reason.EXACT_DUPLICATE, False)]
    assert again[0].canonical == first[1].row


def test_going_back_to_an_older_version_is_an_update(crawl: Crawl) -> None:
    crawl({"http://a/": text(1)})
    crawl({"http://a/": text(2)})
    assert reasons(crawl({"http://a/": text(1)})) == [(Reason.UPDATED, True)]


def test_several_rows_of_one_url_are_met_again_one_by_one(crawl: Crawl) -> None:
    rows = [("http://a/", text(1)), ("http://a/", text(2)), ("http://a/", edited(1))]
    assert reasons(crawl(rows)) == [
        (Reason.NEW, True),
        (Reason.NEW, True),
        (Reason.NEAR_DUPLICATE, False),
    ]
    again = crawl([*reversed(rows), ("http://a/", text(1))])
    assert reasons(again) == [
        (Reason.UNCHANGED, False),
        (Reason.UNCHANGED, True),
        (Reason.UNCHANGED, True),
        (Reason.EXACT_DUPLICATE, False),  # one more than before: a copy of its sibling
    ]


def test_where_a_url_had_several_rows_old_ones_stay(crawl: Crawl) -> None:
    crawl([("http://a/", text(1)), ("http://a/", text(2))])
    assert reasons(crawl({"http://a/": text(3)})) == [(Reason.UPDATED, True)]
    assert reasons(crawl({"http://b/": text(1)})) == [(Reason.EXACT_DUPLICATE, False)]


def test_what_no_crawl_met_has_no_versions_without_a_url(crawl: Crawl) -> None:
    crawl({"": text(1)})
    assert reasons(crawl({"": text(1)})) == [(Reason.EXACT_DUPLICATE, False)]
    assert reasons(crawl({"": edited(1)})) == [(Reason.NEAR_DUPLICATE, False)]


def test_pages_without_tokens_are_compared_by_bytes(crawl: Crawl, index: Index) -> None:
    crawl({"http://a/": ""})
    assert reasons(crawl({"http://a/": ""})) == [(Reason.UNCHANGED, True)]


def test_what_a_forgotten_run_kept_is_judged_anew(crawl: Crawl, index: Index) -> None:
    crawl({"http://a/": text(1)})
    assert index.runs.forget(1) == 1
    assert reasons(crawl({"http://a/": text(1)})) == [(Reason.NEW, True)]


def test_forgetting_an_update_brings_the_old_version_back(crawl: Crawl, index: Index) -> None:
    old = crawl({"http://a/": text(1)})
    crawl({"http://a/": text(2)})
    index.runs.forget(2)
    copies = crawl({"http://b/": text(1), "http://c/": text(2)})
    assert reasons(copies) == [(Reason.EXACT_DUPLICATE, False), (Reason.NEW, True)]
    assert copies[0].canonical == old[0].row


def test_another_version_of_a_url_does_not_make_a_duplicate_of_it(crawl: Crawl) -> None:
    crawl({"http://a/": text(1)})
    crawl({"http://a/": " "})
    assert crawl({"http://a/": edited(1)})[0].kept


def test_a_forgotten_run_has_met_nothing(crawl: Crawl, index: Index) -> None:
    first = crawl({"http://a/": text(1), "http://b/": text(2)})
    crawl({"http://a/": text(1), "http://b/": edited(2)})
    index.runs.forget(2)
    again = crawl({"http://a/": text(1), "http://b/": edited(2)})
    assert reasons(again) == [(Reason.UNCHANGED, True), (Reason.UPDATED, True)]
    assert again[1].replaces == first[1].row
    assert [row.id for row in index.rows() if row.listed] == [first[0].row, again[1].row]


@pytest.mark.parametrize("undo", ["die", "forget"])
def test_a_run_that_goes_on_has_not_met_what_was_undone(index: Index, undo: str) -> None:
    pages = [page(text(n), f"http://a/{n}") for n in range(3)]
    with Detector(index) as detector:
        for one in pages:
            detector.check(one)
    for turn in range(2):
        detector = Detector(index, job="job")
        met = [*pages[:2], page(edited(2), "http://a/2")]
        found = [detector.submit(detector.sighting(one)) for one in met]
        wanted = [(Reason.UNCHANGED, True), (Reason.UNCHANGED, True), (Reason.UPDATED, True)]
        assert reasons(found) == wanted, turn
        if undo == "forget":
            index.runs.forget(detector.run.id)
        detector.close("shutdown")


def test_a_restored_run_does_not_go_on(index: Index) -> None:
    run = index.runs.begin(job="job")
    index.runs.end(run, "shutdown")
    restored = index.runs.import_run(replace(run, job="other", ended=1.0, ending="shutdown"))
    assert index.runs.begin(run.spider, job="job").id == run.id
    assert index.runs.begin(run.spider, job="other").id == restored.id + 1


def test_what_was_not_seen_for_long_is_forgotten(index: Index) -> None:
    run = index.runs.begin()
    for seen, (number, url) in enumerate([(1, "a"), (1, "copy"), (2, "b"), (3, "c"), (3, "copy of c")]):
        found = fingerprint(page(text(number)))
        sighting = Sighting(found, f"http://{url}/", url, "page", "", run.id, float(seen))
        index.ledger.find_or_add(sighting, DedupConfig())
    assert index.ledger.forget_unseen_since(4.0) == 3  # c stays, for its copy was seen at 4
    assert [row.outcome in UNDONE for row in index.rows()] == [True, True, True, False, False]
