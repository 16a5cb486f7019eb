from __future__ import annotations

import pytest
from hypothesis import settings

from tests.forking import start

# Loading jieba takes longer than hypothesis lets a first example take.
settings.register_profile("dedup", deadline=None, print_blob=True)
settings.load_profile("dedup")


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
