from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dedup.algorithms.simhash import MAX_PAIR_DISTANCE, near_pairs
from dedup.index.blocks import BlockIndex
from dedup.model.errors import ConfigError, IndexUnavailable
from tests.budget import examples


def cluster(bits: list[int]) -> int:
    word = 0x0F0F_3C3C_5555_0001
    for bit in bits:
        word ^= 1 << bit
    return word


# Random words, clusters around one, and words that differ in few blocks only: zeros and ones too.
words = (
    st.integers(0, 2**64 - 1)
    | st.lists(st.integers(0, 63), max_size=13).map(cluster)
    | st.sampled_from([0, 2**64 - 1, 1, 1 << 63, 0xFFFF, 0xFFFF << 48])
)


class LikeASet(RuleBasedStateMachine):
    """A set of integers and a linear scan, against the file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "words.db"
        self.known: set[int] = set()

    @initialize()
    def create(self) -> None:
        self.index = BlockIndex(self.path)

    @rule(word=words)
    def add(self, word: int) -> None:
        assert self.index.add(word) is (word not in self.known)
        self.known.add(word)

    @rule(many=st.lists(words, max_size=30))
    def add_many(self, many: list[int]) -> None:
        added = self.index.add_many(np.array(many, np.uint64))
        assert added == len(set(many) - self.known)
        self.known |= set(many)

    @rule(word=words, known=st.booleans(), place=st.integers(0, 1000))
    def remove(self, word: int, known: bool, place: int) -> None:
        if known and self.known:
            word = sorted(self.known)[place % len(self.known)]
        assert self.index.remove(word) is (word in self.known)
        self.known.discard(word)

    @rule(word=words, radius=st.integers(0, 12))
    def find(self, word: int, radius: int) -> None:
        near = [other for other in self.known if (other ^ word).bit_count() <= radius]
        assert sorted(self.index.find(word, radius)) == sorted(near)

    @rule(radius=st.integers(0, 3))
    def pairs(self, radius: int) -> None:
        assert sorted(self.index.near_pairs(radius)) == slow_pairs(self.known, radius)

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = BlockIndex(self.path)

    @invariant()
    def sound(self) -> None:
        assert len(self.index) == len(self.known)
        assert self.index.problems() == []

    def teardown(self) -> None:
        self.index.close()
        self.folder.cleanup()


TestLikeASet = LikeASet.TestCase
TestLikeASet.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


def slow_pairs(known: set[int], radius: int) -> list[tuple[int, int]]:
    ordered = sorted(known)
    return [
        (a, b) for n, a in enumerate(ordered) for b in ordered[n + 1 :] if (a ^ b).bit_count() <= radius
    ]


@given(st.sets(words, max_size=60), st.integers(0, MAX_PAIR_DISTANCE))
def test_pairs_are_all_pairs_once(known: set[int], radius: int) -> None:
    array = np.array(sorted(known), np.uint64)
    assert sorted(near_pairs(array, radius)) == slow_pairs(known, radius)


def test_bulk_and_single_adding_agree(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    many = rng.integers(0, 2**64, 12_000, np.uint64)
    many[:8_000] >>= np.uint64(40)  # crowded keys, many chunks
    with BlockIndex(tmp_path / "bulk.db") as bulk:
        assert bulk.add_many(many[:5_000]) == len(set(many[:5_000].tolist()))
        bulk.add_many(many[:300])
        bulk.add_many(many)
        with BlockIndex(tmp_path / "single.db") as single:
            with single.transaction():
                for word in many.tolist():
                    single.add(word)
            assert len(bulk) == len(single) == len(set(many.tolist()))
            assert bulk.problems() == single.problems() == []
            for word in many[::3000].tolist():
                assert sorted(bulk.find(word, 8)) == sorted(single.find(word, 8))


def test_a_failed_transaction_changes_nothing(tmp_path: Path) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(1)
        with pytest.raises(RuntimeError), index.transaction():
            index.add(2)
            raise RuntimeError
        assert list(index.find(1, 12)) == [1]


@pytest.mark.parametrize("word", [-1, 2**64])
def test_what_is_no_word_is_refused(tmp_path: Path, word: int) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        for call in (index.add, index.remove, lambda word: index.find(word, 3)):
            with pytest.raises(ConfigError, match="must be 0 to"):
                call(word)


@pytest.mark.parametrize("radius", [-1, 17])
def test_distances_out_of_range_are_refused(tmp_path: Path, radius: int) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        with pytest.raises(ConfigError, match="max_distance"):
            index.find(1, radius)
        with pytest.raises(ConfigError, match="max_distance"):
            list(index.near_pairs(radius))


def test_an_index_of_pages_is_no_set_of_words(tmp_path: Path) -> None:
    from dedup import SQLiteIndex

    SQLiteIndex(tmp_path / "pages.db").close()
    with pytest.raises(IndexUnavailable, match="another program"):
        BlockIndex(tmp_path / "pages.db")


@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_block_that_lacks_something_is_named(tmp_path: Path, block: int) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        index.add_many(np.arange(100, dtype=np.uint64))
        first, last = index._block_range(block)
    with closing(sqlite3.connect(tmp_path / "words.db")) as connection, connection:
        connection.execute("DELETE FROM postings WHERE id BETWEEN ? AND ?", (first, last))
    with BlockIndex(tmp_path / "words.db") as index:
        assert index.problems() == [f"block {block}: 100 simhashes missing"]


def test_a_word_is_in_the_set_or_not(tmp_path: Path) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(7)
        assert (7 in index, 8 in index, index.path) == (True, False, tmp_path / "words.db")
