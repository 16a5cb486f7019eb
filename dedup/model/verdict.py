"""What becomes of a page and why: verdicts, the canonicals they are based on, and rows of an index."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, NamedTuple

from dedup.model.fingerprint import HALF, Fingerprint, Sighting


class Reason(StrEnum):
    """Why a page was kept or dropped; the names of stats, reports and exports."""

    NEW = "new"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    NOT_JUDGED = "not_judged"


class Match(NamedTuple):
    """Whether one page repeats another one that was kept, and why."""

    reason: Reason
    finding: str  #: a short code for what decided
    sentence: str  #: says it for people, with the value, the rule and its bound
    similarity: float  #: the estimated Jaccard similarity of shingles, 0 to 1
    content_distance: int | None  #: 0 to 64 bits, None where one of the pages has no such simhash
    structure_distance: int | None
    lost: int | None = None  #: about how many words of the page are not on the one that was kept
    missing: int | None = None  #: about how many are on no kept page, None where that was not asked

    @property
    def is_duplicate(self) -> bool:
        """Whether the second page repeats the first."""
        return self.reason in (Reason.EXACT_DUPLICATE, Reason.NEAR_DUPLICATE)


class Outcome(StrEnum):
    """What became of a row after its verdict; it begins as `pending` or `confirmed`."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    RELEASED = "released"  #: a page whose item was lost
    ORPHANED = "orphaned"  #: a duplicate whose canonical is gone
    RESTORED = "restored"  #: one that somebody wants back
    FORGOTTEN = "forgotten"  #: a page that nothing is compared with any more

    @property
    def counts(self) -> bool:
        """Whether the verdict counts: it is neither pending nor undone."""
        return self in (Outcome.CONFIRMED, Outcome.ORPHANED, Outcome.RESTORED)


UNDONE = (Outcome.RELEASED, Outcome.FORGOTTEN)  # the outcomes of rows that no longer count


@dataclass(frozen=True, slots=True)
class Canonical:
    """A page that was kept and that later pages are compared with."""

    id: int  # its row
    url: str
    run: int
    is_pending: bool  # its item may still be lost
    fingerprint: Fingerprint
    represents: int | None = None  # the canonical that it was kept in place of (see `Verdict`)
    host: str = ""  # of its URL

    @property
    def cluster(self) -> int:
        """The canonical that it was kept in place of, or else itself."""
        return self.represents or self.id


@dataclass(frozen=True, slots=True)
class Standing:
    """Why a crawl may count on a canonical: the row that saw it, or the same page again, in its run."""

    row: int
    run: int
    is_pending: bool = False  # the item of that row may still be lost
    is_elsewhere: bool = False  # the crawl has not visited the host; then the row is earlier
    is_kept: bool = True  # the item is delivered unless it is lost


@dataclass(frozen=True, slots=True)
class Candidates:
    """Canonicals that the page may repeat."""

    canonicals: Sequence[Canonical]  # the nearest first (`dedup.rule.match.nearness`)
    looked_at: int  # also those that may be left out, as they are not alike (`are_alike` there)


