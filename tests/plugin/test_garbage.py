"""What was there before a crawl is left out of garbage collection while it runs, and only then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from copy import copy

import pytest

from dedup.plugin import memory


@pytest.fixture(autouse=True)
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gc.unfreeze()
    monkeypatch.setattr(memory, "_state", copy(memory._state))
    yield
    gc.unfreeze()


def is_frozen(before: int) -> bool:
    """Tell whether what was frozen still is: of so many objects a few may have gone."""
    return gc.get_freeze_count() > 0.9 * before > 0


def test_it_is_left_out_from_the_first_crawl_to_the_last() -> None:
    memory.begin()
    before = gc.get_freeze_count()
    memory.begin()
    memory.end()
    assert is_frozen(before)
    memory.end()
    assert gc.get_freeze_count() == 0


def test_what_somebody_else_has_frozen_stays_so() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    memory.begin()
    memory.end()
    assert is_frozen(before)
