"""A row of an index, and the other values that an index gives."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup.model.errors import DedupError
from dedup.model.fingerprint import Sighting
from dedup.model.urls import url_key
from dedup.model.verdict import Canonical, Outcome, Reason, Verdict, Version

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
    *action* is what was done with copies: "drop", "skip", "mark" or "report".  Runs with the same
    *crawl* are workers of one crawl, "" is a crawl of its own.  *began* counts the beginnings of runs,
    also of one that goes on.  One that *is_imported* was taken over from another index: nobody goes on
    with it.
    """

    id: int
    spider: str
    job: str
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


class Statistics(NamedTuple):
    """How much an index holds: rows, those that are orphans, and bytes on disk (0 in memory)."""

    rows: int
    orphans: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """A sighting with its verdict; *listed* says that others are compared with it."""

    id: int
    sighting: Sighting
    verdict: Verdict
    outcome: Outcome
    listed: bool

    @property
    def origin(self) -> int:
        """The first row that showed this version of its URL: itself, unless it is `unchanged`."""
        previous = self.verdict.previous
        return previous if self.verdict.reason is Reason.UNCHANGED and previous else self.id

    @property
    def is_own(self) -> bool:
        """Whether its version was a canonical when it was first seen, not a copy."""
        return self.verdict.canonical in (None, self.origin)

    def as_version(self, root: Row) -> Version:
        """Return the version that this row shows; *root* is the canonical it leads to, or itself."""
        counts = self.outcome is Outcome.CONFIRMED and root.outcome is Outcome.CONFIRMED and root.listed
        canonical = root.as_canonical() if counts else None
        return Version(self.origin, self.sighting.fingerprint, canonical, self.is_own)

    def as_canonical(self) -> Canonical:
        """Return what others are compared with."""
        seen, is_pending = self.sighting, self.outcome is Outcome.PENDING
        about = seen.fingerprint, self.verdict.represents, seen.host
        return Canonical(self.id, seen.url, seen.run, is_pending, *about)

    @property
    def is_met_again(self) -> bool:
        """Whether it shows that its canonical, an earlier row of the same thing, still stands there."""
        found, is_there = self.verdict, self.outcome in (Outcome.PENDING, Outcome.CONFIRMED)
        is_own = found.canonical is not None and found.canonical == found.previous
        return found.reason is Reason.UNCHANGED and is_own and is_there


class Glance(NamedTuple):
    """What reports count of a `Row`: a tenth of its size, and of the time to read it.

    Of one *scope* and *url_key*, or *item_key*, are the sightings of one page.
    """

    id: int
    run: int
    scope: Hashable
    url: str
    url_key: str
    item_key: str
    canonical: int | None
    previous: int | None
    similarity: float | None
    lost: int | None
    missing: int | None
    reason: str
    kept: bool
    outcome: str
    unjudged: str = ""


def glance_of(row: Row) -> Glance:
    """Return what reports count of *row*."""
    seen, found = row.sighting, row.verdict
    return Glance(
        *(row.id, seen.run, seen.group, seen.url, seen.url_key, seen.item_key, found.canonical),
        *(found.previous, found.similarity, found.lost, found.missing, found.reason, found.kept),
        *(row.outcome, seen.unjudged),
    )


def is_canonical(verdict: Verdict) -> bool:
    """Return whether a page with *verdict* becomes one that others are compared with."""
    return verdict.reason in (Reason.NEW, Reason.UPDATED)


class KeptText(NamedTuple):
    """What a page tells about its site, see `dedup.rule.site.told_by`, and whose it is.

    *group* is its kind and its scope; *is_new* says that its URL was not known before.  *is_kept* is
    False for a near copy that was dropped: of that only its title is told.
    """

    id: int
    group: tuple[str, str]
    host: str
    run: int
    is_dry: bool
    is_new: bool
    outcome: Outcome
    told: bytes
    is_kept: bool = True


class Visit(NamedTuple):
    """A host that a *run* was on, under a scope; *after* is the last row that there was before."""

    scope: str
    host: str
    run: int
    after: int


@dataclass(frozen=True, slots=True)
class Withheld:
    """A request that was not made because the page of *row* is a copy.

    *what* is "link" for one that the copy links to, "rule" for one of a rule for URLs; that has its
    *request* with it.
    """

    row: int
    url: str
    what: str
    request: str = ""
    run: int = 0

    @property
    def url_key(self) -> str:
        """The URL in canonical form: what a run withholds once only."""
        return url_key(self.url)


class NoSuchRow(DedupError):  # noqa: N818
    """There is no row of that number."""
