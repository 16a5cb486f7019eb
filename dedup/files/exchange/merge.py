"""An import: an empty index gets what was exported as it is, one with pages judges it again."""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice

from dedup.files.exchange.files import Exported, Progress
from dedup.index import Index, Row, Run
from dedup.index.stores.base import Query
from dedup.index.url_rules import UrlRules
from dedup.recipes.config import DedupConfig
from dedup.values.errors import IndexMismatch
from dedup.values.verdict import Outcome

# Rows of one transaction; a crawl that uses the index waits no longer than that takes.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Imported:
    """How many *rows* an export has, how many were *known* to the index, how many others are *kept*."""

    rows: int
    known: int
    kept: int

    def __str__(self) -> str:
        new = self.rows - self.known
        return (
            f"{self.rows:,} rows, {self.known:,} known already, {new:,} new ({self.kept:,} of them kept)"
        )


def check_recipes(index: Index, exports: Sequence[Exported]) -> None:
    """Raise `IndexMismatch` unless the fingerprints of *exports* and *index* can be compared."""
    name, here = index.name, index.recipe()
    for export in exports:
        there = export.header.recipe
        if not here:
            name, here = str(export.path), there
        for field in sorted(here.keys() | there.keys()):
            if here.get(field) != there.get(field):
                raise IndexMismatch(
                    f"{export.path} has fingerprints made with {field}={there.get(field, 'nothing')}, "
                    f"{name} with {field}={here.get(field, 'nothing')}: they cannot be compared"
                )


def import_export(
    index: Index, export: Exported, config: DedupConfig, progress: Progress | None = None
) -> Imported:
    """Record the rows of *export* in *index*, those that it does not have yet.

    An index without pages and runs becomes equal to the one that was exported, all at once or not at
    all; what was still pending there counts as lost.  In any other index each page is judged by the
    thresholds of *config* as if it was crawled now, in new runs, some hundred pages in a transaction;
    an import that was interrupted goes on when it is started again.  A page that was dropped becomes
    nobody's canonical here either: where it repeats nothing, it is an orphan.

    Raises `IndexMismatch` for fingerprints of another recipe.
    """
    check_recipes(index, (export,))
    index.require_recipe(export.header.recipe)
    index.store.prepare(config)
    with index.batch():
        if not index.runs() and not index.store.last():
            return _restored(index, export, progress)
    return _Merge(index, export, config).run(progress)


def _restored(index: Index, export: Exported, progress: Progress | None) -> Imported:
    kept = 0
    if export.header.parser:
        index.note_parser(export.header.parser)
    for run in export.runs:
        index.book.import_run(_ended(run))
    for row in export.rows():
        settled = _settled(row)
        index.ledger.import_row(settled)
        kept += settled.verdict.kept and settled.outcome.stands
        if progress:
            progress(row.id, export.header.rows)
    runs = {run.id: run.id for run in export.runs}
    _take_rules(index, export, runs, range(export.header.rows + 1))
    return Imported(export.header.rows, 0, kept)


def _take_rules(index: Index, export: Exported, runs: Mapping[int, int], rows: Sequence[int]) -> None:
    UrlRules(index.store).restored(export.header.url_rules, runs, rows)


class _Merge:
    """One export on its way into an index that has pages."""

    def __init__(self, index: Index, export: Exported, config: DedupConfig) -> None:
        self._index = index
        self._export = export
        self._config = config
        self._runs: dict[int, int] = {}
        # Which rows of these runs the index has, by identity, of those up to the last one read.
        self._numbers: dict[bytes, int] = {}
        self._last = 0
        # The number here of each row of the export; row 0 is none.
        self._rows = array("q", [0])

    def run(self, progress: Progress | None) -> Imported:
        self._take_runs()
        self._read_on()  # in no transaction: crawls write while this reads
        known = kept = 0
        rows = self._export.rows()
        while batch := list(islice(rows, _BATCH)):
            with self._index.batch():
                self._read_on()  # what another import of this file has added meanwhile
                for row in batch:
                    here = self._translated(row)
                    number = self._numbers.get(_identity(here))
                    if number is None:
                        number, is_kept = self._recorded(here)
                        kept += is_kept
                    else:
                        known += 1
                    self._rows.append(number)
                self._last = self._index.store.last()
            if progress:
                progress(batch[-1].id, self._export.header.rows)
        _take_rules(self._index, self._export, self._runs, self._rows)
        return Imported(self._export.header.rows, known, kept)

    def _take_runs(self) -> None:
        """Find or make the runs of the export."""
        with self._index.batch():
            runs = {_run_identity(run): run.id for run in self._index.runs()}
            for run in self._export.runs:
                here = runs.get(_run_identity(run)) or self._index.book.import_run(_ended(run)).id
                self._runs[run.id] = here

    def _read_on(self) -> None:
        of_them = Query(after=self._last, runs=frozenset(self._runs.values()))
        for row in self._index.store.rows(of_them):
            self._numbers[_identity(row)] = self._last = row.id

    def _translated(self, row: Row) -> Row:
        """Return *row* with the numbers of this index."""
        there = row.verdict
        verdict = replace(
            there,
            canonical=self._rows[there.canonical or 0] or None,
            previous=self._rows[there.previous or 0] or None,
            replaces=self._rows[there.replaces or 0] or None,
            represents=self._rows[there.represents or 0] or None,
        )
        sighting = replace(row.sighting, run=self._runs[row.sighting.run])
        return replace(row, sighting=sighting, verdict=verdict)

    def _recorded(self, row: Row) -> tuple[int, bool]:
        """Return the number of the row here, and whether its page is kept."""
        if not row.outcome.stands:
            return self._index.ledger.import_row(replace(_settled(row), listed=False)), False
        if row.verdict.kept:
            verdict = self._index.ledger.find_or_add(row.sighting, self._config)
        else:
            verdict = self._index.ledger.add_copy(row, self._config)
        assert verdict.row is not None
        return verdict.row, verdict.kept


def _ended(run: Run) -> Run:
    """Return the run as one that has ended, and that is no part of a crawl of this index."""
    run = replace(run, crawl="", began=0, over=0)
    return run if run.ended is not None else replace(run, ended=time.time(), ending="unfinished")


def _settled(row: Row) -> Row:
    """Return the row as one that is not pending: nobody will confirm it here."""
    if row.outcome is not Outcome.PENDING:
        return row
    return replace(row, outcome=Outcome.RELEASED, listed=False)


def _run_identity(run: Run) -> tuple[str, str, str, float]:
    return run.spider, run.job, run.settings, run.started


def _identity(row: Row) -> bytes:
    """Return what distinguishes a row from all others of its run."""
    seen, page = row.sighting, row.sighting.fingerprint
    facts = repr((seen.run, seen.kind, seen.scope, seen.url, seen.time, page.content_simhash)).encode()
    return blake2b(facts + page.body_digest + page.token_digest, digest_size=16).digest()
