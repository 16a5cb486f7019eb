"""Tests that share what takes long to make are run by one worker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GROUPS
from tests.crawling import ROOT

TESTS = """
import os, time, pytest

@pytest.mark.parametrize("number", range(8))
def test_it(number):
    time.sleep(0.05)
    with open("workers", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def workers(folder: Path, name: str) -> set[str]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TESTS)
    (folder / "conftest.py").write_text("from tests.conftest import pytest_xdist_make_scheduler")
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", name]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return set((folder / "workers").read_text().split())


@pytest.mark.slow
def test_a_group_has_one_worker_and_others_have_all(tmp_path: Path) -> None:
    assert len(workers(tmp_path / "a", "tests/archives/test_job.py")) == 1
    assert len(workers(tmp_path / "b", "tests/archives/test_other.py")) == 2


def test_what_is_in_a_group_is_there() -> None:
    for name in GROUPS.pattern.replace("\\", "").split("|"):
        path, _, test = name.partition("::")
        assert test.split("w+")[0] in (ROOT / path).read_text("utf-8")
