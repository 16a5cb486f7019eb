"""The rule: what becomes of a page, given what was seen before.  Pure; knows no storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from dedup.config import DedupConfig
from dedup.fingerprints import Fingerprint, fingerprint
from dedup.minhash import Banding, sketch_keys
from dedup.page import Page
from dedup.sketch import BINS, agrees, similarities, similarity
from dedup.words import word_distance

# Fewer equal tokens than this say too little: "Not found" is not one page.
MIN_EQUAL_TOKENS = 4
# Up to so many, one at a time is faster than all at once.
_FEW_SKETCHES = 2

_DEFAULT = DedupConfig()


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
class Match:
    """How one page stands to another one.

    Distances are 0 to 64 bits, None where one side has no such word; *similarity* is the
    estimated Jaccard similarity of shingles, 0 to 1.
    """

    reason: Reason
    content_distance: int | None
    structure_distance: int | None
    similarity: float

    @property
    def is_duplicate(self) -> bool:
        """Whether the second page repeats the first."""
        return self.reason in DUPLICATE_REASONS


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

    Those that cannot pass verification may be left out (`may_verify`); *looked_at* counts them too.
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
    looked at; *is_restored* says that the page is kept because somebody wanted it back.
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

    @property
    def is_duplicate(self) -> bool:
        """Whether the page should be dropped."""
        return not self.kept

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


def compare(a: Page | Fingerprint, b: Page | Fingerprint, config: DedupConfig = _DEFAULT) -> Match:
    """Return what would happen to *b* after *a* at another URL, two pages or two fingerprints."""
    return match(_fingerprint(a, config), _fingerprint(b, config), config)


def match(canonical: Fingerprint, page: Fingerprint, config: DedupConfig) -> Match:
    """Return how *page* stands to a canonical: the whole rule for two pages.

    Equal bytes are an exact duplicate, an equal sequence of `MIN_EQUAL_TOKENS` tokens or more is
    a near-duplicate, and so is a candidate, by content, structure or a band, that passes verification:
    its sketch is alike enough, and the check sketch, where both have one, does not belie that.
    """
    content = word_distance(canonical.content, page.content)
    structure = word_distance(canonical.structure, page.structure)
    if page.is_empty:
        return Match(Reason.NOT_JUDGED, content, structure, 0.0)
    if page.body_digest == canonical.body_digest:
        return Match(Reason.EXACT_DUPLICATE, content, structure, 1.0)
    if has_equal_tokens(canonical, page):
        return Match(Reason.NEAR_DUPLICATE, content, structure, 1.0)
    alike = similarity(canonical.sketch, page.sketch)
    is_duplicate = (not config.verify or alike >= config.min_similarity) and (
        (uses_content(config) and _within(content, config.max_distance))
        or (
            content is not None
            and uses_structure(config)
            and _within(structure, config.structure_max_distance)
        )
        or shared_bands(canonical.sketch, page.sketch, config) > 0
    )
    if is_duplicate and config.verify:
        is_duplicate = not _is_belied(canonical, page, alike)
    return Match(Reason.NEAR_DUPLICATE if is_duplicate else Reason.NEW, content, structure, alike)


def have_check_sketches(a: Fingerprint, b: Fingerprint) -> bool:
    """Return whether both pages have a check sketch; what is older or was imported has none."""
    return bool(a.check_sketch and b.check_sketch)


def may_verify(page: Fingerprint, sketches: Sequence[bytes], config: DedupConfig) -> list[bool]:
    """Return for each of *sketches* whether a candidate with it could be a near-duplicate of *page*.

    Check sketches are asked later, of those that are left.
    """
    if not config.verify or not sketches:
        return [True] * len(sketches)
    if len(sketches) <= _FEW_SKETCHES:
        return [similarity(page.sketch, other) >= config.min_similarity for other in sketches]
    rows = np.frombuffer(b"".join(sketches), np.uint8).reshape(-1, BINS)
    passing: list[bool] = (similarities(page.sketch, rows) >= config.min_similarity).tolist()
    return passing


def has_equal_tokens(canonical: Fingerprint, page: Fingerprint) -> bool:
    """Return whether both have the same tokens, and enough of them to mean something."""
    return page.tokens >= MIN_EQUAL_TOKENS and page.token_digest == canonical.token_digest


def uses_structure(config: DedupConfig) -> bool:
    """Return whether structure finds candidates: never unverified, it is alike on too many pages."""
    return config.verify and config.max_structure_candidates > 0


def uses_content(config: DedupConfig) -> bool:
    """Return whether content words find candidates."""
    return config.candidates in ("simhash", "both")


def banding_of(config: DedupConfig) -> Banding | None:
    """Return the bands by which sketches find candidates, None if they find none."""
    return None if config.candidates == "simhash" else Banding(config.bands, config.rows)


def shared_bands(a: bytes, b: bytes, config: DedupConfig) -> int:
    """Return how many bands two sketches have in common, 0 if bands find no candidates."""
    cut = banding_of(config)
    if cut is None:
        return 0
    one, other = sketch_keys(a, cut), sketch_keys(b, cut)
    return int(np.count_nonzero(one == other)) if len(one) and len(other) else 0


def nearness(page: Fingerprint, canonical: Canonical) -> tuple[float, ...]:
    """Return the key that puts candidates in order: equal, then nearest, then oldest first."""
    other = canonical.fingerprint
    if page.body_digest == other.body_digest:
        rank = 0
    else:
        rank = 1 if has_equal_tokens(other, page) else 2
    content = word_distance(page.content, other.content)
    structure = word_distance(page.structure, other.structure)
    return (rank, _none_last(content), _none_last(structure), canonical.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What an index knows about the page that is to be judged.

    *versions* are the rows of the same thing in the last earlier run that saw it, less those that
    this crawl has met again already, and its canonicals of other crawls that show the same.
    *candidates* gives batches of canonicals that are no versions of it, in the order of `nearness`,
    and is asked no further than needed.  *declared* is the canonical that the page itself names,
    where such links decide.  *standing* tells how a canonical stands in this crawl, *rivals* which
    canonicals of its cluster could stand in its place.  *is_restored* says that somebody wants the
    page back that was dropped.
    """

    versions: Sequence[Version] = ()
    candidates: Callable[[], Iterable[Candidates]] = tuple
    declared: Canonical | None = None
    standing: Callable[[Canonical], Standing | None]
    rivals: Callable[[Canonical], Iterable[Canonical]] = lambda _: ()
    is_restored: bool = False


