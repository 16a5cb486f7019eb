"""What an index holds: runs, sightings, and rows with what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from dedup.errors import DedupError
from dedup.fingerprints import Fingerprint
from dedup.index.urls import host_of, joined_key, kept_url, valid
from dedup.limits import MAX_REDIRECTS, MAX_TITLE, MAX_URL
from dedup.verdict import Canonical, Outcome, Reason, Verdict, Version

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
    neither was over before the other one began.
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


@dataclass(frozen=True, slots=True)
class Crawl:
    """The runs that are one crawl with a run.

    *own* are the run itself and those of the same name, *alive* also those that are or were under
    way at the same time.
    """

    own: frozenset[int]
    alive: frozenset[int]


def crawl_of(run: Run, runs: Iterable[Run]) -> Crawl:
    """Return the crawl that *run* is part of, out of all *runs*; one that was imported is alone."""
    own = {other.id for other in runs if run.crawl and other.crawl == run.crawl} | {run.id}
    if not run.began:
        return Crawl(frozenset(own), frozenset(own))
    alive = {
        other.id
        for other in runs
        if other.began
        and (not other.over or other.over > run.began)
        and (not run.over or other.began < run.over)
    }
    return Crawl(frozenset(own), frozenset(own | alive))


@dataclass(frozen=True, slots=True)
class Statistics:
    """How much an index holds: rows, of these by outcome, and bytes on disk (0 in memory)."""

    rows: int
    orphans: int
    released: int
    forgotten: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How many *rows* of a run and a site (host, "" for none) had one fate."""

    run: int
    site: str
    reason: Reason
    kept: bool
    outcome: Outcome
    rows: int


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """A canonical, how many *copies* it has, and the smallest *similarity* (0 to 1) of one to it."""

    canonical: Row
    copies: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Sighting:
    """A page that was seen: its fingerprint, and where and when.

    *item_key* is what makes an item the same one in a later crawl, whatever its URL, "" for what has
    only its URL.  *is_dry* says that it was seen by a dry run: no reason to drop anything.
    *redirects* are the URLs that led to it, the first one first, *seen_on* is the host where an item
    was seen, None where that is the host of its URL.
    """

    fingerprint: Fingerprint
    url: str
    url_key: str
    kind: str
    scope: str
    run: int
    time: float
    title: str = ""
    canonical_link: str = ""
    item_key: str = ""
    is_dry: bool = False
    redirects: tuple[str, ...] = ()
    seen_on: str | None = None

    @property
    def host(self) -> str:
        """The host where a crawl would meet it again."""
        return host_of(self.url) if self.seen_on is None else self.seen_on

    @property
    def is_named(self) -> bool:
        """Whether it has a key or a URL: what has none is known by what it says."""
        return bool(self.item_key or self.url_key)

    @property
    def identity(self) -> tuple[str, str | bytes]:
        """What it is known by in a later crawl: a field of it, or of its fingerprint, and the value.

        Its key, else its URL; of what a crawl met without either, its tokens, else its bytes.
        """
        if self.item_key:
            return "item_key", self.item_key
        if self.url_key:
            return "url_key", self.url_key
        seen = self.fingerprint
        if seen.tokens:
            return "token_digest", seen.token_digest
        return "body_digest", seen.body_digest

    @property
    def canonical_key(self) -> str:
        """The canonical form of the URL that the page declares as its canonical one, "" for none."""
        return joined_key(self.url, self.canonical_link) if self.canonical_link else ""

    def kept(self) -> Sighting:
        """Return it as an index keeps it: URL, link and title valid, and of bounded length."""
        link = self.canonical_link if len(self.canonical_link) <= MAX_URL else ""
        texts = kept_url(self.url), valid(self.title[:MAX_TITLE]), valid(link)
        redirects = tuple(map(kept_url, self.redirects[:MAX_REDIRECTS]))
        if (*texts, redirects) == (self.url, self.title, self.canonical_link, self.redirects):
            return self
        url, title, link = texts
        return replace(self, url=url, title=title, canonical_link=link, redirects=redirects)


@dataclass(frozen=True, slots=True)
class Row:
    """A sighting with its verdict.  Only *outcome* and *listed* ever change.

    *listed* says that others are compared with it: it stands in the posting lists.
    """

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
        seen = self.sighting.fingerprint
        stands = self.outcome is root.outcome is Outcome.CONFIRMED and root.listed
        return Version(
            origin=self.origin,
            tokens=seen.tokens,
            token_digest=seen.token_digest,
            body_digest=seen.body_digest,
            canonical=root.as_canonical() if stands else None,
            is_own=self.is_own,
        )

    def as_canonical(self) -> Canonical:
        """Return what others are compared with."""
        seen = self.sighting
        is_pending = self.outcome is Outcome.PENDING
        represents = self.verdict.represents
        return Canonical(
            *(self.id, seen.url, seen.run, is_pending, seen.fingerprint, represents, seen.host)
        )

    @property
    def is_met_again(self) -> bool:
        """Whether it shows that its canonical, an earlier row of the same thing, still stands there."""
        found = self.verdict
        return (
            found.reason is Reason.UNCHANGED
            and found.canonical == found.previous
            and self.outcome in (Outcome.PENDING, Outcome.CONFIRMED)
        )


class Glance(NamedTuple):
    """What reports count of a `Row`: a tenth of its size, and of the time to read it."""

    id: int
    run: int
    url: str
    structure: int
    reason: str
    kept: bool
    content_distance: int | None
    structure_distance: int | None
    similarity: float | None
    canonical: int | None
    outcome: str
    listed: bool


def glance_of(row: Row) -> Glance:
    """Return what reports count of *row*."""
    seen, found = row.sighting, row.verdict
    return Glance(
        row.id,
        seen.run,
        seen.url,
        seen.fingerprint.structure,
        found.reason,
        found.kept,
        found.content_distance,
        found.structure_distance,
        found.similarity,
        found.canonical,
        row.outcome,
        row.listed,
    )


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A canonical, and how far its word is from the one asked about (0 to 64 bits)."""

    row: Row
    distance: int

    @property
    def order(self) -> tuple[int, int]:
        """The nearest first, of equally near ones the oldest."""
        return self.distance, self.row.id


def is_canonical(verdict: Verdict) -> bool:
    """Return whether a page with *verdict* becomes one that others are compared with."""
    return verdict.reason in (Reason.NEW, Reason.UPDATED)


class Visit(NamedTuple):
    """A host that a *run* was on, under a scope; *after* is the last row that there was before."""

    scope: str
    host: str
    run: int
    after: int


@dataclass(frozen=True, slots=True)
class Withheld:
    """A request that was not made because the page of *row* is a copy.

    *what* is "link" for one that the copy links to, "callback" for the copy itself, whose callback was
    skipped; *request* is what Scrapy makes it of again, as JSON, "" where only its URL is known.
    """

    row: int
    url: str
    what: str
    request: str = ""
    run: int = 0


def kind_of(kind: str, item_key: str) -> str:
    """Return the kind of a page: what has a key is compared with nothing that has none."""
    return f"keyed {kind}" if item_key else kind


def is_elsewhere(verdict: Verdict) -> bool:
    """Return whether *verdict* leans on a page of a host that the crawl had not visited."""
    return verdict.standing is not None and verdict.standing.is_elsewhere


class NoSuchRow(DedupError):  # noqa: N818
    """There is no row of that number."""
