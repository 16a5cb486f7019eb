"""What no test may do fails loudly, each time; so do tests that catch the error or leave it to a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.crawling import ROOT
from tests.guards import unguarded

PLUGIN = """
from tests import guards
from tests.guards import nothing_is_tried
guards.guard()
"""
BAD = {
    "has a process look up": "import subprocess, sys; subprocess.run([sys.executable, '-c',"
    " 'import socket; socket.getaddrinfo(\"example.com\", 80)'], stderr=subprocess.DEVNULL)",
    "draws": "import random; random.choice('ab')",
}


def outcome_of(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run a test with that *body*, which catches what it raises, in a process of its own."""
    (folder / "conftest.py").write_text(PLUGIN)
    (folder / "test_it.py").write_text(
        f"def test_it():\n    try:\n        {body}\n    except BaseException:\n        pass\n"
    )
    environment = unguarded() | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    return subprocess.run(
        [*command, str(folder)], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_worst_is_refused_in_each_run(tmp_path: Path) -> None:
    both = f"{BAD['draws']}\n    except BaseException:\n        {BAD['has a process look up']}"
    done = outcome_of(tmp_path, both)
    assert done.returncode == 1
    assert all(told in done.stdout for told in ("random.choice", "example.com"))


def test_this_process_is_guarded() -> None:
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT / "tests" / "isolated")
