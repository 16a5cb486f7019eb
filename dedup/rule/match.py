"""The rule for two pages: does the second repeat the first?"""

from __future__ import annotations

from collections.abc import Callable

from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import Check, Match, Reason
from dedup.prints.config import DedupConfig
from dedup.prints.fingerprinter import fingerprint
from dedup.prints.samples import are_variants, is_apart
from dedup.reading.page import Page
from dedup.rule.keys import Keys, distances, has_equal_text
from dedup.rule.loss import LossVerifier, has_same_title, has_title_alone
from dedup.rule.site import NO_SITE, SiteContext

EMPTY, EQUAL_BYTES, EQUAL_TEXT = "empty", "equal_bytes", "equal_tokens"
OTHER_TITLE, OTHER_VARIANT, NO_CANDIDATE = "other_title", "other_variant", "no_candidate"
OTHER_PLACE = "other_place"
# What is found without a key and a loss.
OUTRIGHT = (EMPTY, EQUAL_BYTES, EQUAL_TEXT)

_DEFAULT = DedupConfig()


def compare(a: Page | Fingerprint, b: Page | Fingerprint, config: DedupConfig = _DEFAULT) -> Match:
    """Return what would happen to *b* after *a* at another URL, two pages or two fingerprints.

    Nothing is known here of other pages of their site.  In a crawl, that knowledge can keep pages which
    share only what is common on the site, and drop those whose words are on other kept pages.
    """
    return match(_fingerprint(a, config), _fingerprint(b, config), config)


def match(
    kept: Fingerprint, page: Fingerprint, config: DedupConfig, site: SiteContext = NO_SITE
) -> Match:
    """Return how *page* relates to one that was *kept*: the whole rule for two pages.

    Equal bytes are an exact duplicate.  A page that has its title alone inside the frame of its site
    repeats none with another title.  The same text with `MIN_EQUAL_TOKENS` tokens or more is a
    near-duplicate, and so is a candidate, by content, structure or a band, with which little is
    lost, but for one of two pages that are for different languages or regions.
    """
    if outright := _outright(kept, page):
        return outright
    check = LossVerifier(config).check(kept, page, site)
    if not check.passes:
        return Match(Reason.NEW, check)
    keys = Keys(kept, page, config)
    if not keys.are_met:
        return Match(Reason.NEW, _unfound(check, keys))
    return Match(Reason.NEAR_DUPLICATE, check)


def sieve(page: Fingerprint, config: DedupConfig, site: SiteContext) -> Callable[[Fingerprint], bool]:
    """Return what tells of a kept page whether *page* may repeat it: False is certain, and fast."""
    may_pass = LossVerifier(config).sieve(page, site)
    return lambda kept: (
        kept.body_digest == page.body_digest or has_equal_text(kept, page) or may_pass(kept)
    )


def _outright(kept: Fingerprint, page: Fingerprint) -> Match | None:
    """Return how *page* relates to one that was *kept* where no loss has to be asked about."""
    if page.is_empty:
        sentence = "There is nothing in the page to judge."
        return Match(Reason.NOT_JUDGED, _plain(kept, page, EMPTY, sentence, 0.0))
    if page.body_digest == kept.body_digest:
        return Match(
            Reason.EXACT_DUPLICATE, _plain(kept, page, EQUAL_BYTES, "All bytes are equal.", 1.0)
        )
    if has_title_alone(page) and not has_same_title(kept, page):
        sentence = "Inside the frame of its site the page has only a title, and that is another."
        return Match(Reason.NEW, _plain(kept, page, OTHER_TITLE, sentence, 0.0))
    if has_equal_text(kept, page):
        sentence = f"The texts are the same, with {page.tokens:,} tokens."
        return Match(Reason.NEAR_DUPLICATE, _plain(kept, page, EQUAL_TEXT, sentence, 1.0))
    return _apart(kept, page)


def _apart(kept: Fingerprint, page: Fingerprint) -> Match | None:
    """Return that one of two pages repeats no other like it, whatever their texts say."""
    if is_apart(kept.traits, page.traits):
        sentence = "They differ in a place that is marked: it tells pages apart."
        return Match(Reason.NEW, _plain(kept, page, OTHER_PLACE, sentence, 0.0))
    if are_variants(kept.traits, page.traits):
        sentence = "Each says what it is for: another language or region, or a record of another id."
        return Match(Reason.NEW, _plain(kept, page, OTHER_VARIANT, sentence, 0.0))
    return None


def _plain(
    kept: Fingerprint, page: Fingerprint, finding: str, sentence: str, similarity: float
) -> Check:
    passes = finding in {EQUAL_BYTES, EQUAL_TEXT}
    near = distances(kept, page)
    return Check(passes, finding, sentence, similarity, *near, lost=0 if passes else None)


def _unfound(check: Check, keys: Keys) -> Check:
    sentence = f"{check.sentence} But no key makes the page a candidate ({'; '.join(keys.figures)})."
    return check._replace(passes=False, finding=NO_CANDIDATE, sentence=sentence)


def _fingerprint(page: Page | Fingerprint, config: DedupConfig) -> Fingerprint:
    return page if isinstance(page, Fingerprint) else fingerprint(page, config)
