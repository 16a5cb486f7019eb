import atexit
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from crawler.example import served
from tests.support import guards, postgres
from tests.support.forking import start
from tests.support.guards import nothing_is_tried  # noqa: F401 - a fixture

guards.guard()
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="dedup-cache-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)
# What a shell runs in the background ignores Ctrl-C, and so would all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Loading jieba takes longer than hypothesis lets a first example take.
_COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# The same few examples in each run.
settings.register_profile("quick", _COMMON, derandomize=True, database=None, max_examples=20)
# `make search`: as many as the tests ask for, others in each run.
settings.register_profile("search", _COMMON, max_examples=100)
settings.register_profile("long", _COMMON, max_examples=1000)
settings.load_profile("quick")


# Tests that share what takes long to make (a crawl), or a port: one worker has all of a group.
# Not by `xdist_group`: what xdist 3.8 makes of that pytest 9.2 does not see.
GROUPS = re.compile("tests/documentation/test_examples.py::test_a_document|tests/index/test_clients.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    if config.option.markexpr == "not slow":  # nobody shares anything, and any worker may have any test
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            group = GROUPS.match(nodeid)
            return group[0] if group else nodeid

    return Scheduling(config, log)


def pytest_sessionstart() -> None:
    start()


def pytest_unconfigure() -> None:
    guards.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test has its index."""
    return tmp_path / "pages.db"


@pytest.fixture
def own_server() -> Iterator[postgres.Server]:
    """A PostgreSQL server that the test may stop and start."""
    with postgres.own() as server:
        yield server


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the example site."""
    with served() as url:
        yield url