def decide(page: Fingerprint, past: Past, config: DedupConfig) -> Verdict:
    """Return the verdict on *page*.

    Where unchanged pages are kept, each crawl gives a whole copy of what it visits: a page repeats
    only what stands in this crawl, and what stands nowhere is kept in its place.
    """
    if page.is_empty:
        return Verdict(Reason.NOT_JUDGED, kept=True)
    version = _same_version(page, past.versions)
    if version and version.is_own:
        return _rival(page, version, past, config) or _unchanged(page, version, past, config)
    if past.is_restored:
        return replace(_kept(page, past), is_restored=True)
    if version and _still_repeats(page, version, past, config):
        return _unchanged(page, version, past, config)
    absent: Canonical | None = None
    looking = _Looking(page, past, config)
    for found, canonical in looking.matches():
        standing = _standing(canonical, past, config)
        if standing or config.unchanged == "drop":
            verdict = _verdict(found, canonical, standing, kept=False)
            return replace(verdict, candidates=looking.looked_at)
        absent = absent or canonical
    represents = absent.cluster if absent else None
    return replace(_kept(page, past), represents=represents, candidates=looking.looked_at)


@dataclass(slots=True)
class _Looking:
    """The search for what *page* repeats; *looked_at* counts the canonicals that it has met so far."""

    page: Fingerprint
    past: Past
    config: DedupConfig
    looked_at: int = 0

    def matches(self) -> Iterator[tuple[Match, Canonical]]:
        """Yield what the page repeats by the rule, the best first."""
        if declared := self.past.declared:
            found = match(declared.fingerprint, self.page, self.config)
            yield replace(found, reason=Reason.CANONICAL_LINK), declared
        for candidates in self.past.candidates():
            self.looked_at += candidates.looked_at
            for canonical in candidates.canonicals:
                found = match(canonical.fingerprint, self.page, self.config)
                if found.is_duplicate:
                    yield found, canonical


