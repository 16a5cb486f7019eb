"""The rule for a page and all that was seen before it.  Pure; knows no storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Protocol

from dedup.model.fingerprint import HALF, Fingerprint
from dedup.model.verdict import Candidates, Canonical, Match, Reason, Standing, Verdict, Version
from dedup.prints.fingerprinter import DedupConfig, other_pairs
from dedup.rule import match as rule
from dedup.rule.match import SiteContext, has_equal_text, nearness

SAID, STRANGER = "said", "stranger"  # by what somebody said: the page is a copy, or it is not
SAME_TEXT = "An earlier run saw the same text at this URL."


class Past(Protocol):
    """What an index knows about the page that is to be judged (`index/known.py` has it)."""

    @property
    def versions(self) -> Sequence[Version]:
        """What the last earlier run saw at its URL or key, and this crawl has not met again yet; and
        its canonicals of other crawls with the same text."""

    @property
    def again(self) -> Version | None:
        """What this crawl has kept of its URL by an earlier request."""

    @property
    def is_restored(self) -> bool:
        """Whether it was dropped and somebody wants it back."""

    def candidates(self) -> Iterable[Candidates]:
        """Yield other canonicals, by `nearness`; for the next batch only if the last had no match."""

    def standing(self, canonical: Canonical, /) -> Standing | None:
        """Return why this crawl may count on a canonical, None if it may not."""

    def rivals(self, canonical: Canonical, /) -> Iterable[Canonical]:
        """Yield other canonicals of its cluster."""

    def site(self) -> SiteContext:
        """Return what is known about its site."""

    def is_own_address(self, url: str, /) -> bool:
        """Return whether that is another address of the page."""

    def dropped(self) -> Iterable[tuple[Fingerprint, Canonical]]:
        """Yield what its addresses showed when they were last dropped as a copy, and of what."""

    def originals(self) -> Iterable[Canonical]:
        """Yield the pages that somebody says it is a copy of."""

    def is_stranger(self, canonical: Canonical, /) -> bool:
        """Return whether somebody says it is no copy of that: it is never dropped for it."""

    def has_left(self, canonical: Canonical, /) -> bool:
        """Return whether the address of a canonical is gone, or showed another page at last."""

    def is_back(self) -> bool:
        """Return whether its own address was gone."""

    def flip(self) -> tuple[int, Canonical, bool] | None:
        """Return, if one of its last visits showed the same: the first row that did, the canonical that
        was last delivered, and whether the last visit showed it."""


def decide(page: Fingerprint, past: Past, config: DedupConfig) -> Verdict:
    """Return the verdict on *page*.

    Where unchanged pages are kept, each crawl delivers all that it visits once: a page is dropped only
    for one that this crawl may count on (`Standing`), and is otherwise kept in place of that one.
    """
    return _Case(page, past, config).verdict()


@dataclass(slots=True)
class _Case:
    """A page and its past; *looked_at* counts the candidates met so far, *nearest* has the row
    of the first that it does not repeat, and what was found."""

    page: Fingerprint
    past: Past
    config: DedupConfig
    looked_at: int = 0
    nearest: tuple[int, str] | None = None
    site: SiteContext | None = None
    sieves: dict[str, Callable[[Fingerprint], bool]] = field(default_factory=dict)

    def verdict(self) -> Verdict:
        if self.page.is_empty:
            return Verdict(Reason.NOT_JUDGED, kept=True, words=self.page.words)
        if self.past.again and not self.past.is_restored:
            return self._asked_again(self.past.again)
        same = self._same_version()
        if same and same[0].is_own:
            return self._rival(*same) or self._unchanged(*same)
        if self.past.is_restored:
            return replace(self._kept(), finding=Verdict.RESTORED)
        if same and self._still_repeats(same[1]):
            return self._unchanged(*same)
        return self._flipped() or self._compared()

    def _flipped(self) -> Verdict | None:
        """Return the verdict on a page that shows what one of its last visits showed.

        To go to and fro is no news; what stays replaces the version last delivered.
        """
        if self.config.unchanged != "drop" or not self.past.versions or not (flip := self.past.flip()):
            return None
        origin, now, stays = flip
        if stays:
            return replace(self._kept(), reason=Reason.UPDATED, previous=now.id, replaces=now.id)
        seen = Verdict(Reason.UNCHANGED, kept=False, previous=origin, words=self.page.words)
        return replace(seen, canonical=origin, canonical_url=now.url)

    def _asked_again(self, last: Version) -> Verdict:
        canonical = last.canonical
        assert canonical is not None
        if not last.shows(self.page):
            updated = self._kept()
            return replace(updated, reason=Reason.UPDATED, previous=last.origin, replaces=canonical.id)
        matched = self._match(canonical)._replace(reason=Reason.UNCHANGED, sentence=SAME_TEXT)
        standing = self._standing(canonical)
        return self._verdict(matched, canonical, standing, kept=False, previous=last.origin)

    def _compared(self) -> Verdict:
        """Return the verdict by what the page repeats, the best first."""
        absent: tuple[Match, Canonical] | None = None
        gone: Canonical | None = None
        drops = self.config.unchanged == "drop"
        for matched, canonical in self._matches():
            standing = self._standing(canonical)
            if drops and not standing and self.past.has_left(canonical):
                gone = gone or canonical
            elif standing or (drops and not self._is_news(matched, canonical)):
                return self._verdict(matched, canonical, standing, kept=False)
            else:
                absent = absent or (matched, canonical)
        if replaced := gone if drops else absent and absent[1]:
            return replace(self._kept(), represents=replaced.cluster)
        if not drops:
            return self._kept()
        if copy := self._as_before(absent):
            return self._verdict(*copy, None, kept=False)
        return replace(self._kept(), reason=Reason.UPDATED) if absent else self._kept()

    def _is_news(self, matched: Match, canonical: Canonical) -> bool:
        """Return whether its sentences differ from those of the *canonical*: a clock makes no news."""
        here = canonical.fingerprint
        if matched.finding == SAID or here.token_digest == self.page.token_digest:
            return False
        if here.sentences and self.page.sentences:
            return here.sentences[:HALF] != self.page.sentences[:HALF]
        return here.sample != self.page.sample

    def _as_before(self, near: tuple[Match, Canonical] | None) -> tuple[Match, Canonical] | None:
        """Return what the page is a copy of, as at its last visit, None where it has changed since.

        It has if it differs from that visit by more than a copy may: a page for print with a clock
        would be news each time.  *near* is what it repeats, if it repeats anything.
        """
        if any(version.is_own for version in self.past.versions):
            return None
        # Another address of that page may be the first to show an edit of it.
        is_own = near is not None and self.past.is_own_address(near[1].url)
        for last, canonical in self.past.dropped():
            if is_own and self._is_edited(last):
                continue
            if rule.match(last, self.page, self.config, self.site or rule.NO_SITE).is_duplicate:
                matched, of = near or (self._match(canonical), canonical)
                if matched.is_duplicate:
                    return matched, of
                loses_little = (matched.lost or 0) <= rule.allowed_words(self.page, self.config)
                if matched.similarity >= rule.MIN_SIMILARITY and loses_little:
                    return matched._replace(reason=Reason.NEAR_DUPLICATE), of
        return None

    def _is_edited(self, last: Fingerprint) -> bool:
        """Return whether the page says what it did not say when it was seen *last*, but for a clock."""
        if last.sentences and self.page.sentences:
            return last.sentences[:HALF] != self.page.sentences[:HALF]
        return bool(other_pairs(last.traits, self.page.traits))

    def _matches(self) -> Iterator[tuple[Match, Canonical]]:
        """Yield what the page repeats, best first: as somebody says, by the rule."""
        for original in self.past.originals():
            if not self.past.is_stranger(original):
                yield self._as_said(original), original
        elsewhere: list[tuple[Match, Canonical]] = []
        for candidates in self.past.candidates():
            self.looked_at += candidates.looked_at
            for canonical in candidates.canonicals:
                if not self._may_repeat(canonical):
                    self._note(canonical, rule.LOST)
                    continue
                matched = self._match(canonical)
                if matched.finding == rule.ELSEWHERE:
                    elsewhere.append((matched, canonical))
                elif matched.is_duplicate:
                    yield matched, canonical
                else:
                    self._note(canonical, matched.finding)
        # Pages that hold its words only together with others are named last, by what is lost.
        elsewhere.sort(key=lambda one: (one[0].lost or 0, nearness(self.page, one[1])[1], one[1].id))
        yield from elsewhere

    def _note(self, canonical: Canonical, finding: str) -> None:
        """Note why the page is kept beside *canonical*, the first that is like it."""
        if self.nearest is None and rule.are_alike(self.page, [canonical.fingerprint.sketch])[0]:
            self.nearest = canonical.id, finding

    def _match(self, canonical: Canonical) -> Match:
        """Return how the page relates to *canonical* by the rule; it never repeats a stranger."""
        matched = rule.match(canonical.fingerprint, self.page, self.config, self._beside(canonical.host))
        if matched.is_duplicate and self.past.is_stranger(canonical):
            sentence = "The file of marks says that the pages are different."
            return matched._replace(reason=Reason.NEW, finding=STRANGER, sentence=sentence)
        return matched

    def _beside(self, host: str) -> SiteContext:
        self.site = self.site or self.past.site()
        return self.site.beside(host)

    def _may_repeat(self, canonical: Canonical) -> bool:
        host = canonical.host
        if host not in self.sieves:
            self.sieves[host] = rule.sieve(self.page, self.config, self._beside(host))
        return self.sieves[host](canonical.fingerprint)

    def _as_said(self, original: Canonical) -> Match:
        matched = self._match(original)
        if matched.is_duplicate:
            return matched
        sentence = "The file of marks says that the page is a copy of it."
        return matched._replace(reason=Reason.NEAR_DUPLICATE, finding=SAID, sentence=sentence)

    def _standing(self, canonical: Canonical) -> Standing | None:
        standing = self.past.standing(canonical)
        if standing is None or self.config.unchanged == "drop":
            return None if standing and standing.is_elsewhere else standing
        return standing if standing.is_kept else None

    def _kept(self) -> Verdict:
        versions = self.past.versions
        only = versions[0] if len(versions) == 1 else None
        replaced = only.canonical if only and only.is_own else None
        is_updated = any(version.canonical and not version.shows(self.page) for version in versions)
        nearest, finding = self.nearest or (None, "")
        return Verdict(
            Reason.UPDATED if is_updated else Reason.NEW,
            kept=True,
            previous=only.origin if only else None,
            replaces=replaced.id if replaced else None,
            words=self.page.words,
            candidates=self.looked_at,
            finding=finding,
            nearest=nearest,
        )

    def _same_version(self) -> tuple[Version, Canonical] | None:
        shown = (version for version in self.past.versions if version.shows(self.page))
        same = ((one, one.canonical) for one in shown if one.canonical)
        found = (one for one in same if not self.past.is_stranger(one[1]))
        return min(found, key=lambda one: (not one[0].is_own, one[0].origin), default=None)

    def _rival(self, version: Version, canonical: Canonical) -> Verdict | None:
        """Return the verdict if the page repeats what this crawl has kept in its place, else None."""
        if self.config.unchanged == "drop" or self.past.is_restored:
            return None
        rivals = sorted(self.past.rivals(canonical), key=partial(nearness, self.page))
        # What changed while it was crawled was kept although another request had given its text before.
        shown = (one for one in self.past.versions if not one.is_own and one.shows(self.page))
        rivals += (one.canonical for one in shown if one.canonical)
        for rival in (*rivals, *self._now_equal(canonical)):
            matched, standing = self._match(rival), self._standing(rival)
            if matched.is_duplicate and standing and not standing.is_elsewhere:
                return self._verdict(matched, rival, standing, kept=False, previous=version.origin)
        return None

    def _now_equal(self, own: Canonical) -> Iterator[Canonical]:
        if self.page.left_out:  # they may have its text since it is known what changes by itself
            # Equal bytes come first, then equal texts.
            for found in islice(self.past.candidates(), 2):
                equals = (one for one in found.canonicals if has_equal_text(one.fingerprint, self.page))
                yield from (one for one in equals if one.id != own.id)

    def _still_repeats(self, canonical: Canonical) -> bool:
        """Return whether a page that was a duplicate still is one by today's rule and pages."""
        if self.past.is_stranger(canonical) or not self._match(canonical).is_duplicate:
            return False
        if self.config.unchanged == "drop" and not self.past.has_left(canonical):
            return True
        return self._standing(canonical) is not None

    def _unchanged(self, version: Version, canonical: Canonical) -> Verdict:
        matched = self._match(canonical)._replace(reason=Reason.UNCHANGED, sentence=SAME_TEXT)
        keeps = self.config.unchanged == "keep" or self.past.is_restored
        is_back = version.is_own and not keeps and self.past.is_back()
        # Another page may say what it says: one that a crawl kept in its place.
        if is_back and not (found := self._compared()).kept:
            return found
        kept = is_back or (version.is_own and keeps)
        # A page that is kept repeats only itself: it needs no other page to count on.
        standing = None if version.is_own else self._standing(canonical)
        same = self._verdict(matched, canonical, standing, kept=kept, previous=version.origin)
        return replace(same, similarity=None) if is_back else same

    def _verdict(
        self,
        matched: Match,
        canonical: Canonical,
        standing: Standing | None,
        *,
        kept: bool,
        previous: int | None = None,
    ) -> Verdict:
        return Verdict(
            **matched._asdict(),
            kept=kept,
            canonical=canonical.id,
            canonical_url=canonical.url,
            canonical_run=canonical.run,
            standing=standing,
            previous=previous,
            words=self.page.words,
            candidates=self.looked_at,
        )
