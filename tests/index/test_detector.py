"""What a detector says of pages: of copies, of versions of a URL, and of a page made to suppress another one."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dedup import DedupConfig, Detector, Fingerprint, Page, Reason, Verdict, compare, fingerprint
from dedup.index import Index, Sighting
from dedup.model.fingerprint import PageToRecord
from dedup.model.hashes import Hashes, hashes_of, mixed
from dedup.model.verdict import UNDONE
from dedup.native._pages import similarity
from dedup.rule.match import LOST, lost_words
from tests.index.conftest import ON_BOTH
from tests.support.pages import checked, edited, page, submit, text


def reasons(verdicts: list[Verdict]) -> list[tuple[Reason, bool]]:
    return [(verdict.reason, verdict.kept) for verdict in verdicts]


A, B, C = "http://a/", "http://b/", "http://c/"
NEW, KEPT, GONE = (Reason.NEW, True), (Reason.UNCHANGED, True), (Reason.UNCHANGED, False)
UPDATED, EXACT = (Reason.UPDATED, True), (Reason.EXACT_DUPLICATE, False)
NEAR = (Reason.NEAR_DUPLICATE, False)

# Crawls, one after the other: pages, what is said of each, and for copies which row they repeat.
HISTORIES: dict[str, Sequence[Sequence[tuple[str, str, tuple[Reason, bool], int | None]]]] = {
    "equal bytes at another URL are an exact copy, an edited page is one of the nearest": [
        [
            ("http://far/", edited(1, 40), NEW, None),
            (A, text(1), NEW, None),
            (B, text(1), EXACT, 2),
            (C, edited(1), NEAR, 2),
        ]
    ],
    "a URL seen twice in a run makes and prevents nothing": [
        [
            ("http://a/?x=1&y=2", text(1), NEW, None),
            ("http://A/?y=2&x=1#top", text(2), NEW, None),
            ("http://A/?y=2&x=1#top", text(1), EXACT, 1),
            (B, text(2), EXACT, 2),
        ]
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
def test_what_is_said_of_versions(index: Index, history: str) -> None:
    for number, pages in enumerate(HISTORIES[history]):
        found = checked(index, [(url, content) for url, content, *_ in pages])
        told = [((one.reason, one.kept), one.canonical) for one in found]
        assert told == [(wanted, canonical) for *_, wanted, canonical in pages], number


def test_forgetting_an_update_brings_the_old_version_back(index: Index) -> None:
    old = checked(index, {"http://a/": text(1)})
    checked(index, {"http://a/": text(2)})
    index.runs.forget(2)
    copies = checked(index, {"http://b/": text(1), "http://c/": text(2)})
    assert reasons(copies) == [(Reason.EXACT_DUPLICATE, False), (Reason.NEW, True)]
    assert copies[0].canonical == old[0].row


def test_a_forgotten_run_has_met_nothing(index: Index) -> None:
    first = checked(index, {"http://a/": text(1), "http://b/": text(2)})
    checked(index, {"http://a/": text(1), "http://b/": edited(2)})
    index.runs.forget(2)
    again = checked(index, {"http://a/": text(1), "http://b/": edited(2)})
    assert reasons(again) == [(Reason.UNCHANGED, True), (Reason.UPDATED, True)]
    assert again[1].replaces == first[1].row
    assert [row.id for row in index.rows() if row.listed] == [first[0].row, again[1].row]


@pytest.mark.parametrize("undo", ["die", "forget"])
def test_a_run_that_goes_on_has_not_met_what_was_undone(index: Index, undo: str) -> None:
    pages = [page(text(n), f"http://a/{n}") for n in range(3)]
    checked(index, pages)
    for turn in range(2):
        detector, met = Detector(index, job="job"), [*pages[:2], page(edited(2), "http://a/2")]
        found = [submit(detector, detector.sighting(one)) for one in met]
        wanted = [(Reason.UNCHANGED, True), (Reason.UNCHANGED, True), (Reason.UPDATED, True)]
        assert reasons(found) == wanted, turn
        if undo == "forget":
            index.runs.forget(detector.run.id)
        detector.close("shutdown")


def test_a_restored_run_does_not_go_on(index: Index) -> None:
    run = index.runs.begin(job="job")
    index.runs.end(run, "shutdown")
    back = index.store.add_run(replace(run, job="other", ended=1.0, ending="shutdown", is_imported=True))
    assert index.runs.begin(run.spider, job="job").id == run.id
    assert index.runs.begin(run.spider, job="other").id == back.id + 1


def test_what_was_not_seen_for_long_is_forgotten(index: Index) -> None:
    run = index.runs.begin()
    for seen, (number, url) in enumerate([(1, "a"), (1, "copy"), (2, "b"), (3, "c"), (3, "copy of c")]):
        found = fingerprint(page(text(number)))
        sighting = Sighting(found, f"http://{url}/", url, "page", "", run.id, float(seen))
        index.ledger.find_or_add([PageToRecord(sighting)], DedupConfig(), confirmed=True)
    assert index.ledger.forget(unseen_since=4.0) == 3  # c stays, for its copy was seen at 4
    assert [row.outcome in UNDONE for row in index.rows()] == [True, True, True, False, False]


@ON_BOTH
def test_a_page_that_cannot_be_written_costs_no_other_page_its_verdict(index: Index) -> None:
    with Detector(index) as detector:
        seen = detector.sighting(page(text(1), "http://a/"))
        with pytest.raises(UnicodeEncodeError):
            submit(detector, replace(seen, url="http://a/\ud800", url_key="http://a/\ud800"))
        assert detector.check(page(text(1), "http://b/")).reason is Reason.NEW


def test_judging_records_nothing(index: Index) -> None:
    with Detector(index) as detector:
        assert detector.judge(page(text(1))).reason is Reason.NEW
        assert detector.judge(page(text(1))).reason is Reason.NEW
        assert (list(index.rows()), index.runs.all()) == ([], [])


def test_pages_and_items_do_not_see_each_other(index: Index) -> None:
    with Detector(index) as detector:
        kinds = ("page", "item", "page", "item")
        reasons = [detector.check(page(text(1), "http://a/"), kind=kind).reason for kind in kinds]
    assert reasons == [Reason.NEW, Reason.NEW, Reason.EXACT_DUPLICATE, Reason.EXACT_DUPLICATE]


@ON_BOTH
@pytest.mark.parametrize(
    ("scope", "url", "spider", "found"),
    [
        ("spider", "http://other.example/", "one", True),
        ("spider", "http://www.example.co.uk/", "two", False),
        ("host", "http://www.example.co.uk/x", "two", True),
        ("host", "http://m.example.co.uk/", "one", False),
        ("domain", "http://m.example.co.uk/", "two", True),
        ("domain", "http://other.co.uk/", "one", False),
        ("global", "http://other.example/", "two", True),
    ],
)
def test_pages_have_a_scope(index: Index, scope: str, url: str, spider: str, found: bool) -> None:
    config = DedupConfig(scope=scope)
    checked(index, {"http://www.example.co.uk/": text(1)}, config, "one")
    assert checked(index, {url: text(1)}, config, spider)[0].kept is not found


@ON_BOTH
def test_a_batch_is_recorded_as_a_whole_or_not_at_all(index: Index) -> None:
    with Detector(index, spider="first") as detector:
        assert detector.run.id == 1
        with suppress(KeyError), index.batch():
            detector.check(page(text(1), "http://a/1"))
            detector.check(page(text(1), "http://a/2"))
            raise KeyError
    checked(index, {"http://a/3": text(2)}, spider="second")
    assert checked(index, {"http://a/4": text(1)}, spider="first")[0].kept
    assert [row.sighting.scope for row in index.rows()] == ["second", "first"]


# A page without one word of its victim's that passes for a copy of it: all that is public is known.
# Hashes are taken from a pool one by one.  Each makes one more shingle, which falls into one bin: taken is
# a word whose shingle puts the victim's byte there, of those the one whose own hash brings the content
# simhash nearest.
POOL = 1 << 16
SIZE = 4
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NOTHING = np.uint64(2**64 - 1)

VICTIM = Page.from_text(text(1, 900), url="http://victim/")


@cache
def attack() -> Page:
    """Return a page that passes for `VICTIM` wherever only simhashes and sketches are compared."""
    return Page.from_text(" ".join(forged(fingerprint(VICTIM))), url="http://evil/")


def forged(victim: Fingerprint) -> list[str]:
    """Return the words of a page with the content simhash and the sketch of *victim*, or nearly."""
    # Words of consonants, which no text has.
    digits = (f"{number * 0x9E3779B1 % 2**32:08x}" for number in range(POOL))
    names = [word.translate(str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")) for word in digits]
    words = hashes_of(names)
    nearness = np.bitwise_count(~(words ^ np.uint64(victim.content_simhash)))
    wanted = np.frombuffer(victim.sketch, np.uint8)
    shift = np.uint64(65 - len(wanted).bit_length())
    smallest, taken = np.full(len(wanted), _NOTHING), list(range(SIZE - 1))
    while True:
        is_made = (_values(smallest) == wanted) & (smallest < _NOTHING)
        shingles = _shingled(words[taken[1 - SIZE :]], words)
        bins = (shingles >> shift).astype(np.int64)
        helps = (_values(shingles) == wanted[bins]) & (shingles < smallest[bins]) & ~is_made[bins]
        helps[taken] = False
        if is_made.sum() >= 0.95 * np.count_nonzero(wanted) or not helps.any():
            return [names[number] for number in taken]
        found = int(np.argmax(np.where(helps, nearness, 0)))
        taken.append(found)
        smallest[bins[found]] = shingles[found]


def _shingled(state: Hashes, pool: Hashes) -> Hashes:
    hashes = state[:1]
    for number in range(1, SIZE - 1):
        hashes = mixed(hashes) * _STEP + state[number : number + 1]
    return mixed(mixed(hashes) * _STEP + pool)


def _values(hashes: Hashes) -> NDArray[np.uint64]:
    return hashes % np.uint64(255) + np.uint64(1)


def test_its_sample_gives_it_away() -> None:
    assert not set(attack().text.split()) & set(VICTIM.text.split())
    found = compare(attack(), VICTIM)
    assert (found.is_duplicate, found.finding, found.content_distance) == (False, LOST, 0)
    evil, victim = fingerprint(attack()), fingerprint(VICTIM)
    assert similarity(evil.sketch, victim.sketch) >= 0.9
    assert lost_words(evil, victim, 1.0) > 600


@pytest.mark.parametrize("host", ["evil", "victim"])
@pytest.mark.parametrize("words", [0, 40, 100, 300])
def test_it_suppresses_nothing(index: Index, host: str, words: int) -> None:
    config = DedupConfig(max_lost_words=words, scope="global")
    evil = replace(attack(), url=f"http://{host}/forged")
    others = [page(text(50 + number), f"http://{host}/{number}") for number in range(9)]
    verdicts = checked(index, [*others, evil, VICTIM, evil, VICTIM], config)
    assert [verdict.kept for verdict in verdicts[9:11]] == [True, True]
