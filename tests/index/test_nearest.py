"""`nearest` gives what a linear scan gives, however far it has to look."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, Fingerprint
from dedup.index import Index
from dedup.index.blocks import BlockIndex
from dedup.model.errors import ConfigError
from dedup.model.fingerprint import BINS
from tests.budget import examples
from tests.sightings import find_or_add

WORD = 0x0F1E2D3C4B5A6978


def flipped(word: int, bits: list[int]) -> int:
    for bit in bits:
        word ^= 1 << bit
    return word


words = st.integers(1, 2**64 - 1)
# Hashes at every distance from one: a query meets ties, near words and far ones.
around = st.lists(st.integers(0, 63), max_size=64).map(lambda bits: flipped(WORD, bits) or 1)


@settings(max_examples=examples(30))
@given(stored=st.sets(words | around, max_size=20), query=words | around, most=st.integers(0, 64))
def test_a_set_of_words_gives_the_smallest_of_the_nearest(
    tmp_path_factory: pytest.TempPathFactory, stored: set[int], query: int, most: int
) -> None:
    with BlockIndex(tmp_path_factory.mktemp("words") / "words.db") as index:
        for word in stored:
            index.add(word)
        expected = min(((word ^ query).bit_count(), word) for word in stored) if stored else None
        assert index.nearest(query) == (expected and expected[::-1])
        near = expected if expected and expected[0] <= most else None
        assert index.nearest(query, most) == (near and near[::-1])


@pytest.mark.parametrize("distance", [0, 1, 4, 5, 9, 10, 14, 15, 16, 40, 64])
def test_the_limit_is_inclusive(tmp_path: Path, distance: int) -> None:
    word = flipped(WORD, list(range(distance)))
    with BlockIndex(tmp_path / "words.db") as index:
        index.add(word)
        assert index.nearest(WORD, distance) == (word, distance)
        assert not distance or index.nearest(WORD, distance - 1) is None


def seen(content: int) -> Fingerprint:
    digest = content.to_bytes(16, "big")
    return Fingerprint(content, 0, bytes(BINS), digest, digest, 3)


@pytest.mark.parametrize("max_distance", [-1, 65])
def test_other_distances_are_refused(tmp_path: Path, max_distance: int) -> None:
    with BlockIndex(tmp_path / "words.db") as words:
        with pytest.raises(ConfigError, match=rf"^max_distance \({max_distance}\) must be 0 to 64"):
            words.nearest(1, max_distance)


def test_near_gives_the_nearest(index: Index) -> None:
    config = DedupConfig(max_distance=0)
    run = index.runs.begin()
    for bits in ([0, 1, 2], [5], [9], [], [0, 1, 2, 3]):
        find_or_add(index, seen(flipped(WORD, bits)), run=run, config=config)
    index.runs.end(run, "finished")
    for limit, rows in ((9, [1, 2, 3, 4]), (2, [2, 4]), (1, [4])):
        assert [row.id for row in index.near(seen(WORD), max_distance=3, limit=limit)] == rows
