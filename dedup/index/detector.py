"""A page in, a verdict out: the detector asks an index about pages, and records them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

from dedup.index.index import Index, SQLiteIndex
from dedup.index.known import PageToRecord
from dedup.model.errors import RunEnded
from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.verdict import DRY_RUN, Reason, Run, Verdict
from dedup.prints.fingerprinter import DedupConfig, fingerprint
from dedup.reading.page import Page, pack, sighting_of

logger = logging.getLogger(__name__)

_DEFAULT = DedupConfig()
MOST_BYTES = 50_000_000  # that the texts in an index take, unless all are kept
_LAST = 200  # pages that were kept at last are at hand, should a copy of one of them lose words
_FEW = 1000  # texts are not compressed: that would take longer than to write them


def are_small(config: DedupConfig) -> bool:
    """Return whether texts that are kept by *config* are compressed."""
    return config.store_pages or config.store_first > _FEW


class Texts:
    """Whose texts *index* keeps, by `store_pages` and `store_first` of *config*.

    Those of the first pages are kept in files only: others who share a server have not asked for them.
    """

    def __init__(self, index: Index, config: DedupConfig) -> None:
        self._store = index.store
        is_file = isinstance(index, SQLiteIndex)
        self._first: float = inf if config.store_pages else config.store_first if is_file else 0
        self._left: float = inf if config.store_pages else MOST_BYTES
        self._are_small = are_small(config)
        self._chooses = bool(self._first) and not config.store_pages
        self._last: dict[int, Page] = {}
        if self._chooses:
            ((size,),) = self._store.fetch("SELECT sum(length(page)) FROM stored_pages")
            self._left -= size or 0

    def are_kept(self) -> bool:
        """Return whether the text of the next page is kept; if not, the store is asked no more."""
        if self._first and (self._left <= 0 or self._store.last() >= self._first):
            self._first = 0
        return bool(self._first)

    def kept(self, page: Page | None, stored: bytes = b"") -> bytes:
        """Return what to keep of the next *page*, or what is *stored* of it: b"" for nothing."""
        if not self.are_kept():
            return b""
        stored = pack(page, is_small=self._are_small) if page else stored
        self._left -= len(stored)
        return stored if self._left >= 0 else b""

    def compared(self, page: Page | None, verdict: Verdict) -> None:
        """Keep *page* and the one that it was compared with, if it says something else than that.

        That one is stored, or was kept at last: so what differs in later pages can be told, too.
        """
        row, other = verdict.row, verdict.previous if verdict.kept else verdict.canonical
        if page is None or row is None or not self._chooses or self._first or self._left <= 0:
            return
        before = None if other is None else self._last.get(other)
        if verdict.kept:
            self._last[row] = page
            if len(self._last) > _LAST:
                del self._last[next(iter(self._last))]
        says = verdict.kept or (verdict.reason is Reason.NEAR_DUPLICATE and verdict.nowhere)
        if other is not None and says and (before or self._store.pages([other])):
            for number, one in ((row, page), (other, before)):
                if one and not self._store.pages([number]):
                    stored = pack(one)
                    self._left -= len(stored)
                    if self._left >= 0:
                        self._store.keep_page(number, stored)


class Detector(AbstractContextManager["Detector"]):
    """Tells new pages from copies of those that *index* has seen, by the rules of *config*.

    All its pages belong to one run of *spider*, which begins with the first page recorded and
    ends with `close`; *job*, *action* and *crawl* are those of `dedup.index.Run`; *run* is one that goes
    on.  Raises `IndexMismatch` if the index was built with another recipe.  The index stays open; it
    belongs to the caller.

    >>> from dedup import MemoryIndex
    >>> with Detector(MemoryIndex()) as detector:
    ...     first = detector.check(Page.from_text("The quick brown fox", url="https://a.example/"))
    ...     second = detector.check(Page.from_text("The quick brown fox", url="https://b.example/"))
    >>> first.reason.value, second.reason.value, second.canonical_url
    ('new', 'exact_duplicate', 'https://a.example/')
    """

    def __init__(
        self,
        index: Index,
        config: DedupConfig = _DEFAULT,
        spider: str = "",
        *,
        job: str = "",
        action: str = "drop",
        crawl: str = "",
        run: Run | None = None,
    ) -> None:
        index.prepare(config.exceptions)
        self.index = index
        self.config = config
        self.texts = Texts(index, config)
        self._spider, self._is_dry = spider, action == DRY_RUN
        self._begin = partial(index.runs.begin, spider, job=job, action=action, crawl=crawl)
        self._run = run
        self._holds = False
        self.numbers: dict[int, int] = {}
        self.names: dict[int, int] = {}
        """By which numbers a crawl knows rows that another index recorded before; `numbers` turns it."""

    @property
    def run(self) -> Run:
        """The run that this detector records, begun if it was not yet."""
        if self._run is None:
            self._run = self._begun()
        return self._run

    def _begun(self) -> Run:
        run = self._begin()
        if self._holds:
            self.index.runs.hold(run)
        return run

    def name(self, row: int, name: int) -> None:
        """Note that a crawl knows *row* by another number, its *name*."""
        self.numbers[name], self.names[row] = row, name

    def rows(self, names: Iterable[int]) -> list[int]:
        """Return the rows here that a crawl knows by *names*."""
        return [self.numbers.get(name, name) for name in names]

    def fingerprint(self, page: Page) -> Fingerprint:
        """Return the fingerprint of *page* for this index."""
        return fingerprint(page, self.config)

    def sighting(self, page: Page, *, kind: str = "page") -> Sighting:
        """Return the sighting of *page* in this run and now; *kind* is "page" or "item"."""
        run = self._run.id if self._run else 1 + max([0, *(one.id for one in self.index.runs.all())])
        return sighting_of(
            page,
            self.fingerprint(page),
            kind=kind,
            scope=self.config.scope,
            spider=self._spider,
            run=run,
            time=time.time(),
            is_dry=self._is_dry,
        )

    def judge(self, page: Page, *, kind: str = "page") -> Verdict:
        """Return what `check` would say, and record nothing."""
        return self.index.ledger.judge(self.sighting(page, kind=kind), self.config)

    def check(self, page: Page, *, kind: str = "page") -> Verdict:
        """Judge *page* and record it, confirmed at once."""
        return self.submit(self.sighting(page, kind=kind), page, confirmed=True)

    def submit(
        self, sighting: Sighting, page: Page | None = None, *, confirmed: bool = False, **how: Any
    ) -> Verdict:
        """Judge and record *sighting*, with its *page* if it is stored; see `Ledger.find_or_add`."""
        asked = PageToRecord(sighting, self.texts.kept(page), **how)
        return self.submit_first([asked], confirmed=confirmed)[0]

    def submit_first(self, asked: Sequence[PageToRecord], *, confirmed: bool = False) -> list[Verdict]:
        """Judge and record the first of *asked* in this run; see `Ledger.find_or_add_first`."""
        try:
            return self._submitted(asked, confirmed)
        except RunEnded:
            self._run = self._begun()  # if that fails, a draft goes on with the one that has ended
            logger.warning(
                "The server had not heard of this crawl for too long and has ended its run; it goes on "
                "as run %d. What it was told and not confirmed by then counts as lost, and is delivered "
                "again by the next crawl",
                self._run.id,
            )
            return self._submitted(asked, confirmed)

    def _submitted(self, asked: Sequence[PageToRecord], confirmed: bool) -> list[Verdict]:
        run = self.run.id
        if any(one.sighting.run != run for one in asked):
            asked = [one._replace(sighting=replace(one.sighting, run=run)) for one in asked]
        return self.index.ledger.find_or_add_first(asked, self.config, confirmed=confirmed)

    def visit(self, host: str) -> None:
        """Record that this run is on *host*; see `Runs.visit`."""
        self.index.runs.visit(self.run, self._spider if self.config.scope == "spider" else "", host)

    def hold(self) -> None:
        """Record that feeds hold what this run keeps; see `Runs.hold`."""
        self.index.runs.hold(self.run)
        self._holds = True

    def close(self, ending: str = "finished") -> None:
        """End the run, if there is one; *ending* says how."""
        if self._run is not None:
            self.index.runs.end(self._run, ending)
            self._run = None

    def __exit__(self, exc_type: type[BaseException] | None, *exc: object) -> None:
        how = "interrupted" if exc_type is KeyboardInterrupt else "failed"
        self.close(how if exc_type else "finished")
