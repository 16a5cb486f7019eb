"""Live many histories, in a few processes, with a fault or without, and judge them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from dedup.index import Sighting
from dedup.index.known import Known
from dedup.index.ledger import Ledger, Runs
from dedup.index.store import Store
from dedup.model.fingerprint import PageToRecord
from dedup.model.verdict import Reason, Standing, Verdict
from dedup.plugin.settler import PendingRows
from dedup.prints.fingerprinter import DedupConfig
from dedup.reading import fields
from dedup.rule import decide
from tests.oracle.history import History, drawn
from tests.oracle.oracle import Violation, differences, violations, without_dry_runs
from tests.oracle.world import lived, warm
from tests.support.forking import forking


# Faults to be planted, so that it is seen that the law can find them
def _released_counts() -> None:
    """Take what a storage failed to store for delivered."""
    set_fate = PendingRows.set_fate

    def planted(rows: PendingRows, row: int, *, kept: bool) -> None:
        set_fate(rows, row, kept=True)

    _plant(PendingRows, "set_fate", planted)


def _anything_repeats() -> None:
    """Drop every page for the last one that was kept."""
    verdict = Ledger._verdict

    def planted(ledger: Ledger, asked: PageToRecord, config: DedupConfig) -> tuple[Verdict, Known]:
        last = next(ledger._store.rows("p.listed", order="p.id DESC", limit=1), None)
        found, evidence = verdict(ledger, asked, config)
        if asked.sighting.fingerprint.is_empty or not last:
            return found, evidence
        return Verdict(Reason.EXACT_DUPLICATE, kept=False, canonical=last.id), evidence

    _plant(Ledger, "_verdict", planted)


def _any_crawl_stands() -> None:
    """Drop a page for one that only an earlier crawl has met."""
    _plant(Known, "standing", lambda _, seen, **__: Standing(seen.id, seen.run, seen.is_pending))


def _seen_with(changed: Callable[[Sighting], Sighting]) -> Callable[[], None]:
    """Tell the index something else of every page."""

    def plant() -> None:
        find_or_add = Ledger.find_or_add

        @wraps(find_or_add)
        def planted(ledger: Ledger, asked: Sequence[PageToRecord], *more: Any, **how: Any) -> Any:
            asked = [one._replace(sighting=changed(one.sighting)) for one in asked]
            return find_or_add(ledger, asked, *more, **how)

        _plant(Ledger, "find_or_add", planted)

    return plant


def _plant(where: Any, name: str, planted: object) -> None:
    assert hasattr(where, name), f"{where} has no {name}: the fault would plant nothing"
    setattr(where, name, planted)


FAULTS: dict[str, Callable[[], None]] = {
    "released_counts": _released_counts,
    "anything_repeats": _anything_repeats,
    "nothing_repeats": lambda: _plant(Store, "candidates", lambda *_: ()),
    "any_crawl_stands": _any_crawl_stands,
    "edits_are_copies": lambda: _plant(decide._Case, "_is_news", lambda *_: False),
    "revisits_are_copies": lambda: _plant(Known, "again", None),
    "withheld_in_silence": lambda: _plant(Runs, "withhold", lambda *_: None),
    "fields_say_nothing": lambda: _plant(fields, "long_texts", lambda *_: ()),
    "dry_runs_count": _seen_with(lambda seen: replace(seen, is_dry=False)),
    "keys_say_nothing": _seen_with(
        lambda seen: replace(seen, item_key="", kind=seen.kind.removeprefix("keyed "))
    ),
}


# Trying


BATCH = 10  # so many histories are lived in a process before another one is made

T = TypeVar("T")


@dataclass(frozen=True)
class Trial:
    seed: int
    crawls: int
    violations: tuple[Violation, ...]


def tried(histories: Sequence[History], fault: str = "") -> list[list[Violation]]:
    """Live *histories* in forks of this process; return the violations of each."""
    warm()
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