@dataclass(frozen=True, slots=True)
class Version:
    """What an earlier run saw at the URL of the page."""

    origin: int  # the first row that showed it
    fingerprint: Fingerprint
    canonical: Canonical | None  # that it is or repeats, None where that one no longer counts
    is_own: bool  # it is the canonical itself: the page repeated no other page

    def shows(self, page: Fingerprint) -> bool:
        """Whether *page* is this version: its text or its blocks are, or without tokens its bytes."""
        seen = self.fingerprint
        if not (page.tokens or seen.tokens):
            return seen.body_digest == page.body_digest
        blocks = seen.sentences[HALF:]
        return seen.token_digest == page.token_digest or blocks == page.sentences[HALF:] != b""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a page and why.

    The distances (0 to 64 bits), the *similarity* (0 to 1), *lost*, *missing*, *finding* and
    *sentence* are those of the page and its canonical, None and "" where it has none (`Match`).
    """

    RESTORED: ClassVar = "restored"
    """The finding of a page that was kept because somebody wanted it back."""

    reason: Reason
    kept: bool
    content_distance: int | None = None
    structure_distance: int | None = None
    similarity: float | None = None
    lost: int | None = None
    missing: int | None = None
    finding: str = ""  #: of a page that was kept, why it is no copy of the *nearest*
    nearest: int | None = None  #: the row of the page that was most like one that was kept
    canonical: int | None = None  #: the page that this one repeats
    canonical_url: str = ""
    canonical_run: int | None = None
    standing: Standing | None = None  #: why this crawl may count on that page, None if it may not
    #: The first row that showed the version of the same URL which this page repeats or follows.
    previous: int | None = None
    replaces: int | None = None  #: the canonical that it takes the place of once it is confirmed
    represents: int | None = None  #: the one that a kept page repeats, but this crawl has not met
    row: int | None = None  #: the number of the page in the index, None if it was not recorded
    words: int = field(default=0, compare=False)  #: how many it has, 0 where it is read from an index
    candidates: int = field(default=0, compare=False)  #: how many canonicals were looked at
    sentence: str = field(default="", compare=False)  #: says why, "" where it is read from an index

    @property
    def is_canonical(self) -> bool:
        """Whether the page becomes one that others are compared with."""
        return self.reason in (Reason.NEW, Reason.UPDATED)

    @property
    def is_restored(self) -> bool:
        """Whether the page is kept because somebody wanted it back."""
        return self.finding == self.RESTORED

    @property
    def nowhere(self) -> int | None:
        """About how many words are on no page kept; where that was not asked, not on the canonical."""
        return self.lost if self.missing is None else min(self.lost or 0, self.missing)

    @property
    def canonical_was_met(self) -> bool:
        """Whether this crawl itself has seen the page that this one repeats."""
        return self.standing is not None and not self.standing.is_elsewhere

    @property
    def repeats_another(self) -> bool:
        """Whether the page is dropped for another page, and not for an earlier version of itself."""
        return not self.kept and self.canonical != self.previous


# The first and the last moment (seconds since 1970) that are dates in every time zone; a machine
# whose clock lost the time may say any of them.
EARLIEST, LATEST = -62_135_510_400.0, 253_402_214_400.0

DRY_RUN = "report"  # the action of a run that drops nothing and leaves no trace in later ones
# What becomes of duplicates, by the action of their run, for programs, stats and people.
FATE_OF = {"drop": "dropped", "skip": "dropped", "mark": "marked", DRY_RUN: "would_drop"}


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl, or one use of a `Detector`; times are seconds since 1970."""

    id: int
    spider: str
    job: str  #: names a crawl that can be resumed (Scrapy's JOBDIR)
    started: float
    ended: float | None = None  #: None while it lives
    ending: str = ""  #: how it ended: Scrapy's close reason, or "died"
    action: str = "drop"  #: what was done with copies: "drop", "skip", "mark" or "report"
    crawl: str = ""  #: runs with the same one are workers of one crawl, "" is a crawl of its own
    began: int = 0  #: counts the beginnings of runs, also of one that goes on
    #: It was taken over from another index: nobody goes on with it.
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
    """What reports count of a `Row`: a tenth of its size, and of the time to read it."""

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
    nearest: int | None = None


class KeptText(NamedTuple):
    """What a page tells about its site, see `dedup.rule.match.told_by`, and whose it is."""

    id: int
    group: tuple[str, str]  # its kind and its scope
    host: str
    run: int
    is_dry: bool
    is_new: bool  # its URL was not known before
    told: bytes
    is_kept: bool = True  # False for a near copy that was dropped: of that only its title is told


class Visit(NamedTuple):
    """A host that a *run* was on, under a scope; *after* is the last row that there was before."""

    scope: str
    host: str
    run: int
    after: int
