"""A merge: the pages that another index has kept, judged into this one in their order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from dedup.index import Index
from dedup.index.rows import numbers
from dedup.model.errors import DedupError, IndexMismatch
from dedup.model.fingerprint import PageToRecord, Sighting
from dedup.model.hashes import digest
from dedup.prints.fingerprinter import DedupConfig

# Pages of one transaction; a crawl that uses the index waits no longer than that takes.
_BATCH = 500


class Merged(NamedTuple):
    """How many *pages* the other index has kept, how many were *known* here, how many are *kept*."""

    pages: int
    known: int
    kept: int

    def __str__(self) -> str:
        new = f"{self.pages - self.known:,} new ({self.kept:,} of them kept)"
        return f"{self.pages:,} pages were kept there, {self.known:,} are known already, {new}"


def merge(
    other: Index,
    index: Index,
    config: DedupConfig,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Merged:
    """Record the pages kept in *other* in *index*, those that it does not have yet.

    Each is judged by the thresholds of *config* as if it was crawled now, in new runs, some hundred in a
    transaction; a merge that was interrupted goes on when it is started again.  Texts stay there.

    Raises `IndexMismatch` where the fingerprints were made by different recipes.
    """
    if not (recipe := other.recipe()):
        raise DedupError(f"there is nothing in {other.name} to merge")
    try:
        index.require_recipe(recipe)
    except IndexMismatch as error:
        raise IndexMismatch(f"{other.name} has fingerprints of another recipe: {error}") from error
    last, runs = other.store.last(), _runs_of(other, index)
    of_runs = f"p.id > ? AND p.run IN {numbers(runs.values())}"
    # The pages of these runs that were here before, and the last row read.
    there, read, found = set[bytes](), 0, Merged(0, 0, 0)

    def read_on() -> None:
        nonlocal read
        for row in index.store.rows(of_runs, read):
            there.add(_identity(row.sighting))
            read = row.id

    read_on()  # in no transaction: crawls write while this reads
    left = (row for row in other.rows() if row.id <= last and row.verdict.kept and row.outcome.counts)
    while batch := list(islice(left, _BATCH)):
        pages = [replace(row.sighting, run=runs[row.sighting.run]) for row in batch]
        with index.batch():
            read_on()  # what another merge has added meanwhile
            new = [PageToRecord(page) for page in pages if _identity(page) not in there]
            kept = [index.ledger.find_or_add([page], config, confirmed=True)[0].kept for page in new]
            read = index.store.last()
        done = len(pages), len(pages) - len(new), sum(kept)
        found = Merged(*map(sum, zip(found, done, strict=True)))
        progress(batch[-1].id, last)
    return found


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


def _identity(page: Sighting) -> bytes:
    seen, made = (page.run, page.kind, page.scope, page.url, page.time), page.fingerprint
    facts = repr((*seen, made.content_simhash)).encode()
    return digest(facts + made.body_digest + made.token_digest)
