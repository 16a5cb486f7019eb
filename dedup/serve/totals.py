"""Counts over an index that grows, kept up by reading what came since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from dedup.index import Glance, Index
from dedup.report.columns import MAX_SITES, OTHER_SITES, SiteNames
from dedup.report.counts import Count, fate_of, largest_first
from dedup.values.verdict import UNDONE

# Rows read at once, half a second's worth; a large index is read in several goes.
STEP = 100_000
LARGEST_SITES = 30


@dataclass(slots=True)
class Totals:
    """What the rows up to number *read* come to: over all, by verdict, run and site.

    A verdict never changes, so a row is read once, and once more when it is released or forgotten.
    """

    read: int = 0
    whole: Count = field(default_factory=lambda: Count("all"))
    by_reason: Counter[str] = field(default_factory=Counter)
    by_run: dict[int, Count] = field(default_factory=dict)
    by_site: dict[str, Count] = field(default_factory=dict)
    _sites: SiteNames = field(default_factory=SiteNames)
    _undone: dict[int, str] = field(default_factory=dict)
    _known: tuple[int, int] = (0, 0)

    def read_on(self, index: Index, step: int = STEP) -> None:
        """Count at most *step* rows that came since, and those that were undone since."""
        for glance in islice(index.views.glances(after=self.read), step):
            self.read = glance.id
            self.by_reason[glance.reason] += 1
            fate = fate_of(glance)
            for count in self._counts(glance):
                count.add(fate)
            if glance.outcome in UNDONE:
                self._undone[glance.id] = fate
        self._find_undone(index)

    def _find_undone(self, index: Index) -> None:
        statistics, known = index.views.statistics(), self._known
        self._known = statistics.released, statistics.forgotten
        if self._known == known:
            return
        # Many may be forgotten, so these are looked through only where they became more.
        for outcome in UNDONE if statistics.forgotten != known[1] else UNDONE[:1]:
            for glance in index.views.glances(outcome=outcome):
                if glance.id <= self.read:
                    self._undo(glance)

    def _undo(self, glance: Glance) -> None:
        before, after = (
            self._undone.get(glance.id, "kept" if glance.kept else "dropped"),
            fate_of(glance),
        )
        if before != after:
            self._undone[glance.id] = after
            for count in self._counts(glance):
                count.move(before, after)

    def _counts(self, glance: Glance) -> tuple[Count, Count, Count]:
        site = self._sites.of(glance.url)
        if site not in self.by_site and len(self.by_site) >= MAX_SITES:
            site = OTHER_SITES
        run = self.by_run.setdefault(glance.run, Count(str(glance.run)))
        return self.whole, run, self.by_site.setdefault(site, Count(site))

    def run(self, run: int) -> Count:
        """Return what was read of *run*."""
        return self.by_run.get(run, Count(str(run)))

    @property
    def sites(self) -> list[Count]:
        """The sites with most pages, the largest first."""
        return largest_first(self.by_site.values())[:LARGEST_SITES]
