"""A merge: the rows of another index, judged into this one in their order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, NamedTuple

from dedup.index import Index, Row
from dedup.index.rows import numbers
from dedup.model.errors import DedupError, IndexMismatch
from dedup.model.fingerprint import PageToRecord
from dedup.model.hashes import digest
from dedup.model.verdict import Outcome
from dedup.prints.fingerprinter import DedupConfig

# Rows of one transaction; a crawl that uses the index waits no longer than that takes.
_BATCH = 500


class Merged(NamedTuple):
    """How many *rows* the other index has, how many were *known* here, how many others are *kept*."""

    rows: int
    known: int
    kept: int

    def __str__(self) -> str:
        new = f"{self.rows - self.known:,} new ({self.kept:,} of them kept)"
        return f"{self.rows:,} rows, {self.known:,} known already, {new}"


def merge(
    other: Index,
    index: Index,
    config: DedupConfig,
    progress: Callable[[int, int], None] = lambda *_: None,
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
    last, runs = other.store.last(), _runs_of(other, index)
    of_runs = f"p.id > ? AND p.run IN {numbers(runs.values())}"
    # The rows of these runs that were here before, by identity, and the last row read.
    there: dict[bytes, int] = {}
    read = known = kept = 0
    # The number here of each row there; row 0 is none.
    rows = {0: 0}

    def read_on() -> None:
        nonlocal read
        for row in index.store.rows(of_runs, read):
            there[_identity(row)] = read = row.id

    read_on()  # in no transaction: crawls write while this reads
    left = takewhile(lambda row: row.id <= last, other.rows())
    while batch := list(islice(left, _BATCH)):
        with index.batch():
            read_on()  # what another merge has added meanwhile
            for row in batch:
                new = _translated(row, runs, rows)
                if number := there.get(_identity(new), 0):
                    known += 1
                else:
                    number, is_kept = _recorded(index, new, config)
                    kept += is_kept
                rows[row.id] = number
            read = index.store.last()
        progress(batch[-1].id, last)
    return Merged(len(rows) - 1, known, kept)


def _runs_of(other: Index, index: Index) -> dict[int, int]:
    """Find or make the runs of the other index; here they have ended, and are of no crawl."""
    with index.batch():
        there = {(run.spider, run.job, run.started): run.id for run in index.runs.all()}
        found = {}
        for run in other.runs.all():
            here = replace(run, crawl="", began=0, is_imported=True)
            if run.ended is None:
                here = replace(here, ended=time.time(), ending="unfinished")
            known = there.get((run.spider, run.job, run.started))
            found[run.id] = known or index.store.add_run(here).id
    return found


def _translated(row: Row, runs: dict[int, int], rows: dict[int, int]) -> Row:
    """Return *row* with the numbers that its run and other rows have here."""
    names = ("nearest", "canonical", "previous", "replaces", "represents")
    here: dict[str, Any] = {name: rows[getattr(row.verdict, name) or 0] or None for name in names}
    sighting = replace(row.sighting, run=runs[row.sighting.run])
    return replace(row, sighting=sighting, verdict=replace(row.verdict, **here))


def _recorded(index: Index, row: Row, config: DedupConfig) -> tuple[int, bool]:
    ledger, is_kept = index.ledger, row.verdict.kept
    if not row.outcome.counts:
        outcome = Outcome.RELEASED if row.outcome is Outcome.PENDING else row.outcome
        return index.store.add(replace(row, outcome=outcome, listed=False)).id, False
    if is_kept:
        (verdict,) = ledger.find_or_add([PageToRecord(row.sighting)], config, confirmed=True)
    else:
        verdict = ledger.add_copy(row, config)
    assert verdict.row is not None
    return verdict.row, verdict.kept


def _identity(row: Row) -> bytes:
    seen, page = row.sighting, row.sighting.fingerprint
    facts = repr((seen.run, seen.kind, seen.scope, seen.url, seen.time, page.content_simhash)).encode()
    return digest(facts + page.body_digest + page.token_digest)
