"""Who keeps the longest of several copies is given longer pages too, each with what it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, Page, Reason, SQLiteIndex, Verdict, compare
from dedup.index import Index
from dedup.rule.longer import LEAST_SHARE, LEAST_WORDS, MOST_REPLACED
from dedup.values.exceptions import Exceptions, Said
from dedup.values.run import DRY_RUN
from tests.dedup.index.scan_store import ScanIndex
from tests.dedup.index.test_rehearsal import stored
from tests.pages import page, text

LONGEST = DedupConfig(keep="longest")
LIKE = DedupConfig(keep="longest", verifier="similarity", min_similarity=0.2)
SIZES = (60, 100, 140, 200, 300, 420, 600)


def pages(sizes: Sequence[tuple[int, int]]) -> list[Page]:
    return [
        page(text(seed, words), f"http://a.example/{number}")
        for number, (seed, words) in enumerate(sizes)
    ]


def judged(index: Index, found: Sequence[Page], config: DedupConfig, **how: str) -> list[Verdict]:
    with Detector(index, config, **how) as detector:
        detector.visit("a.example")
        return [detector.check(one) for one in found]


@given(
    sizes=st.lists(st.tuples(st.integers(1, 2), st.sampled_from(SIZES)), max_size=8),
    config=st.sampled_from([LONGEST, LIKE]),
    crawls=st.integers(1, 3),
)
def test_replacements_are_longer_have_all_and_are_few(
    sizes: list[tuple[int, int]], config: DedupConfig, crawls: int
) -> None:
    index, found = MemoryIndex(), pages(sizes)
    for _ in range(crawls):
        verdicts = judged(index, found, config)
        by_url = {one.url: one for one in found}
        delivered = {one.url for one, verdict in zip(found, verdicts, strict=True) if verdict.kept}
        replaced = {
            one.url: verdict.replaced_url
            for one, verdict in zip(found, verdicts, strict=True)
            if verdict.replaced_url
        }
        for url, old in replaced.items():
            assert old in delivered
            kept = int(by_url[old].url.rsplit("/", 1)[1])
            words, before = sizes[int(url.rsplit("/", 1)[1])][1], sizes[kept][1]
            assert words >= max(before * (1 + LEAST_SHARE), before + LEAST_WORDS)
            assert compare(by_url[url], by_url[old], config).is_duplicate
            chain = 1
            while (old := replaced.get(old, "")) and chain <= MOST_REPLACED:
                chain += 1
            assert chain <= MOST_REPLACED
        # What is dropped repeats something that this crawl has delivered.
        for one, verdict in zip(found, verdicts, strict=True):
            if not verdict.kept:
                assert any(
                    compare(by_url[url], one, config).is_duplicate or by_url[url].text == one.text
                    for url in delivered
                )


@given(sizes=st.lists(st.tuples(st.integers(1, 2), st.sampled_from(SIZES)), max_size=8))
def test_all_that_the_first_would_keep_is_kept(sizes: list[tuple[int, int]]) -> None:
    """By words lost, a longer page is kept anyway: that it replaces a shorter one loses nothing."""
    found = pages(sizes)
    first = judged(MemoryIndex(), found, DedupConfig())
    longest = judged(MemoryIndex(), found, LONGEST)
    dropped = {one.url for one, verdict in zip(found, longest, strict=True) if not verdict.kept}
    assert len(dropped) <= sum(not verdict.kept for verdict in first)


def test_it_is_the_canonical_when_it_is_confirmed_and_not_before() -> None:
    index, (short, long) = MemoryIndex(), pages([(1, 200), (1, 300)])
    detector = Detector(index, LONGEST)
    detector.check(short)
    verdict = detector.submit(detector.sighting(long))
    assert (verdict.kept, verdict.replaced_url) == (True, short.url)
    assert [row.listed for row in index.rows()] == [True, True]
    index.ledger.confirm(verdict.row or 0)
    assert [row.listed for row in index.rows()] == [False, True]


def test_what_was_lost_replaces_nothing() -> None:
    index, (short, long) = MemoryIndex(), pages([(1, 200), (1, 300)])
    detector = Detector(index, LONGEST)
    detector.check(short)
    index.ledger.release(detector.submit(detector.sighting(long)).row or 0)
    assert [row.listed for row in index.rows()] == [True, False]


def test_what_is_pending_is_not_replaced() -> None:
    index, (short, long) = MemoryIndex(), pages([(1, 200), (1, 300)])
    detector = Detector(index, LONGEST)
    detector.submit(detector.sighting(short))
    assert detector.check(long).replaced_url == ""


def test_forgetting_it_gives_the_place_back() -> None:
    index, (short, long) = MemoryIndex(), pages([(1, 200), (1, 300)])
    judged(index, [short, long], LONGEST)
    index.ledger.forget_url(long.url)
    assert [row.listed for row in index.rows()] == [True, False]
    assert not judged(index, [page(text(1, 200), "http://a.example/9")], DedupConfig(unchanged="drop"))[
        0
    ].kept


def test_the_next_crawl_gives_the_same_pages_and_says_the_same() -> None:
    index, found = MemoryIndex(), pages([(1, 200), (1, 300), (1, 200)])
    first, second = (judged(index, found, LONGEST) for _ in range(2))
    assert [one.kept for one in first] == [one.kept for one in second]
    assert first[1].replaced_url == second[1].replaced_url == found[0].url


def test_two_items_of_one_url_stay_beside_each_other() -> None:
    for unchanged in ("keep", "drop"):
        config = DedupConfig(keep="longest", unchanged=unchanged)
        index, found = MemoryIndex(), [page(text(1, words), "http://a.example/") for words in (200, 300)]
        first, second = judged(index, found, config), judged(index, found, config)
        assert [one.replaced_url for one in first] == ["", ""]
        assert [one.reason for one in second] == [Reason.UNCHANGED] * 2


def test_in_a_cluster_two_are_replaced_also_where_an_earlier_crawl_met_some() -> None:
    index, found = MemoryIndex(), pages([(1, 200), (1, 300), (1, 420), (1, 600)])
    judged(index, found[2:3], LONGEST)
    detector = Detector(index, LONGEST)
    detector.submit(detector.sighting(found[1]))
    detector.check(found[2])
    detector.close()
    verdicts = judged(index, found, LONGEST)
    assert sum(bool(one.replaced_url) for one in verdicts) == MOST_REPLACED


def test_what_is_said_to_be_a_copy_is_one() -> None:
    short, long = pages([(1, 200), (1, 300)])
    said = Exceptions.of([Said(long.url, short.url, "copy")])
    verdicts = judged(MemoryIndex(), [short, long], replace(LONGEST, exceptions=said))
    assert not verdicts[1].kept


@given(sizes=st.lists(st.tuples(st.integers(1, 2), st.sampled_from(SIZES)), max_size=8))
def test_a_file_says_the_same(sizes: list[tuple[int, int]]) -> None:
    found = pages(sizes)
    with TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as index:
        memory = ScanIndex()
        for _ in range(2):
            assert judged(index, found, LIKE) == judged(memory, found, LIKE)
        assert [stored(row.verdict) for row in index.rows()] == [
            stored(row.verdict) for row in memory.rows()
        ]


def test_a_dry_run_replaces_nothing() -> None:
    index, found = MemoryIndex(), pages([(1, 200), (1, 300)])
    assert judged(index, found, LONGEST, action=DRY_RUN)[1].replaced_url
    assert [row.listed for row in index.rows()] == [True, True]
