"""A clock that goes backwards changes no verdict: the order of rows and runs is that of their numbers."""

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from dedup import Detector, SQLiteIndex, Verdict
from dedup.cli import main
from tests.support.pages import edited, page, text

CLOCKS: dict[str, Callable[[int], float]] = {
    "backwards": lambda tick: 1e9 - 3600 * tick,
    "standing": lambda tick: 1e9,
    "jumping": lambda tick: 1e9 + (-1) ** tick * 1e8,
}


def life(path: Path) -> list[Verdict]:
    """Judge originals, copies, versions and repeated visits in three runs of one job and one other."""
    found: list[Verdict] = []
    for turn, job in enumerate(("", "job", "job", "")):
        with SQLiteIndex(path) as index:
            detector = Detector(index, job=job)
            for number in range(8):
                content = edited(number, turn) if number % 3 else text(number)
                found.append(detector.check(page(content, f"http://a/{number}")))
                found.append(detector.check(page(edited(number, 2), f"http://copy/{number}")))
            detector.close("shutdown" if job else "finished")
    return found


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
def test_verdicts_are_those_of_a_clock_that_goes_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Callable[[int], float]
) -> None:
    expected = life(tmp_path / "forward.db")
    path, ticks = tmp_path / "pages.db", count()
    monkeypatch.setattr(time, "time", lambda: clock(next(ticks)))
    assert life(path) == expected
    assert len(set(expected)) > 20
    with SQLiteIndex(path) as index:
        assert index.problems() == []
        assert [run.ending for run in index.runs.all()] == ["finished", "shutdown", "finished"]
    for command in (["report"], ["restore", "--list", "dropped"], ["check"]):
        assert CliRunner().invoke(main, [*command, str(path)]).exit_code == 0
