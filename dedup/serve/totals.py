"""Counts over an index that grows, kept up by reading what came since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from dedup.index import Index
from dedup.report.columns import site_of

# Rows read at once, half a second's worth; a large index is read in several goes.
STEP = 100_000
LARGEST_SITES = 30


@dataclass(slots=True)
class Counts:
    """Pages seen, and copies among them."""

    seen: int = 0
    copies: int = 0

    def add(self, kept: bool) -> None:
        """Count one page."""
        self.seen += 1
        self.copies += not kept


@dataclass(slots=True)
class Totals:
    """What the rows up to number *read* come to: over all, by verdict, run and site.

    A verdict never changes, so a row is read once.
    """

    read: int = 0
    whole: Counts = field(default_factory=Counts)
    by_reason: Counter[str] = field(default_factory=Counter)
    by_run: dict[int, Counts] = field(default_factory=dict)
    by_site: dict[str, Counts] = field(default_factory=dict)

    def read_on(self, index: Index, step: int = STEP) -> None:
        """Count at most *step* rows that came since."""
        for glance in islice(index.glances(after=self.read), step):
            self.whole.add(glance.kept)
            self.by_reason[glance.reason] += 1
            self.by_run.setdefault(glance.run, Counts()).add(glance.kept)
            self.by_site.setdefault(site_of(glance.url), Counts()).add(glance.kept)
            self.read = glance.id

    def run(self, run: int) -> Counts:
        """Return what was read of *run*."""
        return self.by_run.get(run, Counts())

    @property
    def sites(self) -> list[tuple[str, Counts]]:
        """The sites with most pages, the largest first."""
        largest = sorted(self.by_site.items(), key=lambda site: (-site[1].seen, site[0]))
        return largest[:LARGEST_SITES]
