from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, Reason, Verdict
from dedup.index import Index, Sighting
from dedup.model.verdict import UNDONE
from dedup.prints.fingerprinter import fingerprint
from tests.support.pages import edited, page, text

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


A, B, C = "http://a/", "http://b/", "http://c/"
NEW, KEPT, GONE = (Reason.NEW, True), (Reason.UNCHANGED, True), (Reason.UNCHANGED, False)
UPDATED, EXACT, NEAR = (
    (Reason.UPDATED, True),
    (Reason.EXACT_DUPLICATE, False),
    (Reason.NEAR_DUPLICATE, False),
)

# Crawls, one after the other: pages, what is said of each, and for copies which row they repeat.
HISTORIES: dict[str, Sequence[Sequence[tuple[str, str, tuple[Reason, bool], int | None]]]] = {
    "equal bytes at another URL are an exact copy, an edited page is one of the nearest": [
        [
            ("http://far/", edited(1, 40), NEW, None),
            (A, text(1), NEW, None),
            (B, text(1), EXACT, 2),
            (C, edited(1), NEAR, 2),
        ],
    ],
    "a URL seen twice in a run makes and prevents nothing": [
        [
            ("http://a/?x=1&y=2", text(1), NEW, None),
            ("http://A/?y=2&x=1#top", text(2), NEW, None),
            ("http://A/?y=2&x=1#top", text(1), EXACT, 1),
            (B, text(2), EXACT, 2),
        ],
    ],
    "a page seen again is unchanged and kept": [
        [(A, text(1), NEW, None)],
        *[[(A, text(1), KEPT, 1)]] * 3,
    ],
    "a former duplicate is dropped again with its canonical": [
        [(A, text(1), NEW, None), (B, edited(1), NEAR, 1)],
        *[[(B, edited(1), GONE, 1), (A, text(1), KEPT, 1)]] * 3,
    ],
    "a changed page is updated and kept": [
        [(A, text(1), NEW, None)],
        [(A, edited(1), UPDATED, None)],
        [(A, edited(1), KEPT, 2)],
        [(A, text(2), UPDATED, None)],
    ],
    "an update takes the place of the old version": [
        [(A, text(1), NEW, None)],
        [(A, text(2), UPDATED, None)],
        [(B, text(1), NEW, None), (C, text(2), EXACT, 2)],
    ],
    "an update may have become a copy of another page": [
        [(A, text(1), NEW, None), (B, text(2), NEW, None)],
        [(A, text(2), EXACT, 2)],
    ],
    "going back to an older version is an update": [
        [(A, text(1), NEW, None)],
        [(A, text(2), UPDATED, None)],
        [(A, text(1), UPDATED, None)],
    ],
    "several rows of one URL are met again one by one": [
        [(A, text(1), NEW, None), (A, text(2), NEW, None), (A, edited(1), NEAR, 1)],
        # One more than before is a copy of its sibling.
        [(A, edited(1), GONE, 1), (A, text(2), KEPT, 2), (A, text(1), KEPT, 1), (A, text(1), EXACT, 1)],
    ],
    "where a URL had several rows old ones stay": [
        [(A, text(1), NEW, None), (A, text(2), NEW, None)],
        [(A, text(3), UPDATED, None)],
        [(B, text(1), EXACT, 1)],
    ],
    "what no crawl met has no versions without a URL": [
        [("", text(1), NEW, None)],
        [("", text(1), EXACT, 1)],
        [("", edited(1), NEAR, 1)],
    ],
    "pages without tokens are compared by bytes": [[(A, "", NEW, None)], [(A, "", KEPT, 1)]],
    "another version of a URL does not make a duplicate of it": [
        [(A, text(1), NEW, None)],
        [(A, " ", UPDATED, None)],
        [(A, edited(1), UPDATED, None)],
    ],
}


@pytest.mark.parametrize("history", HISTORIES)
def test_what_is_said_of_versions(crawl: Crawl, history: str) -> None:
    for number, pages in enumerate(HISTORIES[history]):
        found = crawl([(url, content) for url, content, *_ in pages])
        told = [((one.reason, one.kept), one.canonical) for one in found]
        assert told == [(wanted, canonical) for *_, wanted, canonical in pages], number


def test_forgetting_an_update_brings_the_old_version_back(crawl: Crawl, index: Index) -> None:
    old = crawl({"http://a/": text(1)})
    crawl({"http://a/": text(2)})
    index.runs.forget(2)
    copies = crawl({"http://b/": text(1), "http://c/": text(2)})
    assert reasons(copies) == [(Reason.EXACT_DUPLICATE, False), (Reason.NEW, True)]
    assert copies[0].canonical == old[0].row


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
