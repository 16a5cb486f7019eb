"""Runs, and which of them are one crawl."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# The first and the last moment (seconds since 1970) that are dates in every time zone; a machine
# whose clock lost the time may say any of them.
EARLIEST, LATEST = -62_135_510_400.0, 253_402_214_400.0

# The action of a run that drops nothing and leaves no trace in later ones.
DRY_RUN = "report"


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl, or one use of a `Detector`.

    Times are seconds since 1970; *ended* is None while it lives.  *ending* is how it ended:
    Scrapy's close reason, or "died".  *job* names a crawl that can be resumed (Scrapy's JOBDIR),
    *settings* is a digest of what it was run with, *action* what was done with copies: "drop",
    "skip", "mark" or "report".  Runs with the same *crawl* are workers of one crawl, "" is a crawl of
    its own.  *began* counts the beginnings of runs, also of one that goes on.  One that *is_imported*
    was taken over from another index: nobody goes on with it.
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
    is_imported: bool = field(default=False, compare=False)


def crawl_of(run: int, runs: Iterable[Run]) -> frozenset[int]:
    """Return the numbers of the runs that are one crawl with a *run*: those of its name, or it alone."""
    runs = list(runs)
    name = next((other.crawl for other in runs if other.id == run), "")
    return frozenset({other.id for other in runs if name and other.crawl == name} | {run})
