from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.index import blocks as module
from dedup.index.blocks import BLOCKS, CHUNK, PostingList, joined, key_masks, keys_of
from dedup.index.schema import POSTINGS
from dedup.model.errors import ConfigError

words = st.integers(1, 2**64 - 1)
near_words = st.lists(st.integers(0, 63), max_size=12).map(lambda bits: 0x0123456789ABCDEF ^ _mask(bits))


def _mask(bits: list[int]) -> int:
    mask = 0
    for bit in bits:
        mask ^= 1 << bit
    return mask


def posting_list(field: str = "content", scope: int = 1) -> PostingList:
    connection = sqlite3.connect(":memory:")
    connection.execute(POSTINGS)
    return PostingList(connection, field, scope)


def filled(words: Iterable[int], *, is_tail_short: bool) -> PostingList:
    """Return the list of *words*; a short tail is put into the blocks whenever three share a chunk."""
    postings = posting_list()
    statement = module._APPEND
    if is_tail_short:
        statement = statement.replace(f"< {8 * CHUNK}", "< 16")
        assert statement != module._APPEND
    with patch.object(module, "_APPEND", statement):
        for word in words:
            postings.insert(word)
    return postings


@given(st.sets(words | near_words, min_size=1, max_size=60), near_words | words, st.booleans())
def test_finds_what_a_linear_scan_finds(stored: set[int], query: int, is_tail_short: bool) -> None:
    stored.discard(0)
    postings = filled(stored, is_tail_short=is_tail_short)
    for radius in range(13):
        expected = {word for word in stored if (word ^ query).bit_count() <= radius}
        assert set(postings.near(query, radius).tolist()) == expected
    assert list(postings.faults(np.array(sorted(stored), np.uint64))) == []
    assert len(postings) == len(stored)


@given(st.lists(near_words, max_size=30), st.lists(near_words, max_size=30), st.booleans())
def test_removed_words_are_gone(added: list[int], removed: list[int], is_tail_short: bool) -> None:
    expected = {word for word in added if word}
    postings = filled(expected, is_tail_short=is_tail_short)
    for word in removed:
        assert (word in postings) is (word in expected)
        assert postings.remove(word) is (word in expected)
        expected.discard(word)
    assert set(postings.hashes().tolist()) == expected
    for block in range(BLOCKS):
        assert sorted(postings.block_simhashes(block).tolist()) == sorted(expected)


def test_many_words_under_one_key_fill_several_chunks() -> None:
    postings = posting_list()
    stored = [(1 << 63) + number for number in range(3 * CHUNK + 7)]
    for word in stored:
        postings.insert(word)
    assert postings.hashes().tolist() == stored
    assert len(postings.near(stored[0], 12).tolist()) == sum(
        (word ^ stored[0]).bit_count() <= 12 for word in stored
    )
    assert postings.remove(stored[5])
    assert stored[5] not in postings
    assert stored[6] in postings


def test_a_full_tail_is_put_into_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(4)
    monkeypatch.setattr("dedup.index.blocks._TAIL_CHUNKS", 1)
    # Half of them share the keys of all blocks but one.
    words = {rng.randrange(1, 2**61) << 3 for _ in range(CHUNK)}
    words |= {0x5555_5555_0000_0000 | number << 3 for number in range(CHUNK + 1)}
    postings = posting_list()
    for number, word in enumerate(words, 1):
        postings.insert(word)
        in_tail = joined(postings._chunks_at([postings._tail]))
        assert len(in_tail) == (number - 1) % CHUNK + 1
    assert list(postings.faults(np.array(sorted(words), np.uint64))) == []
    assert len(postings) == postings.add_many(np.array([8, *words], np.uint64)) + 2 * CHUNK
    assert set(postings.near(0x5555_5555_0000_0008, 5).tolist()) == {
        word for word in words if (word ^ 0x5555_5555_0000_0008).bit_count() <= 5
    }


def test_a_tail_is_nearly_full_when_it_is_put_into_the_blocks_even_if_simhashes_end_alike() -> None:
    postings, rng = posting_list(), Random(1)
    words = {0x0123456789ABCD00 ^ rng.getrandbits(40) << 12 for _ in range(8 * CHUNK)}
    for word in words:
        before = len(joined(postings._chunks_at([postings._tail])))
        postings.insert(word)
        if len(joined(postings._chunks_at([postings._tail]))) < before:
            break
    assert before > 0.8 * 8 * CHUNK


def test_lists_of_fields_and_scopes_are_apart() -> None:
    one = posting_list()
    lists = [
        PostingList(one._connection, field, scope)
        for field in ("content", "structure")
        for scope in (1, 2, 20_000_000)
    ]
    for number, postings in enumerate(lists, 1):
        postings.insert(number)
    assert [postings.hashes().tolist() for postings in lists] == [[n] for n in range(1, 7)]


def test_more_scopes_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(ConfigError, match="scope number"):
        posting_list(scope=2**26)


@given(words)
def test_the_keys_of_all_blocks_are_the_simhash(word: int) -> None:
    keys = [int(keys_of(np.array([word], np.uint64), block)[0]) for block in range(BLOCKS)]
    assert sum(key << 16 * (BLOCKS - 1 - block) for block, key in enumerate(keys)) == word


def test_adding_in_parts_is_adding_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    many = np.concatenate((rng.integers(1, 2**64, 900, np.uint64), np.arange(1, 700, dtype=np.uint64)))
    many = np.concatenate((many, many[:200]))
    at_once, in_parts = posting_list(), posting_list()
    assert at_once.add_many(many) == len(set(many.tolist()))
    monkeypatch.setattr(module, "_PART", 256)
    monkeypatch.setattr(module, "_KEYS_A_STATEMENT", 7)
    in_parts.insert(1)
    assert in_parts.add_many(many) == len(set(many.tolist())) - 1
    assert list(in_parts.faults(at_once.hashes())) == []
    assert in_parts.add_many(many) == 0


@pytest.mark.parametrize(("width", "radius"), [(4, 0), (5, 2), (8, 3), (3, -1)])
def test_masks_are_all_numbers_of_few_bits(width: int, radius: int) -> None:
    expected = [number for number in range(1 << width) if number.bit_count() <= radius]
    assert sorted(key_masks(width, radius)) == expected


@pytest.mark.parametrize("radius", range(13))
def test_the_worst_spread_of_errors_is_still_found(radius: int) -> None:
    """Spread the differing bits over the blocks as evenly as can be, from either end."""
    query = 0x5555_5555_5555_5555
    postings = posting_list()
    spread = [list(range(shift, shift + 16)) for shift in (48, 32, 16, 0)]
    for order in (spread, spread[::-1]):
        bits = [order[n % BLOCKS][n // BLOCKS] for n in range(radius)]
        word = query ^ _mask(bits)
        if word not in postings:
            postings.insert(word)
        assert word in postings.near(query, radius).tolist()
