"""What becomes of a page and why: reasons, outcomes, verdicts, and the canonicals they are based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dedup.model.fingerprint import Fingerprint


class Reason(StrEnum):
    """Why a page was kept or dropped; the names of stats, reports and exports."""

    NEW = "new"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    NOT_JUDGED = "not_judged"


RESTORED = "restored"
"""The finding of a page that was kept because somebody wanted it back."""


class Match(NamedTuple):
    """Whether one page repeats another one that was kept (*reason*), and why.

    *finding* is a short code for what decided; *sentence* says it for people, with the value, the
    rule and its bound.  *similarity* is the estimated Jaccard similarity of shingles, 0 to 1; distances
    are 0 to 64 bits, None where one of the pages has no such simhash.  *lost* is about how many words of
    the page are not on the one that was kept, *missing* about how many are on no kept page, None where
    that was not asked.
    """

    reason: Reason
    finding: str
    sentence: str
    similarity: float
    content_distance: int | None
    structure_distance: int | None
    lost: int | None = None
    missing: int | None = None

    @property
    def is_duplicate(self) -> bool:
        """Whether the second page repeats the first."""
        return self.reason in (Reason.EXACT_DUPLICATE, Reason.NEAR_DUPLICATE)


class Outcome(StrEnum):
    """What became of a row after its verdict.

    A row begins as `pending` or `confirmed`.  `released` is a page whose item was lost, `orphaned` a
    duplicate whose canonical is gone, `restored` one that somebody wants back, `forgotten` a page that
    nothing is compared with any more.
    """

    PENDING = "pending"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ORPHANED = "orphaned"
    RESTORED = "restored"
    FORGOTTEN = "forgotten"

    @property
    def counts(self) -> bool:
        """Whether the verdict counts: it is neither pending nor undone."""
        return self in (Outcome.CONFIRMED, Outcome.ORPHANED, Outcome.RESTORED)


UNDONE = (Outcome.RELEASED, Outcome.FORGOTTEN)
"""The outcomes of rows that no longer count."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A page that was kept and that later pages are compared with.

    *id* is its row, *is_pending* says that its item may still be lost.  *represents* is the canonical
    that it was kept in place of, None for none (see `Verdict`).  *host* is the host of its URL.
    """

    id: int
    url: str
    run: int
    is_pending: bool
    fingerprint: Fingerprint
    represents: int | None = None
    host: str = ""

    @property
    def cluster(self) -> int:
        """The canonical that it was kept in place of, or else itself."""
        return self.represents or self.id


@dataclass(frozen=True, slots=True)
class Standing:
    """Why a crawl may count on a canonical: the *row* that saw it, or the same page again, in its *run*.

    *is_pending* says that the item of that row may still be lost, *is_kept* that the item is delivered
    unless it is lost, *is_elsewhere* that the crawl has not visited the host; then the row is earlier.
    """

    row: int
    run: int
    is_pending: bool = False
    is_elsewhere: bool = False
    is_kept: bool = True


@dataclass(frozen=True, slots=True)
class Candidates:
    """Canonicals that the page may repeat, the nearest first (`dedup.rule.loss.nearness`).

    Those that are not alike may be left out (`dedup.rule.loss.are_alike`); *looked_at* counts them too.
    """

    canonicals: Sequence[Canonical]
    looked_at: int


@dataclass(frozen=True, slots=True)
class Version:
    """What an earlier run saw at the URL of the page, first in the row *origin*.

    *canonical* is the canonical that the version is or repeats, None where that one no longer counts;
    *is_own* says that it is the canonical itself: the page repeated no other page.
    """

    origin: int
    fingerprint: Fingerprint
    canonical: Canonical | None
    is_own: bool

    def shows(self, page: Fingerprint) -> bool:
        """Whether *page* is this version: its text or its `blocks` are, or without tokens its bytes."""
        seen = self.fingerprint
        if page.tokens or seen.tokens:
            is_same = seen.token_digest == page.token_digest
            return is_same or (seen.blocks != b"" and seen.blocks == page.blocks)
        return seen.body_digest == page.body_digest

    def is_standing(self, page: Fingerprint) -> bool:
        """Whether it is a canonical, and *page* is this version of it."""
        return self.is_own and self.canonical is not None and self.shows(page)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a page and why.

    The distances (0 to 64 bits), the *similarity* (0 to 1), *lost*, *missing*, *finding* and
    *sentence*, which says why, are those of the page and its canonical, None and "" where it has
    none (`Match`); a verdict that is read from an index has no sentence.  Of a page that was kept,
    *nearest* is the row of the page that was most like it, None for none, and *finding* why it is no
    copy of that.

    *canonical*, *canonical_url* and *canonical_run* name the row, URL and run of the page that this
    one repeats; *standing* says why this crawl may count on that page, None if it may not.  *previous*
    is the first row that showed the version of the same URL which this page repeats or follows.
    *replaces* is the canonical that this page takes the place of once it is confirmed.  *represents*
    is the canonical that a kept page repeats, but that this crawl has not met.

    *row* is the number of the page in the index, None if it was not recorded.  *words* is how many
    words the page has, 0 in a verdict that is read from an index, *candidates* how many canonicals were
    looked at.
    """

    reason: Reason
    kept: bool
    content_distance: int | None = None
    structure_distance: int | None = None
    similarity: float | None = None
    lost: int | None = None
    missing: int | None = None
    finding: str = ""
    nearest: int | None = None
    canonical: int | None = None
    canonical_url: str = ""
    canonical_run: int | None = None
    standing: Standing | None = None
    previous: int | None = None
    replaces: int | None = None
    represents: int | None = None
    row: int | None = None
    words: int = field(default=0, compare=False)
    candidates: int = field(default=0, compare=False)
    sentence: str = field(default="", compare=False)

    @property
    def is_restored(self) -> bool:
        """Whether the page is kept because somebody wanted it back."""
        return self.finding == RESTORED

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
