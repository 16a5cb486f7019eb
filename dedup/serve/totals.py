"""Counts over an index that grows, kept up by reading what came since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from dedup.index import Glance, Index
from dedup.report.columns import MAX_SITES, OTHER_SITES, site_name
from dedup.values.verdict import UNDONE

# Rows read at once, half a second's worth; a large index is read in several goes.
STEP = 100_000
LARGEST_SITES = 30


@dataclass(slots=True)
class Counts:
    """Pages seen, kept and dropped, as `dedup stats` counts; the others were released or forgotten."""

    seen: int = 0
    kept: int = 0
    copies: int = 0

    @property
    def withdrawn(self) -> int:
        """How many were released or forgotten."""
        return self.seen - self.kept - self.copies

    def add(self, kept: bool, pages: int) -> None:
        """Count *pages* among those that stand, or take them out again."""
        self.kept += pages * kept
        self.copies += pages * (not kept)


@dataclass(slots=True)
class Totals:
    """What the rows up to number *read* come to: over all, by verdict, run and site.

    A verdict never changes, so a row is read once, and once more when it is released or forgotten:
    that is for good.
    """

    read: int = 0
    whole: Counts = field(default_factory=Counts)
    by_reason: Counter[str] = field(default_factory=Counter)
    by_run: dict[int, Counts] = field(default_factory=dict)
    by_site: dict[str, Counts] = field(default_factory=dict)
    _withdrawn: set[int] = field(default_factory=set)
    _known: tuple[int, int] = (0, 0)

    def read_on(self, index: Index, step: int = STEP) -> None:
        """Count at most *step* rows that came since, and take out those withdrawn since."""
        for glance in islice(index.views.glances(after=self.read), step):
            self.read = glance.id
            self.by_reason[glance.reason] += 1
            for counts in self._counts(glance):
                counts.seen += 1
                counts.add(glance.kept, 1)
            if glance.outcome in UNDONE:
                self._withdraw(glance)
        self._find_withdrawn(index)

    def _find_withdrawn(self, index: Index) -> None:
        found, known = index.views.statistics(), self._known
        self._known = found.released, found.forgotten
        if self._known == known:
            return
        # Many may be forgotten, so these are looked through only where they became more.
        for outcome in UNDONE if found.forgotten != known[1] else UNDONE[:1]:
            for glance in index.views.glances(outcome=outcome):
                if glance.id <= self.read:
                    self._withdraw(glance)

    def _withdraw(self, glance: Glance) -> None:
        if glance.id not in self._withdrawn:
            self._withdrawn.add(glance.id)
            for counts in self._counts(glance):
                counts.add(glance.kept, -1)

    def _counts(self, glance: Glance) -> tuple[Counts, Counts, Counts]:
        site = site_name(glance.url)
        if site not in self.by_site and len(self.by_site) >= MAX_SITES:
            site = OTHER_SITES
        run = self.by_run.setdefault(glance.run, Counts())
        return self.whole, run, self.by_site.setdefault(site, Counts())

    def run(self, run: int) -> Counts:
        """Return what was read of *run*."""
        return self.by_run.get(run, Counts())

    @property
    def sites(self) -> list[tuple[str, Counts]]:
        """The sites with most pages, the largest first."""
        largest = sorted(self.by_site.items(), key=lambda site: (-site[1].seen, site[0]))
        return largest[:LARGEST_SITES]
