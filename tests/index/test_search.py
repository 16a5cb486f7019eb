"""The search and the comparisons give what their definitions say, and refuse what is damaged."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dedup.index import search
from dedup.index.search import _LAYOUT, BlockIndex, Simhashes, _block_of
from dedup.model.errors import ConfigError, IndexUnavailable
from dedup.native import _pages
from tests.support.budget import examples

few = st.lists(st.sampled_from([0, 0, 1, 2, 255]), min_size=256, max_size=256)
sketches = st.binary(min_size=256, max_size=256) | few.map(bytes)


def slow_similarity(a: bytes, b: bytes) -> float:
    equal = sum(one == other != 0 for one, other in zip(a, b, strict=True))
    filled = sum(bool(one | other) for one, other in zip(a, b, strict=True))
    return max(0.0, (equal / max(filled, 1) - 1 / 255) / (1 - 1 / 255))


@given(sketches, sketches)
def test_the_similarity_of_sketches(a: bytes, b: bytes) -> None:
    mixed = a[:200] + b[200:]
    for one, other in ((a, b), (a, mixed), (mixed, b), (a, a)):
        assert _pages.similarity(one, other) == slow_similarity(one, other)


def test_sketches_of_two_sizes_and_what_is_no_sketch() -> None:
    with pytest.raises(ValueError, match="256 and 64"):
        _pages.similarity(bytes(256), bytes(64))
    for wrong in (None, "a", 3, [1]):
        with pytest.raises(TypeError):
            _pages.similarity(bytes(256), wrong)  # type: ignore[arg-type]


samples = st.sets(st.integers(0, 40) | st.integers(2**32 - 9, 2**32 - 1), max_size=30).map(
    lambda found: np.array(sorted(found), "<u4").tobytes()
)


def slow_lost(page: bytes, kept: bytes, most: int) -> tuple[int, int]:
    one, other = (np.frombuffer(sample, "<u4").tolist() for sample in (page, kept))
    ends = [hashes[-1] for hashes in (one, other) if len(hashes) == most]
    known = [hash_ for hash_ in one if hash_ <= min(ends, default=2**32)]
    return len(known), len(set(known) - set(other))


@given(samples, samples, st.integers(1, 30))
def test_the_hashes_that_are_lost(page: bytes, kept: bytes, most: int) -> None:
    for other in (kept, page, b""):
        assert _pages.lost_hashes(page, other, most) == slow_lost(page, other, most)


def test_what_is_no_sample_is_refused() -> None:
    for one, other in ((bytes(5), bytes(8)), (bytes(8), bytes(5))):
        with pytest.raises(ValueError, match="whole hash"):
            _pages.lost_hashes(one, other, 9)
    for wrong in (None, "a", 3, bytearray(4)):
        with pytest.raises(TypeError):
            _pages.lost_hashes(bytes(4), wrong, 9)  # type: ignore[arg-type]


def block() -> list[Any]:
    return list(_block_of(np.arange(1, 9, dtype=np.uint64) << np.uint64(50), *_LAYOUT[0]))


def test_blocks_that_lead_outside_of_their_simhashes_are_refused() -> None:
    sound = block()
    assert _pages.Blocks([tuple(sound)]).near(np.zeros(0, np.uint64), 0, 1 << 50, 0)
    stored, starts, *_ = sound
    turned = starts[::-1].copy()
    changes = ([stored[:-1], stored[:0]], [starts[:-1], starts + 1, -starts, turned], [64, -1], [17, 11])
    for place, wrong in ((place, one) for place, some in enumerate(changes) for one in some):
        with pytest.raises(ValueError, match=r"block|keys"):
            _pages.Blocks([(*sound[:place], wrong, *sound[place + 1 :])])
    with pytest.raises(ValueError, match="too many"):
        _pages.Blocks([tuple(sound)] * 9)
    with pytest.raises(ValueError, match="shorter"):
        _pages.Blocks([]).near(np.zeros(3, np.uint64), 4, 1, 3)


def turned(bits: list[int], word: int = 0x0F0F_3C3C_5555_0001) -> int:
    for bit in bits:
        word ^= 1 << bit
    return word


# Random words, clusters around one, and words that differ in few blocks only: zeros and ones too.
words = st.integers(1, 2**64 - 1)
near_words = st.lists(st.integers(0, 63), max_size=13).map(turned)
some_words = words | near_words | st.sampled_from([0, 2**64 - 1, 1, 1 << 63, 0xFFFF, 0xFFFF << 48])


class LikeASet(RuleBasedStateMachine):
    """A set of integers and a linear scan, against the file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "words.db"
        self.known: set[int] = set()

    @initialize()
    def create(self) -> None:
        self.index = BlockIndex(self.path)

    @rule(word=some_words)
    def add(self, word: int) -> None:
        assert self.index.add(word) is (word not in self.known)
        self.known.add(word)

    @rule(many=st.lists(some_words, max_size=30))
    def add_many(self, many: list[int]) -> None:
        assert self.index.add_many(np.array(many, np.uint64)) == len(set(many) - self.known)
        self.known |= set(many)

    @rule(word=some_words, known=st.booleans(), place=st.integers(0, 1000))
    def remove(self, word: int, known: bool, place: int) -> None:
        if known and self.known:
            word = sorted(self.known)[place % len(self.known)]
        assert self.index.remove(word) is (word in self.known)
        self.known.discard(word)

    @rule(word=some_words, radius=st.integers(0, 12))
    def find(self, word: int, radius: int) -> None:
        assert (word in self.index) is (word in self.known)
        near = [other for other in self.known if (other ^ word).bit_count() <= radius]
        assert sorted(self.index.find(word, radius)) == sorted(near)

    @rule(word=some_words, most=st.integers(0, 64))
    def nearest(self, word: int, most: int) -> None:
        near = min((((word ^ other).bit_count(), other) for other in self.known), default=(65, 0))
        assert self.index.nearest(word, most) == (near[::-1] if near[0] <= most else None)

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = BlockIndex(self.path)

    @invariant()
    def sound(self) -> None:
        assert len(self.index) == len(self.known)
        assert sorted(self.index._all().tolist()) == sorted(self.known)

    def teardown(self) -> None:
        self.index.close()
        self.folder.cleanup()


