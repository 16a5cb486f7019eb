"""What other thresholds would have made of the pages of an index, without a new crawl."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.prints.config import DedupConfig

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Changes:
    """How many pages were judged again, and what became of them.

    *dropped* were kept before, *kept* were dropped before, *moved* have another canonical now.
    """

    pages: int = 0
    dropped: int = 0
    kept: int = 0
    moved: int = 0

    def __str__(self) -> str:
        return (
            f"{self.pages:,} pages judged again: {self.dropped:,} more would be dropped, "
            f"{self.kept:,} more kept, and {self.moved:,} would be copies of another page"
        )


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """An *index* as other thresholds would have made it of *source*: its rows, with other verdicts.

    The rows have the numbers, runs and times that they have in the source itself.
    """

    index: Index
    source: Index
    config: DedupConfig
    changes: Changes

    def __str__(self) -> str:
        config = self.config
        chosen = f"max_distance={config.max_distance}, max_lost_words={config.max_lost_words}"
        return f"With {chosen}, {self.changes}"


@contextmanager
def replayed(
    index: Index, config: DedupConfig, progress: Progress | None = None
) -> Iterator[JudgedAgain]:
    """Judge the pages of *index* again in their order by the thresholds of *config*.

    Fingerprints and scopes are those that are stored; nothing is written to *index*.  The replay is
    a temporary file, somewhat smaller than the index, which is deleted at the end of the context.
    *progress* is called with the number of rows done and of all rows.

    Where every page was confirmed at once, the thresholds of the crawl give the verdicts of the
    crawl.  Pages that are pending, released or forgotten keep their verdicts and are never a
    canonical; orphaned ones are judged like any other page.
    """
    with (
        tempfile.TemporaryDirectory(prefix="dedup-") as folder,
        SQLiteIndex(Path(folder) / "replay.db") as target,
    ):
        yield JudgedAgain(target, index, config, replay_into(target, index, config, progress))


def replay_into(
    target: Index, index: Index, config: DedupConfig, progress: Progress | None = None
) -> Changes:
    """Judge the pages of *index* again and record them in *target*, which is empty; see `replayed`."""
    pages = dropped = kept = moved = 0
    target.prepare()
    total = index.store.last()
    with target.batch():
        for run in index.runs.all():
            target.runs.import_run(run)
        visits = deque(index.runs.visits())
        # A crawl that goes on may add more rows.
        for row in (row for row in index.rows() if row.id <= total):
            while visits and visits[0].after < row.id:
                target.runs.import_visit(visits.popleft())
            if not row.outcome.counts:
                target.ledger.import_row(replace(row, listed=False))
            else:
                was, now = row.verdict, target.ledger.find_or_add(row.sighting, config)
                pages += 1
                dropped += was.kept and not now.kept
                kept += now.kept and not was.kept
                moved += not was.kept and not now.kept and was.canonical != now.canonical
            if progress:
                progress(row.id, total)
    return Changes(pages, dropped, kept, moved)
