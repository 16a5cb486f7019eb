"""A merge: the rows of another index, judged into this one in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice, takewhile
from typing import Any

from dedup.index import Index, Row, Run
from dedup.index.rows import numbers
from dedup.model.errors import DedupError, IndexMismatch
from dedup.model.verdict import Outcome
from dedup.prints.config import DedupConfig

# Rows of one transaction; a crawl that uses the index waits no longer than that takes.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Merged:
    """How many *rows* the other index has, how many were *known* here, how many others are *kept*."""

    rows: int
    known: int
    kept: int

    def __str__(self) -> str:
        new = self.rows - self.known
        return (
            f"{self.rows:,} rows, {self.known:,} known already, {new:,} new ({self.kept:,} of them kept)"
        )


def merge(
    other: Index, index: Index, config: DedupConfig, progress: Callable[[int, int], None] | None = None
) -> Merged:
    """Record the rows of *other* in *index*, those that it does not have yet.

    Each page is judged by the thresholds of *config* as if it was crawled now, in new runs, some
    hundred pages in a transaction; a merge that was interrupted goes on when it is started again.
    What is pending there counts as lost, what was dropped becomes nobody's canonical here either:
    where it repeats nothing, it is an orphan.  Texts stay there.

    Raises `IndexMismatch` where the fingerprints were made by different recipes.
    """
    recipe, here = other.recipe(), index.recipe()
    if not recipe:
        raise DedupError(f"there is nothing in {other.name} to merge")
    for field in sorted(recipe.keys() | here.keys()) if here else ():
        if here.get(field) != recipe.get(field):
            raise IndexMismatch(
                f"{other.name} has fingerprints made with {field}={recipe.get(field, 'nothing')}, "
                f"{index.name} with {field}={here.get(field, 'nothing')}: they cannot be compared"
            )
    index.require_recipe(recipe)
    return _Merge(other, index, config).run(progress)


class _Merge:
    def __init__(self, other: Index, index: Index, config: DedupConfig) -> None:
        self._other = other
        self._index = index
        self._config = config
        self._runs: dict[int, int] = {}
        # Which rows of these runs the index has, by identity, of those up to the last one read.
        self._numbers: dict[bytes, int] = {}
        self._last = 0
        # The number here of each row there; row 0 is none.
        self._rows = {0: 0}

    def run(self, progress: Callable[[int, int], None] | None) -> Merged:
        last = self._other.store.last()
        self._take_runs()
        self._read_on()  # in no transaction: crawls write while this reads
        known = kept = 0
        rows: Iterator[Row] = takewhile(lambda row: row.id <= last, self._other.rows())
        while batch := list(islice(rows, _BATCH)):
            with self._index.batch():
                self._read_on()  # what another merge has added meanwhile
                for row in batch:
                    here = self._translated(row)
                    number = self._numbers.get(_identity(here))
                    if number is None:
                        number, is_kept = self._recorded(here)
                        kept += is_kept
                    else:
                        known += 1
                    self._rows[row.id] = number
                self._last = self._index.store.last()
            if progress:
                progress(batch[-1].id, last)
        return Merged(len(self._rows) - 1, known, kept)

    def _take_runs(self) -> None:
        """Find or make the runs of the other index; here they have ended, and are of no crawl."""

        def identity(run: Run) -> tuple[str, str, float]:
            return run.spider, run.job, run.started

        with self._index.batch():
            runs = {identity(run): run.id for run in self._index.runs.all()}
            for run in self._other.runs.all():
                here = replace(run, crawl="", began=0)
                if run.ended is None:
                    here = replace(here, ended=time.time(), ending="unfinished")
                self._runs[run.id] = runs.get(identity(run)) or self._index.runs.import_run(here).id

    def _read_on(self) -> None:
        of_them = f"p.id > ? AND p.run IN {numbers(self._runs.values())}"
        for row in self._index.store.rows(of_them, self._last):
            self._numbers[_identity(row)] = self._last = row.id

    def _translated(self, row: Row) -> Row:
        """Return *row* with the numbers of this index."""
        names = ("canonical", "previous", "replaces", "represents")
        here: dict[str, Any] = {
            name: self._rows[getattr(row.verdict, name) or 0] or None for name in names
        }
        sighting = replace(row.sighting, run=self._runs[row.sighting.run])
        return replace(row, sighting=sighting, verdict=replace(row.verdict, **here))

    def _recorded(self, row: Row) -> tuple[int, bool]:
        """Return the number of the row here, and whether its page is kept."""
        if not row.outcome.stands:
            outcome = Outcome.RELEASED if row.outcome is Outcome.PENDING else row.outcome
            return self._index.ledger.import_row(replace(row, outcome=outcome, listed=False)), False
        if row.verdict.kept:
            verdict = self._index.ledger.find_or_add(row.sighting, self._config)
        else:
            verdict = self._index.ledger.add_copy(row, self._config)
        assert verdict.row is not None
        return verdict.row, verdict.kept


def _identity(row: Row) -> bytes:
    """Return what distinguishes a row from all others of its run."""
    seen, page = row.sighting, row.sighting.fingerprint
    facts = repr((seen.run, seen.kind, seen.scope, seen.url, seen.time, page.content_simhash)).encode()
    return blake2b(facts + page.body_digest + page.token_digest, digest_size=16).digest()
