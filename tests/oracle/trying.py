"""Live many histories, in a few processes, and judge them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from tests.oracle.faults import FAULTS
from tests.oracle.history import History, drawn
from tests.oracle.oracle import Violation, differences, violations, without_dry_runs
from tests.oracle.world import lived, warm
from tests.support.forking import forking

# So many histories are lived in a process before another one is made.
BATCH = 10

T = TypeVar("T")


@dataclass(frozen=True)
class Trial:
    """What came of the history of a *seed*."""

    seed: int
    crawls: int
    violations: tuple[Violation, ...]


def tried(histories: Sequence[History], fault: str = "") -> list[list[Violation]]:
    """Live *histories* in forks of this process; return the violations of each."""
    _warm()
    plain = [without_dry_runs(history) for history in histories]
    dry = [number for number, history in enumerate(histories) if _is_comparable(history)]
    plant = FAULTS[fault] if fault else None
    with TemporaryDirectory() as folder:
        told = lived([*histories, *(plain[number][0] for number in dry)], Path(folder), plant)
    found = [violations(history, left) for history, left in zip(histories, told, strict=False)]
    for number, other in zip(dry, told[len(histories) :], strict=True):
        found[number] += differences(told[number], other, plain[number][1])
    return found


def tried_seeds(seeds: Sequence[int], *, fault: str = "") -> Iterator[Trial]:
    """Try the histories of *seeds* in two processes, in their order."""
    batches = [seeds[first : first + BATCH] for first in range(0, len(seeds), BATCH)]
    pool = ProcessPoolExecutor(2, mp_context=forking())
    try:
        for trials in pool.map(_tried_batch, batches, [fault] * len(batches)):
            yield from trials
    finally:
        pool.shutdown(cancel_futures=True)


def in_a_process(function: Callable[..., T], *arguments: object) -> T:
    """Call *function* in a process without a reactor."""
    with ProcessPoolExecutor(1, mp_context=forking()) as pool:
        return pool.submit(function, *arguments).result()


def _tried_batch(seeds: Sequence[int], fault: str) -> list[Trial]:
    histories = [drawn(seed) for seed in seeds]
    return [
        Trial(seed, len(history.steps), tuple(found))
        for seed, history, found in zip(seeds, histories, tried(histories, fault), strict=True)
    ]


def _is_comparable(history: History) -> bool:
    """Whether real crawls see the same without the dry runs: no job is both, and all is in one order."""
    dry = {step.job for step in history.steps if step.is_dry}
    shared = any(step.job in dry for step in history.steps if step.job and not step.is_dry)
    in_order = history.at_a_time == 1 and not any(step.is_beside for step in history.steps)
    return bool(dry) and not shared and in_order


@cache
def _warm() -> None:
    warm()
