"""What other thresholds would have made of the pages of an index, without a new crawl."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.prints.config import DedupConfig

Progress = Callable[[int, int], None]


class Changes(NamedTuple):
    """How many *pages* were judged again: so many more *dropped*, *kept*, *moved* to another page."""

    pages: int = 0
    dropped: int = 0
    kept: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """An *index* as other thresholds would have made it of *source*: its rows, with other verdicts."""

    index: Index
    source: Index
    config: DedupConfig
    changes: Changes

    def __str__(self) -> str:
        pages, dropped, kept, moved = self.changes
        config = self.config
        return (
            f"With max_distance={config.max_distance}, max_lost_words={config.max_lost_words}, "
            f"{pages:,} pages judged again: {dropped:,} more would be dropped, {kept:,} more kept, and "
            f"{moved:,} would be copies of another page"
        )


@contextmanager
def replayed(
    index: Index, config: DedupConfig, progress: Progress | None = None
) -> Iterator[JudgedAgain]:
    """Judge the pages of *index* again in their order by the thresholds of *config*.

    Fingerprints, scopes, numbers, runs and times are those that are stored; nothing is written to
    *index*.  The replay is a temporary file, somewhat smaller than the index.  *progress* is called with
    the number of rows done and of all rows.

    Where every page was confirmed at once, the thresholds of the crawl give the verdicts of the crawl.
    Pages that are pending, released or forgotten keep their verdicts and are never a canonical.
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
