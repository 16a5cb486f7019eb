"""Every bomb as large as the limit lets it through: bounded time and memory, in a process of its own."""

from __future__ import annotations

import pytest

from benchmarks.bombs import BOMBS, MEGABYTE, SENT, measured
from dedup.model.limits import MAX_BYTES

# A third more than was measured on a quiet machine; ten times for time, which noise may stretch.
MOST_MEGABYTES = 400
MOST_SECONDS = 60


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_little_more_than_its_size(name: str) -> None:
    cost = measured(name, MAX_BYTES)
    assert 0.99 * MAX_BYTES < cost.size <= MAX_BYTES
    assert cost.megabytes < MOST_MEGABYTES
    assert cost.seconds < MOST_SECONDS


@pytest.mark.parametrize("name", ["words", "attributes of one tag"])
def test_a_bomb_over_the_limit_is_not_read(name: str) -> None:
    cost = measured(name, SENT[name] * MEGABYTE)
    assert (cost.excess, cost.tags, cost.tokens) == ("bytes", 0, 0)
    assert cost.megabytes < 20
