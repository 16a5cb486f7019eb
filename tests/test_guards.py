"""What no test may do fails loudly, each time; so do tests that catch the error or leave it to a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawling import ROOT
from tests.guards import unguarded

# What is slow here says once more, in larger crawls, what others say.
pytestmark = pytest.mark.nightly

PLUGIN = """
from tests import guards
from tests.guards import nothing_is_tried
guards.guard()
"""
BAD = {
    "looks up a name": "import socket; socket.getaddrinfo('example.com', 80)",
    "looks up a name by its old function": "import socket; socket.gethostbyname('example.com')",
    "connects elsewhere": "import socket; socket.create_connection(('192.0.2.1', 80), timeout=0.1)",
    "sends elsewhere": "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
    "has a process look up": "import subprocess, sys; subprocess.run([sys.executable, '-c',"
    " 'import socket; socket.getaddrinfo(\"example.com\", 80)'], stderr=subprocess.DEVNULL)",
    "draws": "import random; random.choice('ab')",
    "draws from a generator of its own": "import random; random.Random().random()",
    "draws after an empty seed": "import random; random.seed()",
    "draws bytes": "import os; os.urandom(2)",
    "draws a secret": "import secrets; secrets.token_hex()",
    "draws a name": "import uuid; uuid.uuid4()",
    "draws numbers": "import numpy; numpy.random.default_rng().random()",
    "draws numbers of old": "import numpy; numpy.random.rand(2)",
}
GOOD = {
    "draws what it seeded": "import random; random.Random(1).random()",
    "draws numbers it seeded": "import numpy; numpy.random.default_rng(1).random()",
    "stays here": "import socket; socket.getaddrinfo('localhost', 80)",
    "has a temporary folder": "import tempfile; tempfile.TemporaryDirectory().cleanup()",
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


@pytest.mark.slow
@pytest.mark.parametrize("what", BAD)
def test_what_no_test_may_do_fails_though_it_was_caught(what: str, tmp_path: Path) -> None:
    done = outcome_of(tmp_path, BAD[what])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "no test may do this" in done.stdout
    assert "1 passed, 1 error" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("what", GOOD)
def test_what_tests_may_do_is_not_refused(what: str, tmp_path: Path) -> None:
    done = outcome_of(tmp_path, GOOD[what])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_worst_is_refused_in_each_run(tmp_path: Path) -> None:
    both = f"{BAD['draws']}\n    except BaseException:\n        {BAD['has a process look up']}"
    done = outcome_of(tmp_path, both)
    assert done.returncode == 1
    assert all(told in done.stdout for told in ("random.choice", "example.com"))


def test_this_process_is_guarded() -> None:
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT / "tests" / "isolated")
