"""The search and the comparisons give what their definitions say, and refuse what is damaged."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.index.blocks import _LAYOUT, _block_of
from dedup.native import _pages

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
    stored = np.arange(1, 9, dtype=np.uint64) << np.uint64(50)
    return list(_block_of(stored, *_LAYOUT[0]))


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
