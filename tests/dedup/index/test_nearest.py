"""`nearest` gives what a linear scan gives, however far it has to look."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, Fingerprint, Page, SQLiteIndex
from dedup.algorithms.blocks import BlockIndex
from dedup.index import Index
from dedup.recipes.sketch import EMPTY
from dedup.values.errors import ConfigError
from tests.budget import examples
from tests.dedup.index.scan_store import ScanIndex
from tests.dedup.index.test_postings import BLOCKS, posting_list
from tests.pages import edited, page, text
from tests.sightings import find_or_add

ANY = DedupConfig(verifier="distance", max_distance=0)


def flipped(word: int, bits: list[int]) -> int:
    for bit in bits:
        word ^= 1 << bit
    return word


words = st.integers(1, 2**64 - 1)
# Hashes at every distance from one: a query meets ties, near words and far ones.
around = st.lists(st.integers(0, 63), max_size=64).map(
    lambda bits: flipped(0x0F1E2D3C4B5A6978, bits) or 1
)


@given(st.sets(words | around, max_size=25), words | around, st.sampled_from(BLOCKS), st.integers(0, 64))
def test_a_posting_list_gives_the_nearest_words(
    stored: set[int], query: int, blocks: int, max_distance: int
) -> None:
    postings = posting_list(blocks)
    for word in stored:
        postings.add(word)
    distances = {word: (word ^ query).bit_count() for word in stored}
    nearest = min(distances.values(), default=65)
    found = postings.nearest(query, max_distance)
    if nearest > max_distance:
        assert found is None
    else:
        assert found is not None
        assert (found[0], found[1].tolist()) == (
            nearest,
            sorted(word for word in stored if distances[word] == nearest),
        )


@settings(max_examples=examples(30))
@given(stored=st.sets(words | around, max_size=20), query=words | around)
def test_a_set_of_words_gives_the_smallest_of_the_nearest(
    tmp_path_factory: pytest.TempPathFactory, stored: set[int], query: int
) -> None:
    with BlockIndex(tmp_path_factory.mktemp("words") / "words.db") as index:
        for word in stored:
            index.add(word)
        expected = min(((word ^ query).bit_count(), word) for word in stored) if stored else None
        assert index.nearest(query) == (expected and (expected[1], expected[0]))


@pytest.mark.parametrize("distance", [0, 1, 4, 5, 9, 10, 14, 15, 16, 40, 64])
def test_the_limit_is_inclusive(tmp_path: Path, distance: int) -> None:
    word = flipped(0x0F1E2D3C4B5A6978, list(range(distance)))
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(word)
        assert index.nearest(0x0F1E2D3C4B5A6978, distance) == (word, distance)
        assert not distance or index.nearest(0x0F1E2D3C4B5A6978, distance - 1) is None


def seen(content: int) -> Fingerprint:
    digest = content.to_bytes(16, "big")
    return Fingerprint(content, 0, EMPTY, digest, digest, 3)


@settings(max_examples=examples(30), deadline=None)
@given(stored=st.lists(words | around, max_size=12), query=words | around, apart=st.integers(1, 3))
def test_both_indexes_give_the_oldest_of_the_nearest_pages(
    tmp_path_factory: pytest.TempPathFactory, stored: list[int], query: int, apart: int
) -> None:
    answers = []
    path = tmp_path_factory.mktemp("pages") / "pages.db"
    for index in (ScanIndex(), SQLiteIndex(path)):
        with index:
            run = index.begin_run()
            for number, word in enumerate(stored):
                spider = str(number % apart)
                find_or_add(index, seen(word), run=run, config=ANY, spider=spider)
            listed = [row for row in index.rows() if row.listed]
            found = index.views.nearest(seen(query))
            expected = (
                min(
                    ((row.sighting.fingerprint.content_simhash ^ query).bit_count(), row.id)
                    for row in listed
                )
                if listed
                else None
            )
            assert (found and found.order) == expected
            answers.append(index.views.nearest(seen(query), scope="0", max_distance=20))
            index.end_run(run, "finished")
    one, other = answers
    assert (one and one.order) == (other and other.order)


def test_the_nearest_page_of_a_crawl(index: Index) -> None:
    with Detector(index) as detector:
        for number in range(1, 6):
            detector.check(page(text(number), f"http://a/{number}"))
        asked = page(edited(3), "http://b/")
        found = detector.nearest(asked)
        assert found is not None
        assert found.row.sighting.url == "http://a/3"
        assert found.distance == detector.judge(asked).content_distance
        assert detector.nearest(asked, max_distance=found.distance - 1) is None
        assert detector.nearest(asked, kind="item") is None
        assert detector.nearest(Page.from_html("<img>")) is None
    other = Detector(index, spider="other").nearest(page(text(1)))
    assert other is None


def test_pages_that_are_listed_no_more_are_not_near(index: Index) -> None:
    with Detector(index) as detector:
        detector.check(page(text(1), "http://a/"))
        detector.check(page(text(2), "http://b/"))
        index.ledger.forget_url("http://a/")
        found = detector.nearest(page(text(1)))
    assert found is not None
    assert found.row.sighting.url == "http://b/"


@pytest.mark.parametrize("max_distance", [-1, 65])
def test_other_distances_are_refused(index: Index, tmp_path: Path, max_distance: int) -> None:
    with pytest.raises(ConfigError, match=rf"^max_distance \({max_distance}\) must be 0 to 64"):
        index.views.nearest(seen(1), max_distance=max_distance)
    with BlockIndex(tmp_path / "words.db") as words:
        with pytest.raises(ConfigError, match=rf"^max_distance \({max_distance}\) must be 0 to 64"):
            words.nearest(1, max_distance)
