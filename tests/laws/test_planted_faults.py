"""The laws are worth what they find: every fault planted here must break them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from dedup import DedupConfig, SQLiteIndex
from dedup.index import Index, Row
from dedup.index.rows import IN_FORCE, Pool
from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import Candidates, Outcome
from dedup.rule import match
from tests.laws import test_index as laws
from tests.oracle.scan_store import ScanIndex, ScanStore
from tests.support.budget import fault_budget
from tests.support.crawling import bounds

# Enough to find each of the faults below.
BUDGET = settings(fault_budget(50), stateful_step_count=40)


class CountingReleased(ScanStore):
    """A page whose item was lost counts as one that was delivered, when it comes again."""

    def rows(self, where: str = "TRUE", *values: Any, **how: Any) -> Iterator[Row]:
        if IN_FORCE not in where:
            return super().rows(where, *values, **how)
        where = where.replace(IN_FORCE, f"({IN_FORCE} OR p.outcome = 'released')")
        found = super().rows(where, *values, **how)
        lost, had = Outcome.RELEASED, Outcome.CONFIRMED
        return (replace(row, outcome=had) if row.outcome is lost else row for row in found)


class TakingFarthest(ScanStore):
    """Where there are more candidates than may be looked at, the nearest are left out."""

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        _, *rest = super().candidates(page, pool, config)
        with bounds(MAX_CANDIDATES=1000):
            every, *_ = super().candidates(page, pool, config)
        farthest = every.canonicals[-match.MAX_CANDIDATES :]
        yield Candidates(farthest, len(farthest))
        yield from rest


class LeavingNothingOut(ScanStore):
    """An old version of a page counts as another page."""

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        return super().candidates(page, replace(pool, without=frozenset()), config)


class LosingLists(ScanStore):
    """What was withdrawn is still compared with."""

    def set_listed(self, row: Row, *, listed: bool) -> None:
        if listed:
            super().set_listed(row, listed=listed)


class LeavesNoOrphans(SQLiteIndex):
    """The copies of a page that is withdrawn stay as if it stood."""

    def __init__(self, path: Path, **choices: Any) -> None:
        super().__init__(path, **choices)
        self.ledger._copies_of = lambda row: iter(())  # type: ignore[method-assign]


class OverlooksNew(SQLiteIndex):
    """What is added after the first search is not found."""

    def __init__(self, path: Path, **choices: Any) -> None:
        super().__init__(path, **choices)
        self.store._lists._read_on = lambda: None  # type: ignore[method-assign]


def of(store: type[ScanStore]) -> type[Index]:
    return type(store.__name__, (ScanIndex,), {"__init__": lambda index: Index.__init__(index, store())})


STORES = CountingReleased, TakingFarthest, LeavingNothingOut, LosingLists
FAULTS = [*map(of, STORES), LeavesNoOrphans, OverlooksNew]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_laws_find_a_fault(fault: type[Index]) -> None:
    part: dict[str, Any] = {"oracle" if issubclass(fault, ScanIndex) else "storage": fault, "most": 2}
    machine = type(fault.__name__, (laws.SameAnswers,), part)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=BUDGET)
