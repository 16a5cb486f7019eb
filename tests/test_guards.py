"""What no test may do fails loudly: to reach another machine, even where the error is caught."""

import os
from pathlib import Path

from tests.support.crawling import ROOT, python

CONFTEST = """
from tests.support import guards
from tests.support.guards import nothing_is_tried
guards.guard()
"""
TEST = """
import subprocess, sys
def test_it():
    code = 'import socket; socket.getaddrinfo("example.com", 80)'
    subprocess.run([sys.executable, '-c', code], stderr=subprocess.DEVNULL)
"""


def test_a_process_that_looks_up_a_name_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", *[str(tmp_path)] * 2)
    done = python(*command, cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "example.com" in done.stdout


def test_this_process_is_guarded() -> None:
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT / "tests" / "support" / "isolated")