TestLikeASet = LikeASet.TestCase
TestLikeASet.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


def test_a_failed_transaction_changes_nothing(tmp_path: Path) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(1)
        with pytest.raises(RuntimeError), index.transaction():
            index.add(2)
            raise RuntimeError
        assert list(index.find(1, 12)) == [1]


@pytest.mark.parametrize(
    "call",
    [
        *(lambda index, word=word: index.add(word) for word in (-1, 2**64)),
        *(lambda index, word=word: index.remove(word) for word in (-1, 2**64)),
        *(lambda index, word=word: index.find(word, 3) for word in (-1, 2**64)),
        *(lambda index, most=most: index.find(1, most) for most in (-1, 17)),
        *(lambda index, most=most: index.nearest(1, most) for most in (-1, 65)),
    ],
)
def test_what_is_out_of_range_is_refused(tmp_path: Path, call: Callable[[BlockIndex], object]) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        with pytest.raises(ConfigError, match=r"must be 0 to|max_distance"):
            call(index)


def test_an_index_of_pages_is_no_set_of_words(tmp_path: Path) -> None:
    from dedup import SQLiteIndex

    SQLiteIndex(tmp_path / "pages.db").close()
    with pytest.raises(IndexUnavailable, match="another program"):
        BlockIndex(tmp_path / "pages.db")


def test_finds_what_a_linear_scan_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_LEAST_IN_TAIL", 1)
    monkeypatch.setattr(search, "MOST_IN_TAIL", 4)

    @given(st.sets(words | near_words, max_size=40), st.lists(words | near_words, max_size=60), words)
    def law(stored: set[int], added: list[int], query: int) -> None:
        simhashes = Simhashes(np.array(sorted(stored), np.uint64))
        for simhash in added:
            simhashes.add(simhash)
            stored.add(simhash)
        for radius in (*range(17), 40, 64):
            near = sorted(one for one in stored if (one ^ query).bit_count() <= radius)
            assert simhashes.near(query, radius).tolist() == near

    law()


@pytest.mark.parametrize("few", [0, 3, 1000])
def test_two_processes_know_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(search, "_FEW", few)
    monkeypatch.setattr(search, "_IN_ROW", 2)
    path, rng, known = tmp_path / "words.db", Random(few), set[int]()
    with BlockIndex(path) as one, BlockIndex(path) as other:
        for _ in range(60):
            index, some = rng.choice([one, other]), rng.sample(range(20), 3)
            if rng.random() < 0.5:
                assert index.add_many(np.array(some, np.uint64)) == len({*some} - known)
                known |= {*some}
            elif rng.random() < 0.5:
                assert index.add(some[0]) is (some[0] not in known)
                known.add(some[0])
            else:
                assert index.remove(some[0]) is (some[0] in known)
                known.discard(some[0])
            if rng.random() < 0.3:
                assert sorted(one.find(0, 8)) == sorted(other.find(0, 8)) == sorted(known)
            assert len(rng.choice([one, other])) == len(known)


@pytest.mark.parametrize("radius", range(17))
def test_the_worst_spread_of_errors_is_still_found(tmp_path: Path, radius: int) -> None:
    """Spread the differing bits over the blocks as evenly as can be, from either end."""
    query = 0x5555_5555_5555_5555
    spread = [list(range(shift, shift + width)) for shift, width in _LAYOUT]
    with BlockIndex(tmp_path / "words.db") as index:
        for order in (spread, spread[::-1]):
            word = turned([order[n % 5][n // 5] for n in range(radius)], query)
            index.add(word)
            assert word in index.find(query, radius)
