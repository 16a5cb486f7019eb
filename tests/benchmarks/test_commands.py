"""Each bench that needs no data and no program runs, on few pages; bombs cost little."""

import os
import subprocess
import sys
from multiprocessing import get_context
from typing import Any

import pytest
from click import ClickException

from benchmarks.bombs import BOMBS, measured
from benchmarks.child import ROOT
from benchmarks.postgres import at_once, processor_time
from dedup.reading.markup import MAX_BYTES

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
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert told in done.stdout


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_as_large_as_the_limit_lets_it_through_costs_little_more(name: str) -> None:
    cost = measured(name)
    assert 0.99 * MAX_BYTES < cost.size <= MAX_BYTES
    # A third more than was measured on a quiet machine; ten times for time, which noise may stretch.
    assert cost.megabytes < 400
    assert cost.seconds < 60


@pytest.mark.parametrize("is_killed", [False, True])
def test_processes_of_which_one_fails_end_though_others_wait_for_it(*, is_killed: bool) -> None:
    def client(number: int, barrier: Any) -> None:
        if number == 1 and is_killed:
            os._exit(1)
        assert number != 1
        barrier.wait()

    barrier = get_context("fork").Barrier(3)
    with pytest.raises(ClickException, match="has failed"):
        at_once(client, [(number, barrier) for number in range(3)])


def test_a_process_that_has_ended_has_taken_no_more_time() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert processor_time(ended.pid) == 0.0
