"""The rule for a page and all that was seen before it.  Pure; knows no storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dedup.recipes.config import DedupConfig
from dedup.rule.verifier import has_equal_tokens, match
from dedup.values.fingerprint import Fingerprint
from dedup.values.simhashes import simhash_distance
from dedup.values.verdict import Candidates, Canonical, Match, Reason, Standing, Verdict, Version


def nearness(page: Fingerprint, canonical: Canonical) -> tuple[float, ...]:
    """Return the key that puts candidates in order: equal, then nearest, then oldest first."""
    other = canonical.fingerprint
    if page.body_digest == other.body_digest:
        rank = 0
    else:
        rank = 1 if has_equal_tokens(other, page) else 2
    content = simhash_distance(page.content_simhash, other.content_simhash)
    structure = simhash_distance(page.structure_simhash, other.structure_simhash)
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


def _none_last(distance: int | None) -> float:
    return float("inf") if distance is None else distance
