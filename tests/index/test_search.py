"""The compiled search gives what Python gives, or refuses what Python refuses, whatever it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import native
from dedup.algorithms.sketch import similarity
from dedup.index.blocks import _LAYOUT, _blocks_of
from dedup.index.files import Damaged
from dedup.index.postings import near_in
from dedup.prints.samples import lost_hashes
from tests.index.test_postings import near_words, words

compiled = pytest.importorskip("dedup.native._search", reason="it was not built")
pytestmark = pytest.mark.skipif(native.search() is None, reason=native.why_not("_search"))

simhashes = st.lists(words | near_words | st.just(0), max_size=20)
chunks = simhashes.map(lambda found: np.array(found, "<u8").tobytes())
damaged = st.binary(max_size=40) | st.text(max_size=9) | st.none() | st.integers() | st.floats()
sketches = st.binary(min_size=256, max_size=256) | st.lists(
    st.sampled_from([0, 0, 1, 2, 255]), min_size=256, max_size=256
).map(bytes)


def answer(rows: list[tuple[Any]], simhash: int, radius: int) -> list[int] | str:
    try:
        found: list[int] = near_in(iter(rows), simhash, radius).tolist()
    except Damaged:
        return "damaged"
    return found


@given(
    st.lists(st.tuples(chunks | chunks | chunks | damaged), max_size=8),
    words | near_words,
    st.integers(0, 64),
)
def test_what_is_near_in_chunks_sound_or_not(rows: list[tuple[Any]], simhash: int, radius: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "search", lambda: compiled)
        found = answer(rows, simhash, radius)
        patch.setattr(native, "search", lambda: None)
        assert answer(rows, simhash, radius) == found


def test_no_simhash_is_left_out_where_there_are_many() -> None:
    stored = np.random.default_rng(1).integers(1, 2**64, 50_000, np.uint64)
    rows = [(part.tobytes(),) for part in np.array_split(stored, 300)]
    for radius in (0, 20, 32, 64):
        near = np.unique(stored[np.bitwise_count(stored ^ stored[7]) <= radius])
        packed = compiled.near_in_chunks(iter(rows), int(stored[7]), radius)
        assert np.array_equal(np.frombuffer(packed, np.uint64), near)


@given(sketches, sketches)
def test_the_similarity_of_sketches(a: bytes, b: bytes) -> None:
    mixed = a[:200] + b[200:]
    for one, other in ((a, b), (a, mixed), (mixed, b), (a, a)):
        assert compiled.similarity(one, other) == similarity(one, other)
    assert compiled.similarities(a, [b, mixed, a]) == [similarity(a, one) for one in (b, mixed, a)]


def test_sketches_of_two_sizes_and_what_is_no_sketch() -> None:
    with pytest.raises(ValueError, match="256 and 64"):
        compiled.similarity(bytes(256), bytes(64))
    for wrong in (None, "a", 3, [1]):
        with pytest.raises(TypeError):
            compiled.similarities(bytes(256), [wrong])


samples = st.sets(st.integers(0, 40) | st.integers(2**32 - 9, 2**32 - 1), max_size=30).map(
    lambda found: np.array(sorted(found), "<u4").tobytes()
)


@given(samples, samples, st.integers(1, 30))
def test_the_hashes_that_are_lost(page: bytes, kept: bytes, most: int) -> None:
    for other in (kept, page, b""):
        assert compiled.lost_hashes(page, other, most) == lost_hashes(page, other, most)


def test_what_is_no_sample_is_refused() -> None:
    for one, other in ((bytes(5), bytes(8)), (bytes(8), bytes(5))):
        with pytest.raises(ValueError, match="whole hash"):
            compiled.lost_hashes(one, other, 9)
    for wrong in (None, "a", 3, bytearray(4)):
        with pytest.raises(TypeError):
            compiled.lost_hashes(bytes(4), wrong, 9)


def block() -> list[Any]:
    stored = np.arange(1, 9, dtype=np.uint64) << np.uint64(50)
    (first, *_) = _blocks_of(stored)
    return [*first, *_LAYOUT[0]]


def test_blocks_that_lead_outside_of_their_simhashes_are_refused() -> None:
    sound = block()
    assert compiled.Blocks([tuple(sound)]).near(np.zeros(0, np.uint64), 0, 1 << 50, 0)
    for place, wrong in (
        (0, sound[0][:-1]),
        (0, sound[0][:0]),
        (1, sound[1][:-1]),
        (1, sound[1] + 1),
        (1, -sound[1]),
        (1, sound[1][::-1].copy()),
        (2, 64),
        (2, -1),
        (3, 17),
        (3, 11),
    ):
        with pytest.raises(ValueError, match=r"block|keys"):
            compiled.Blocks([(*sound[:place], wrong, *sound[place + 1 :])])
    with pytest.raises(ValueError, match="too many"):
        compiled.Blocks([tuple(sound)] * 9)
    with pytest.raises(ValueError, match="shorter"):
        compiled.Blocks([]).near(np.zeros(3, np.uint64), 4, 1, 3)
