"""Each bench that needs no data and no program runs, on few pages; bombs cost little."""

import pytest

from benchmarks.bombs import BOMBS, measured
from dedup.reading.markup import MAX_BYTES
from tests.support.crawling import python

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("million --pages 200", "dropped, wrongly: 0"),
        ("report --rows 400", "report of 400 rows"),
        ("reloads --pages 8 --kind views --one-title", "| views | one title | shuffled | 16 |"),
        ("reloads --pages 8 --records --still --kind staff", "| staff | own titles | shuffled | 2 |"),
        ("size", "lines of dedup"),
    ],
)
def test_it_prints_its_figures(command: str, told: str) -> None:
    name, *options = command.split()
    done = python("-m", f"benchmarks.{name}", *options)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_as_large_as_the_limit_lets_it_through_costs_little_more(name: str) -> None:
    cost = measured(name)
    assert 0.99 * MAX_BYTES < cost.size <= MAX_BYTES
    # A third more than was measured on a quiet machine; ten times for time, which noise may stretch.
    assert cost.megabytes < 400
    assert cost.seconds < 60
