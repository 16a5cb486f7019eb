from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, Fingerprint, PostgresIndex, Reason, SQLiteIndex, fingerprint
from dedup.algorithms.bands import Banding, sketch_keys
from dedup.algorithms.sketch import BINS, EMPTY
from dedup.index import Index
from dedup.index.bands import BandList
from dedup.index.chunks import CHUNK, SCHEMA
from dedup.rule import keys
from dedup.rule.keys import shared_bands
from dedup.values.errors import ConfigError, IndexMismatch, IndexUnavailable
from tests.pages import edited, page, text
from tests.sightings import find_or_add

BANDING = Banding(20, 2)
MINHASH = DedupConfig(candidates="minhash")


def sketch_like(number: int, changes: int) -> bytes:
    """Return one of two unlike sketches with *changes* of its bins changed."""
    rng = random.Random(number % 2)
    sketch = bytearray(rng.choices(range(1, 256), k=BINS))
    rng = random.Random(number)
    for place in rng.sample(range(BINS), changes):
        sketch[place] = rng.randrange(256)
    return bytes(sketch)


sketches = st.builds(sketch_like, st.integers(0, 30), st.integers(0, 200)) | st.just(EMPTY)


def band_list(scope: int = 1, connection: sqlite3.Connection | None = None) -> BandList:
    if connection is None:
        connection = sqlite3.connect(":memory:")
        connection.execute(SCHEMA)
    return BandList(connection, scope, BANDING)


def linear_scan(pages: dict[int, bytes], sketch: bytes) -> list[int]:
    def shared(row: int) -> int:
        one, other = (sketch_keys(found, BANDING).tolist() for found in (pages[row], sketch))
        return sum(a == b for a, b in zip(one, other, strict=False))

    return sorted((row for row in pages if shared(row)), key=lambda row: (-shared(row), row))


@given(st.lists(sketches, max_size=30), st.sets(st.integers(1, 30)), sketches, st.booleans())
def test_finds_what_a_linear_scan_finds(
    stored: list[bytes], removed: set[int], query: bytes, at_once: bool
) -> None:
    bands = band_list()
    pages = dict(enumerate(stored, 1))
    if at_once:
        bands.add_many(pages.items())
    else:
        for row, sketch in pages.items():
            bands.add(row, sketch)
    for row in removed & pages.keys():
        assert bands.remove(row, pages[row])
        assert bands.remove(row, pages[row]) is (pages[row] == EMPTY)
        del pages[row]
    assert bands.find(query) == linear_scan(pages, query)
    assert list(bands.problems(pages.items())) == []


def test_many_pages_with_one_sketch_fill_several_chunks() -> None:
    bands, count = band_list(), 2 * CHUNK + 9
    bands.add_many((row, sketch_like(0, 0)) for row in range(1, count))
    bands.add(count, sketch_like(0, 0))
    assert bands.find(sketch_like(0, 0)) == list(range(1, count + 1))
    assert bands.find(sketch_like(1, 0)) == []


def test_the_largest_row_is_found() -> None:
    bands = band_list()
    bands.add(2**36 - 1, sketch_like(0, 0))
    assert bands.find(sketch_like(0, 9)) == [2**36 - 1]


def test_lists_of_scopes_are_apart() -> None:
    lists = [band_list()]
    lists += [band_list(scope, lists[0]._connection) for scope in (2, 20_000_000)]
    for row, bands in enumerate(lists, 1):
        bands.add(row, sketch_like(0, 0))
    assert [bands.find(sketch_like(0, 0)) for bands in lists] == [[1], [2], [3]]
    lists[1].clear()
    assert [bands.find(sketch_like(0, 0)) for bands in lists] == [[1], [], [3]]


def test_a_scope_without_a_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="scope number"):
        band_list(scope=2**26)


def test_damage_is_told() -> None:
    bands = band_list()
    pages = {1: sketch_like(0, 0), 2: sketch_like(1, 0)}
    bands.add_many(pages.items())
    assert list(bands.problems({1: pages[1]}.items())) == ["20 entries without a page"]
    bands.add(2, pages[2])
    assert list(bands.problems(pages.items())) == ["20 entries twice"]
    bands.clear()
    assert list(bands.problems(pages.items())) == ["40 entries missing"]


# In an index


def unlike_words(number: int, sketch: bytes) -> Fingerprint:
    """Return a page that only its sketch can lead to."""
    words = random.Random(number)
    digest = number.to_bytes(16, "big")
    return Fingerprint(words.getrandbits(64), words.getrandbits(64), sketch, digest, digest, 300)


@pytest.mark.parametrize(
    ("candidates", "found"), [("simhash", False), ("minhash", True), ("both", True)]
)
def test_bands_find_what_words_do_not(index: Index, candidates: str, found: bool) -> None:
    config = DedupConfig(candidates=candidates, max_lost_words=1000)
    index.prepare(config)
    run = index.begin_run("s")
    first, second = unlike_words(1, sketch_like(0, 0)), unlike_words(2, sketch_like(0, 60))
    find_or_add(index, first, "http://a/", run=run, config=config)
    verdict = find_or_add(index, second, "http://b/", run=run, config=config)
    assert verdict.kept is not found
    assert verdict.content_distance is None or verdict.content_distance > config.max_distance


