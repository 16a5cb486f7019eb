"""What was there before a crawl is left out of garbage collection while it runs, and only then."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from dedup.plugin import garbage


@pytest.fixture(autouse=True)
def nothing_frozen() -> Iterator[None]:
    gc.unfreeze()
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_it_is_left_out_from_the_first_crawl_to_the_last() -> None:
    garbage.begin()
    assert (before := gc.get_freeze_count()) > 0
    garbage.begin()
    garbage.end()
    assert gc.get_freeze_count() == before
    garbage.end()
    assert gc.get_freeze_count() == 0


def test_what_somebody_else_has_frozen_stays_so() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    garbage.begin()
    garbage.end()
    assert gc.get_freeze_count() == before


def test_garbage_of_an_earlier_crawl_is_collected_before() -> None:
    class Cycle:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            gone.append(1)

    gone: list[int] = []
    Cycle()
    garbage.begin()
    garbage.end()
    assert gone == [1]


def test_more_objects_are_collected_at_once_while_a_crawl_runs() -> None:
    gc.set_threshold(700, 10, 10)
    garbage.begin()
    garbage.begin()
    garbage.end()
    assert gc.get_threshold() == garbage.THRESHOLDS
    garbage.end()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (50_000, 20, 20)])
def test_thresholds_that_somebody_has_chosen_stay(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    garbage.begin()
    assert gc.get_threshold() == chosen
    garbage.end()
    assert gc.get_threshold() == chosen
