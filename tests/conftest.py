from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests import guards
from tests.forking import start
from tests.guards import nothing_is_tried  # noqa: F401 - a fixture

guards.guard()

# Loading jieba takes longer than hypothesis lets a first example take.
_COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# The same few examples in each run.
settings.register_profile("quick", _COMMON, derandomize=True, database=None, max_examples=20)
# `make search`: as many as the tests ask for, others in each run.
settings.register_profile("search", _COMMON, max_examples=100)
settings.register_profile("long", _COMMON, max_examples=1000)
settings.load_profile("quick")


def pytest_sessionstart() -> None:
    start()


@pytest.fixture(params=["compiled", "pure"])
def either_search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search with the compiled code, and without it."""
    from dedup import native

    if request.param == "pure":
        monkeypatch.setattr(native, "search", lambda: None)
    elif native.search() is None:
        pytest.skip(native.why_not("_search"))
