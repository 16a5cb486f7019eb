"""Every bomb as large as the limit lets it through: bounded time and memory, in a process of its own."""

from __future__ import annotations

import pytest

from benchmarks.bombs import BOMBS, measured
from dedup.reading.markup import MAX_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_little_more_than_its_size(name: str) -> None:
    cost = measured(name)
    assert 0.99 * MAX_BYTES < cost.size <= MAX_BYTES
    # A third more than was measured on a quiet machine; ten times for time, which noise may stretch.
    assert cost.megabytes < 400
    assert cost.seconds < 60