def _standing(canonical: Canonical, past: Past, config: DedupConfig) -> Standing | None:
    """Return how *canonical* stands; what was delivered once, ever, need not stand to be repeated."""
    found = past.standing(canonical)
    if found is None or config.unchanged == "drop":
        return None if found and found.is_elsewhere else found
    return found if found.is_kept else None


def _kept(page: Fingerprint, past: Past) -> Verdict:
    only = past.versions[0] if len(past.versions) == 1 else None
    replaced = only.canonical if only and only.is_own else None
    is_updated = any(version.canonical and not version.shows(page) for version in past.versions)
    return Verdict(
        Reason.UPDATED if is_updated else Reason.NEW,
        kept=True,
        previous=only.origin if only else None,
        replaces=replaced.id if replaced else None,
    )


def _same_version(page: Fingerprint, versions: Sequence[Version]) -> Version | None:
    same = [version for version in versions if version.canonical and version.shows(page)]
    return min(same, key=lambda version: (not version.is_own, version.origin), default=None)


def _rival(page: Fingerprint, version: Version, past: Past, config: DedupConfig) -> Verdict | None:
    """Return that *page* repeats what this crawl has kept in its place, if it has and the page does."""
    assert version.canonical is not None
    if config.unchanged == "drop" or past.is_restored:
        return None
    rivals = past.rivals(version.canonical)
    for rival in sorted(rivals, key=lambda canonical: nearness(page, canonical)):
        found = match(rival.fingerprint, page, config)
        standing = _standing(rival, past, config)
        if found.is_duplicate and standing and not standing.is_elsewhere:
            return _verdict(found, rival, standing, kept=False, previous=version.origin)
    return None


def _still_repeats(page: Fingerprint, version: Version, past: Past, config: DedupConfig) -> bool:
    """Return whether a page that was a copy is one by the rule of today, of what stands today."""
    canonical = version.canonical
    assert canonical is not None
    is_declared = past.declared is not None and past.declared.id == canonical.id
    if not (is_declared or match(canonical.fingerprint, page, config).is_duplicate):
        return False
    return config.unchanged == "drop" or _standing(canonical, past, config) is not None


def _unchanged(page: Fingerprint, version: Version, past: Past, config: DedupConfig) -> Verdict:
    assert version.canonical is not None
    found = replace(match(version.canonical.fingerprint, page, config), reason=Reason.UNCHANGED)
    kept = version.is_own and (config.unchanged == "keep" or past.is_restored)
    # A page that is kept repeats only itself: nothing need stand for it.
    standing = None if version.is_own else _standing(version.canonical, past, config)
    return _verdict(found, version.canonical, standing, kept=kept, previous=version.origin)


def _verdict(
    found: Match,
    canonical: Canonical,
    standing: Standing | None,
    *,
    kept: bool,
    previous: int | None = None,
) -> Verdict:
    return Verdict(
        reason=found.reason,
        kept=kept,
        content_distance=found.content_distance,
        structure_distance=found.structure_distance,
        similarity=found.similarity,
        canonical=canonical.id,
        canonical_url=canonical.url,
        canonical_run=canonical.run,
        standing=standing,
        previous=previous,
    )


def _fingerprint(page: Page | Fingerprint, config: DedupConfig) -> Fingerprint:
    return page if isinstance(page, Fingerprint) else fingerprint(page, config)


def _is_belied(a: Fingerprint, b: Fingerprint, alike: float) -> bool:
    return have_check_sketches(a, b) and not agrees(alike, a.check_sketch, b.check_sketch)


def _within(distance: int | None, limit: int) -> bool:
    return distance is not None and distance <= limit


def _none_last(distance: int | None) -> float:
    return float("inf") if distance is None else distance
