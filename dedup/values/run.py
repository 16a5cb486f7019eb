"""Runs, and which of them are one crawl."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

# The first and the last moment (seconds since 1970) that are dates in every time zone; a machine
# whose clock lost the time may say any of them.
EARLIEST, LATEST = -62_135_510_400.0, 253_402_214_400.0

# The action of a run that drops nothing and leaves no trace in later ones.
DRY_RUN = "dry run"


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl, or one use of a `Detector`.

    Times are seconds since 1970; *ended* is None while it lives.  *ending* is how it ended:
    Scrapy's close reason, or "died".  *job* names a crawl that can be resumed (Scrapy's JOBDIR),
    *settings* is a digest of what it was run with, *action* what was done with copies: "drop",
    "mark" or "dry run".  Runs with the same *crawl* are workers of one crawl, "" is a crawl of its
    own.  *began* and *over* count the beginnings and ends of runs: two were alive at the same time if
    neither was over before the other one began.  One that *is_imported* was taken over from another
    index: nobody goes on with it.
    """

    id: int
    spider: str
    job: str
    settings: str
    started: float
    ended: float | None = None
    ending: str = ""
    action: str = "drop"
    crawl: str = ""
    began: int = 0
    over: int = 0
    is_imported: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Crawl:
    """The runs that are one crawl with a run.

    *own* are the run itself and those of the same name, *alive* also those that are or were under
    way at the same time.  Of these it leans only on rows after the row *since*, the last one when it
    began: what a process kept before, its user may have had long ago.
    """

    own: frozenset[int]
    alive: frozenset[int]
    since: int = 0

    def has(self, run: int, row: int) -> bool:
        """Return whether a *row* of a *run* is of this crawl."""
        return run in self.own or (run in self.alive and row > self.since)


def crawl_of(
    run: Run, runs: Iterable[Run], since: Callable[[frozenset[int]], int] = lambda _: 0
) -> Crawl:
    """Return the crawl that *run* is part of, out of all *runs*; one that was imported is alone.

    *since* returns the last row there was when the first of some runs began.
    """
    own = frozenset({other.id for other in runs if run.crawl and other.crawl == run.crawl} | {run.id})
    if not run.began:
        return Crawl(own, own)
    alive = {
        other.id
        for other in runs
        if other.began
        and (not other.over or other.over > run.began)
        and (not run.over or other.began < run.over)
    }
    return Crawl(own, own | alive, since(own) if alive - own else 0)
