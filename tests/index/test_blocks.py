from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dedup.algorithms.simhash import MAX_PAIR_DISTANCE, near_pairs
from dedup.index import blocks
from dedup.index.blocks import BLOCKS, CHUNK, BlockIndex
from dedup.model.errors import ConfigError, IndexUnavailable
from tests.budget import examples


def turned(bits: list[int], word: int = 0x0F0F_3C3C_5555_0001) -> int:
    for bit in bits:
        word ^= 1 << bit
    return word


# Random words, clusters around one, and words that differ in few blocks only: zeros and ones too.
words = st.integers(1, 2**64 - 1)
near_words = st.lists(st.integers(0, 63), max_size=13).map(turned)
some_words = words | near_words | st.sampled_from([0, 2**64 - 1, 1, 1 << 63, 0xFFFF, 0xFFFF << 48])


def blocks_of(index: BlockIndex) -> list[list[int]]:
    """Return what each block has, in order."""
    return [sorted(index._of_block(block).tolist()) for block in range(BLOCKS)]


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

    @rule(word=some_words)
    def add(self, word: int) -> None:
        assert self.index.add(word) is (word not in self.known)
        self.known.add(word)

    @rule(many=st.lists(some_words, max_size=30))
    def add_many(self, many: list[int]) -> None:
        added = self.index.add_many(np.array(many, np.uint64))
        assert added == len(set(many) - self.known)
        self.known |= set(many)

    @rule(word=some_words, known=st.booleans(), place=st.integers(0, 1000))
    def remove(self, word: int, known: bool, place: int) -> None:
        if known and self.known:
            word = sorted(self.known)[place % len(self.known)]
        assert self.index.remove(word) is (word in self.known)
        self.known.discard(word)

    @rule(word=some_words, radius=st.integers(0, 12))
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
        assert blocks_of(self.index) == [sorted(self.known)] * BLOCKS

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


@given(st.sets(some_words, max_size=60), st.integers(0, MAX_PAIR_DISTANCE))
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
            assert blocks_of(bulk) == blocks_of(single) == [sorted(set(many.tolist()))] * BLOCKS
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


def test_a_word_is_in_the_set_or_not(tmp_path: Path) -> None:
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(7)
        assert (7 in index, 8 in index, index.path) == (True, False, tmp_path / "words.db")


def test_many_words_under_one_key_fill_several_chunks(tmp_path: Path) -> None:
    stored = [(1 << 63) + number for number in range(3 * CHUNK + 7)]
    with BlockIndex(tmp_path / "words.db") as index:
        with index.transaction():
            for word in stored:
                index.add(word)
        assert index.remove(stored[5])
        assert blocks_of(index) == [stored[:5] + stored[6:]] * BLOCKS
        near = [word for word in stored if (word ^ stored[0]).bit_count() <= 12 and word != stored[5]]
        assert sorted(index.find(stored[0], 12)) == near


def test_adding_in_parts_is_adding_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    many = np.concatenate((rng.integers(1, 2**64, 900, np.uint64), np.arange(1, 700, dtype=np.uint64)))
    many = np.concatenate((many, many[:200]))
    monkeypatch.setattr(blocks, "_PART", 256)
    monkeypatch.setattr(blocks, "_KEYS_A_STATEMENT", 7)
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(1)
        assert index.add_many(many) == len(set(many.tolist())) - 1
        assert blocks_of(index) == [sorted(set(many.tolist()))] * BLOCKS
        assert index.add_many(many) == 0


@pytest.mark.parametrize("radius", range(17))
def test_the_worst_spread_of_errors_is_still_found(tmp_path: Path, radius: int) -> None:
    """Spread the differing bits over the blocks as evenly as can be, from either end."""
    query = 0x5555_5555_5555_5555
    spread = [list(range(shift, shift + 16)) for shift in (48, 32, 16, 0)]
    with BlockIndex(tmp_path / "words.db") as index:
        for order in (spread, spread[::-1]):
            word = turned([order[n % BLOCKS][n // BLOCKS] for n in range(radius)], query)
            index.add(word)
            assert word in index.find(query, radius)
