from __future__ import annotations

import pytest

from dedup.plugin import patience
from dedup.plugin.patience import Patience


class Clock:
    """Seconds that only pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def waits(self, patience: Patience, seconds: float, *, in_vain: bool) -> None:
        begin = self.now
        self.now += seconds
        patience.note(begin, in_vain=in_vain)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(patience, "monotonic", clock)
    return clock


def test_short_waits_are_not_counted(clock: Clock) -> None:
    patience = Patience()
    for _ in range(1000):
        clock.waits(patience, 0.49, in_vain=True)
    assert not patience.is_over


@pytest.mark.parametrize(
    ("crawled", "seconds", "pause"),
    [(0.0, 0.5, 49.5), (0.0, 2.0, 198.0), (5000.0, 0.5, 5.0), (5000.0, 2.0, 20.0)],
)
def test_after_a_wait_in_vain_the_index_is_not_asked_for_a_while(
    clock: Clock, crawled: float, seconds: float, pause: float
) -> None:
    """For ten times as long as it waited, and until all waits are a hundredth of the crawl."""
    patience = Patience()
    clock.now += crawled
    clock.waits(patience, seconds, in_vain=True)
    clock.now += pause - 0.01
    assert patience.is_over
    clock.now += 0.02
    assert not patience.is_over


def test_waits_that_are_answered_have_a_limit_too(clock: Clock) -> None:
    patience = Patience()
    clock.waits(patience, 2.0, in_vain=False)
    assert not patience.is_over
    clock.waits(patience, 1.0, in_vain=False)
    assert patience.is_over
    clock.now = 1000.0 + 300.01
    assert not patience.is_over


def test_at_the_end_it_is_asked_once_more(clock: Clock) -> None:
    patience = Patience()
    clock.waits(patience, 2.0, in_vain=True)
    patience.renew()
    assert not patience.is_over
