from __future__ import annotations

from hypothesis import settings

from tests.forking import start

# Loading jieba takes longer than hypothesis lets a first example take.
settings.register_profile("dedup", deadline=None, print_blob=True)
settings.load_profile("dedup")


def pytest_sessionstart() -> None:
    start()
