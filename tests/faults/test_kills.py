"""A crawl that is killed again and again, and gone on with, loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kills import kill_and_resume


@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_crawl_killed_anywhere_and_resumed_stores_every_text(tmp_path: Path, times: int) -> None:
    toll = kill_and_resume(tmp_path, times, seed=times)
    assert toll.kills > times // 2
    assert (toll.lost, toll.orphans) == (0, 0)
    assert toll.twice <= toll.released
