"""What becomes of a page and why: reasons, outcomes, matches and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dedup.values.fingerprint import Fingerprint


class Reason(StrEnum):
    """Why a page was kept or dropped; the names of stats, reports and exports."""

    NEW = "new"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    CANONICAL_LINK = "canonical_link"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    NOT_JUDGED = "not_judged"


DUPLICATE_REASONS = frozenset((Reason.EXACT_DUPLICATE, Reason.NEAR_DUPLICATE, Reason.CANONICAL_LINK))


class Outcome(StrEnum):
    """What became of a row after its verdict; all of a row that ever changes."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    RELEASED = "released"
    ORPHANED = "orphaned"
    RESTORED = "restored"
    FORGOTTEN = "forgotten"

    @property
    def is_undone(self) -> bool:
        """Whether it is as if the page had not been seen."""
        return self in UNDONE

    @property
    def stands(self) -> bool:
        """Whether the verdict is neither open yet nor undone."""
        return self in (Outcome.CONFIRMED, Outcome.ORPHANED, Outcome.RESTORED)


UNDONE = (Outcome.RELEASED, Outcome.FORGOTTEN)
"""The outcomes of rows that were taken back."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A page that was kept and that others are compared with.

    *represents* is the canonical in whose place it was kept, None for none: see `Verdict`.  *host* is
    where a crawl would meet it again.
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
        """The canonical that it stands in for, or itself."""
        return self.represents or self.id


@dataclass(frozen=True, slots=True)
class Standing:
    """How a canonical stands in a crawl: by its own *row*, or by the row that met it again unchanged.

    *is_pending* says that the fate of that row is open, *is_kept* that its page is delivered if it
    comes through.  A canonical *is_elsewhere* if it is on a host that the crawl has not visited.
    """

    row: int
    run: int
    is_pending: bool = False
    is_elsewhere: bool = False
    is_kept: bool = True


@dataclass(frozen=True, slots=True)
class Candidates:
    """Canonicals that may match, in the order of `nearness`.

    Those that cannot pass verification may be left out (`Verifier.may_pass`); *looked_at* counts
    them too.
    """

    canonicals: Sequence[Canonical]
    looked_at: int


@dataclass(frozen=True, slots=True)
class Version:
    """A row of the page's own URL in the last earlier run that saw it.

    *origin* is the first row that showed this version; *canonical* is the canonical that it is or
    leads to, None where that one stands no more; *is_own* says that it is the canonical, that is,
    that the page was no copy of another one.
    """

    origin: int
    tokens: int
    token_digest: bytes
    body_digest: bytes
    canonical: Canonical | None
    is_own: bool

    def shows(self, page: Fingerprint) -> bool:
        """Whether *page* is this version: equal tokens, or without any, equal bytes."""
        if page.tokens or self.tokens:
            return self.token_digest == page.token_digest
        return self.body_digest == page.body_digest

    def is_standing(self, page: Fingerprint) -> bool:
        """Whether it is a canonical that shows what *page* shows."""
        return self.is_own and self.canonical is not None and self.shows(page)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a page and why.

    *row* is its number in the index, None if it was only asked about.  *canonical*,
    *canonical_url* and *canonical_run* name the page that this one repeats, *standing* says how that
    one stands in this crawl, None where it does not.  *previous* is the first row of the version of
    the same URL that this one repeats or follows, *replaces* the canonical that this one takes the
    place of when it is confirmed.  *represents* is the canonical that a kept page repeats and that
    this crawl has not met: the page stands in for it.  *candidates* is how many canonicals were
    looked at; *is_restored* says that the page is kept because somebody wanted it back.  *sentence*
    says why the page repeats the other; "" where it repeats none, or the verdict was read from an index.
    """

    reason: Reason
    kept: bool
    content_distance: int | None = None
    structure_distance: int | None = None
    similarity: float | None = None
    canonical: int | None = None
    canonical_url: str = ""
    canonical_run: int | None = None
    standing: Standing | None = None
    previous: int | None = None
    replaces: int | None = None
    represents: int | None = None
    row: int | None = None
    candidates: int = field(default=0, compare=False)
    is_restored: bool = field(default=False, compare=False)
    sentence: str = field(default="", compare=False)

    @property
    def canonical_is_pending(self) -> bool:
        """Whether it is still open if the page that this one repeats is kept in this crawl."""
        return self.standing is not None and self.standing.is_pending

    @property
    def canonical_was_met(self) -> bool:
        """Whether this crawl has met the page that this one repeats, and not only heard of it."""
        return self.standing is not None and not self.standing.is_elsewhere

    @property
    def repeats_another(self) -> bool:
        """Whether the page is a copy of another one, now or as an unchanged copy of earlier."""
        return not self.kept and self.canonical != self.previous
