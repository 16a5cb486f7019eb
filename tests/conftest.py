import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

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

collect_ignore = ["support/preloaded.py"]  # it has no tests, and imports much


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("dist", "no") == "no":  # or its workers do
        start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread what takes longest over all workers: each begins with a part of the list."""
    longest = [item for item in items if item.name.startswith("test_a_document_holds")]
    others = [item for item in items if item not in longest]
    for number, item in enumerate(longest):
        others.insert(number * len(items) // len(longest), item)
    items[:] = others


def pytest_unconfigure() -> None:
    guards.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pages.db"


@pytest.fixture
def own_server() -> Iterator[postgres.Server]:
    """A PostgreSQL server that the test may stop and start."""
    with postgres.own() as server:
        yield server


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served() as url:
        yield url
