"""The laws are worth what they find: every fault planted here must break them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from dedup import DedupConfig, MemoryIndex, SQLiteIndex
from dedup.index import Index, Row, Sighting
from dedup.values.run import Crawl
from dedup.values.verdict import Candidates, Outcome, Version
from tests.dedup.index import test_laws as laws

# What the laws themselves get, the same each time and without a search for the smallest example.
BUDGET = settings(
    laws.TestSameAnswers.settings,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


class CountsReleased(MemoryIndex):
    """A page whose item was lost counts as one that was delivered, when it comes again."""

    def _versions(self, sighting: Sighting, crawl: Crawl) -> Sequence[Version]:
        rows = self._all
        self._all = [
            replace(row, outcome=Outcome.CONFIRMED) if row.outcome is Outcome.RELEASED else row
            for row in rows
        ]
        try:
            return super()._versions(sighting, crawl)
        finally:
            self._all = rows


class TakesFarthest(MemoryIndex):
    """Where there are more candidates than may be looked at, the nearest are left out."""

    def _candidates(self, sighting: Sighting, crawl: Crawl, config: DedupConfig) -> list[Candidates]:
        _, *rest = super()._candidates(sighting, crawl, config)
        every, *_ = super()._candidates(sighting, crawl, replace(config, max_candidates=1000))
        farthest = every.canonicals[-config.max_candidates :]
        return [Candidates(farthest, len(farthest)), *rest]


class LeavesNoOrphans(SQLiteIndex):
    """The copies of a page that is withdrawn stay as if it stood."""

    def _duplicates(self, canonical: int) -> list[Row]:
        return []


class ForgetsSharedWords(SQLiteIndex):
    """A word leaves its list with the first of its pages."""

    def _is_shared(self, *found: object) -> bool:
        return False


class ComparesWithOwnVersions(MemoryIndex):
    """An old version of a page counts as another page."""

    def _candidates(self, sighting: Sighting, crawl: Crawl, config: DedupConfig) -> list[Candidates]:
        return super()._candidates(replace(sighting, url_key=""), crawl, config)


FAULTS = [CountsReleased, TakesFarthest, LeavesNoOrphans, ForgetsSharedWords, ComparesWithOwnVersions]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_laws_find_a_fault(fault: type[Index]) -> None:
    part = {"oracle" if issubclass(fault, MemoryIndex) else "storage": fault}
    machine = type(fault.__name__, (laws.SameAnswers,), part)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=BUDGET)
