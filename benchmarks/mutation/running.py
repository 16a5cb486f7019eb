"""Tests of one mutant at a time, in a copy of the repository, so that the repository is never changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import click

from benchmarks.mutation.operators import Mutant, Source

ROOT = Path(__file__).parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "out")
# A mutant that takes so many times as long as no mutant, and so many seconds, hangs.
TIMES, SECONDS = 5, 30
# What pytest ends with when all tests passed.
PASSED = 0
# What it ends with when another process has ended it, which says nothing of the mutant: they run again.
ENDED, ATTEMPTS = (-signal.SIGTERM, -signal.SIGKILL), 3


class BrokenTestsError(click.ClickException):
    """The tests say nothing: they fail where nothing was changed, there are none, or they were ended."""


@dataclass(frozen=True, slots=True)
class Fate:
    """Whether a mutant was killed, by what test (or "timeout"), and how many seconds that took."""

    is_killed: bool
    by: str
    seconds: float


@dataclass
class Bench:
    """A copy of the repository at *root* in *folder*, in which one module at a time is changed."""

    root: Path
    folder: Path
    _usual: dict[str, float] = field(default_factory=dict)
    _ticks: count[int] = field(default_factory=lambda: count(int(time.time())))

    def __post_init__(self) -> None:
        self._copy = self.folder / "copy"
        shutil.copytree(self.root, self._copy, ignore=LEFT_OUT)

    def prepare(self, tests: Sequence[str]) -> None:
        """Run all these tests without a mutant, to know how long each takes; raises `BrokenTestsError`."""
        times = self.folder / "times.xml"
        fate = self._tested([f"--junitxml={times}", *tests], limit=None)
        if fate.is_killed:
            raise BrokenTestsError(f"without a mutant: {fate.by}")
        for case in ElementTree.parse(times).iter("testcase"):
            name = case.get("classname", "").replace(".", "/")
            self._usual[name] = self._usual.get(name, 0.0) + float(case.get("time", 0.0))

    def fate(self, mutant: Mutant, tests: Sequence[str]) -> Fate:
        """Return what becomes of *mutant* in these tests, which `prepare` has seen."""
        original = (self._copy / mutant.module).read_bytes()
        self._write(mutant.module, Source(original).edited(mutant.edit))
        try:
            return self._tested(
                [mutant.module, *tests], limit=SECONDS + TIMES * self._usual_seconds(tests)
            )
        finally:
            self._write(mutant.module, original)

    def _usual_seconds(self, tests: Sequence[str]) -> float:
        starts = tuple(test.removesuffix(".py") for test in tests)
        return sum(seconds for name, seconds in self._usual.items() if name.startswith(starts))

    def _write(self, module: str, data: bytes) -> None:
        path = self._copy / module
        path.write_bytes(data)
        # Python takes a compiled module for that of a source of the same second and size.
        tick = next(self._ticks)
        os.utime(path, (tick, tick))

    def _tested(self, arguments: Sequence[str], limit: float | None) -> Fate:
        log = self.folder / "log.txt"
        for _ in range(ATTEMPTS):
            begin = time.perf_counter()
            code = self._run(arguments, limit, log)
            seconds = time.perf_counter() - begin
            if code == PASSED:
                return Fate(False, "", seconds)
            if code not in ENDED:
                by = "timeout" if code is None else _failed(log.read_text("utf-8", "replace"))
                return Fate(True, by, seconds)
        raise BrokenTestsError("the tests were ended by another process, again and again")

    def _run(self, arguments: Sequence[str], limit: float | None, log: Path) -> int | None:
        """Return the exit code of pytest, None if it had to be stopped."""
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "not slow"]
        options.append(f"--basetemp={self.folder / 'tmp'}")
        environment = {
            **os.environ,
            "PYTEST_PLUGINS": "benchmarks.mutation.hasty",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join([str(self._copy), str(ROOT)]),
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *arguments],
                cwd=self._copy,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what still runs of the tests: they are a session of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _failed(log: str) -> str:
    """Return the first test that failed; where none began, a module could not be imported."""
    for line in log.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return "import"