@pytest.mark.parametrize("candidates", ["minhash", "both"])
def test_an_edited_page_is_found_and_other_text_is_not(index: Index, candidates: str) -> None:
    with Detector(index, DedupConfig(candidates=candidates)) as detector:
        verdicts = [
            detector.check(page(content, f"http://a/{n}"))
            for n, content in enumerate([text(1), edited(1), edited(1, 12), text(2), text(3)])
        ]
    expected = [Reason.NEW, Reason.NEAR_DUPLICATE, Reason.NEAR_DUPLICATE, Reason.NEW, Reason.NEW]
    assert [verdict.reason for verdict in verdicts] == expected


def test_words_find_nothing_where_bands_do(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """An equal word is no candidate by itself: here the bands have no room for the change."""
    monkeypatch.setattr(keys, "BANDING", Banding(1, 256))
    config = DedupConfig(candidates="minhash", min_similarity=0.1)
    with Detector(index, config) as detector:
        detector.check(page(text(1), "http://a/"))
        assert detector.check(page(edited(1), "http://b/")).reason is Reason.NEW
        assert detector.check(page(text(1), "http://c/")).reason is Reason.EXACT_DUPLICATE


def test_a_crowd_in_one_band_is_looked_at_up_to_the_cap(index: Index) -> None:
    config = DedupConfig(candidates="minhash", max_candidates=5)
    index.prepare(config)
    run = index.begin_run("s")
    crowd = [sketch_like(0, 0)[:3] + random.Random(n).randbytes(BINS - 3) for n in range(20)]
    for number, sketch in enumerate(crowd):
        verdict = find_or_add(index, unlike_words(number, sketch), "", run=run, config=config)
        # A server itself rules out what cannot pass.
        looked_at = 0 if isinstance(index, PostgresIndex) else min(number, 5)
        assert (verdict.reason, verdict.candidates) == (Reason.NEW, looked_at)
    copy = find_or_add(index, unlike_words(99, crowd[17]), "", run=run, config=config)
    assert (copy.reason, copy.canonical) == (Reason.NEAR_DUPLICATE, 18)


def test_the_largest_banding_there_is(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "BANDING", Banding(256, 1))
    with Detector(index, DedupConfig(candidates="minhash")) as detector:
        detector.check(page(text(1), "http://a/"))
        assert not detector.check(page(edited(1), "http://b/")).kept


# The file


def test_bands_are_made_for_the_pages_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        with Detector(index) as detector:
            detector.check(page(text(1), "http://a/"))
        assert index.banding is None
        with Detector(index, MINHASH) as detector:
            assert index.banding == Banding(24, 3)
            assert not detector.check(page(edited(1), "http://b/")).kept
        with Detector(index) as detector:  # bands stay and are kept up
            detector.check(page(text(2), "http://c/"))
        monkeypatch.setattr(keys, "BANDING", Banding(50, 4))
        other = DedupConfig(candidates="both")
        with Detector(index, other) as detector:
            assert index.banding == Banding(50, 4)
            assert not detector.check(page(edited(2), "http://d/")).kept
        assert index.problems() == []


def test_the_banding_outlives_the_process(tmp_path: Path) -> None:
    for seed in (1, 2):
        with SQLiteIndex(tmp_path / "pages.db") as index, Detector(index, MINHASH) as detector:
            detector.check(page(text(seed), f"http://a/{seed}"))
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert index.banding == Banding(24, 3)
        index.store.band(None)
        assert index.banding is None
    with SQLiteIndex(tmp_path / "pages.db") as index:
        assert index.banding is None
        assert index.problems() == []


def test_an_index_opened_before_keeps_up_with_new_bands(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as early, SQLiteIndex(tmp_path / "pages.db") as late:
        late.prepare(MINHASH)
        with Detector(early) as detector:
            detector.check(page(text(1), "http://a/"))
        assert late.problems() == early.problems() == []


def test_bands_are_not_changed_while_a_crawl_goes_on(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        run = index.begin_run("s")
        with pytest.raises(IndexUnavailable, match="in use by a crawl; change its bands when"):
            Detector(index, MINHASH)
        index.end_run(run, "finished")
        Detector(index, MINHASH)


def test_missing_bands_are_an_error_not_a_silence(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        run = index.begin_run("s")
        with pytest.raises(IndexMismatch, match="no lists of 24 bands of 3 rows"):
            find_or_add(index, fingerprint(page(text(1))), run=run, config=MINHASH)
        assert list(index.rows()) == []
        index.end_run(run, "failed")


def test_checks_and_rebuilding_know_bands(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        with Detector(index, MINHASH) as detector:
            detector.check(page(text(1), "http://a/"))
        bands = index.store._lists.bands(1)
        assert bands is not None
        bands.clear()
        assert index.problems() == ["list of bands of scope 1: 24 entries missing"]
        index.store.rebuild()
        assert index.problems() == []


def test_shared_bands_are_none_where_bands_find_nothing() -> None:
    sketch = sketch_like(0, 0)
    assert shared_bands(sketch, sketch, MINHASH) == 24
    assert shared_bands(sketch, sketch, DedupConfig()) == 0
    assert shared_bands(EMPTY, EMPTY, MINHASH) == shared_bands(EMPTY, sketch, MINHASH) == 0
