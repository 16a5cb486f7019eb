"""What a crawl asks of its index: about one page, which is recorded in the same transaction, or else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from scrapy.http import Response

from dedup.index.index import Detector
from dedup.model.fingerprint import PageToRecord, Sighting
from dedup.model.verdict import Verdict
from dedup.reading.noise import GapSet, SiteLists
from dedup.reading.page import Page

_T = TypeVar("_T")

Ask = Callable[[Detector], _T]  # what is asked of the index, by the detector of a crawl


@dataclass(slots=True, eq=False)
class Question:
    """What is asked of the index about one page; `record` writes it down there."""

    page: Page
    kind: str  # "page" or "item"
    is_restored: bool = False  # it is kept, whatever it repeats
    siblings: set[int] | None = None  # rows of the same response, None if that was asked for otherwise
    response: Response | None = None  # what the page came with
    raw: Page | None = None  # the page before gaps were left out, None where nothing can be left out
    gaps: GapSet = frozenset()  # what was left out of it
    acting: GapSet = frozenset()  # what was known to be noise then
    lists: SiteLists | None = None  # the lists of its site
    of_site: GapSet = frozenset()  # those of them that the page has
    # Made when it is asked.
    sighting: Sighting | None = None
    waits: bool = True  # it is not recorded as a copy of a row that is pending here
    wait_for: frozenset[int] = frozenset()  # the runs that have such rows, see `Ledger.find_or_add`
    tell_fates: Ask[object] = lambda _: None  # the fates of other rows, told in the same transaction
    host: str | None = None  # one that the crawl was not on before
    told_to: Detector | None = None  # who was told all but the page

    def tell_rest(self, at: Detector) -> None:
        """Tell the fates of other rows and the host, once."""
        if self.told_to is not at:
            self.tell_fates(at)
            if self.host is not None:
                at.visit(self.host)
            self.told_to = at

    def to_record(self, at: Detector) -> PageToRecord:
        """Return how the index of *at* is asked to record the page."""
        assert self.sighting is not None
        siblings = None if self.siblings is None else at.rows(self.siblings)
        stored = at.texts.kept(self.raw or self.page)
        return PageToRecord(self.sighting, stored, self.is_restored, siblings, self.wait_for)

    def note(self, verdict: Verdict) -> None:
        """Note the row of the page for those of the same response."""
        if verdict.row is not None and self.siblings is not None:
            self.siblings.add(verdict.row)

    def record(self, at: Detector) -> Verdict:
        """Judge and record the page, in one transaction with the rest; return its verdict."""
        # A file commits all at once; on a server others would wait for the lock.
        with nullcontext() if at.index.store.is_shared else at.index.batch():
            self.tell_rest(at)
            [verdict] = at.submit([self.to_record(at)])
            at.texts.compared(self.raw or self.page, verdict)
        self.note(verdict)
        return verdict

    __call__ = record  # an `Ask`, too
