"""No test may look up a name or connect to another machine, nor may a process that it starts."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.isolated.sitecustomize import TRIES, guard_network

_ISOLATED = str(Path(__file__).parent / "isolated")


def guard() -> None:
    """Guard this process, and those that it will start."""
    handle, path = tempfile.mkstemp(prefix="dedup-tries-")
    os.close(handle)
    os.environ[TRIES] = path
    # There every Python that starts finds its `sitecustomize`.
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [folder for folder in before if folder not in ("", _ISOLATED)]
    os.environ["PYTHONPATH"] = os.pathsep.join([_ISOLATED, *others])
    guard_network()


def end() -> None:
    Path(os.environ[TRIES]).unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def nothing_is_tried() -> Iterator[None]:
    """Fail a test that has tried what no test may, here or in a process that it has started."""
    yield
    path = Path(os.environ[TRIES])
    if path.stat().st_size:
        found = path.read_text("utf-8")
        path.write_text("")
        pytest.fail(f"no test may do this:\n{found}", pytrace=False)
