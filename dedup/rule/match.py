"""The rule for two pages: does the second repeat the first?"""

from __future__ import annotations

from collections.abc import Callable

from dedup.model.fingerprint import NAMED, Fingerprint
from dedup.model.verdict import Match, Reason
from dedup.prints.config import DedupConfig
from dedup.prints.fingerprinter import (
    are_records,
    are_variants,
    fingerprint,
    is_apart,
    names_record,
    other_pairs,
)
from dedup.reading.page import Page
from dedup.rule import loss
from dedup.rule.loss import (
    MIN_EQUAL_TOKENS,
    STRUCTURE_MAX_DISTANCE,
    distances,
    has_equal_text,
    has_same_title,
    is_candidate,
)
from dedup.rule.site import NO_SITE, SiteContext

EMPTY, EQUAL_BYTES, EQUAL_TEXT = "empty", "equal_bytes", "equal_tokens"
NO_CANDIDATE = "no_candidate"
OUTRIGHT = (EMPTY, EQUAL_BYTES, EQUAL_TEXT)
"""What is found without a key and a loss."""

_DEFAULT = DedupConfig()


def compare(a: Page | Fingerprint, b: Page | Fingerprint, config: DedupConfig = _DEFAULT) -> Match:
    """Return what would happen to *b* after *a* at another URL, two pages or two fingerprints.

    Nothing is known here of other pages of their site.  In a crawl, that knowledge can keep pages which
    share only what is common on the site, and drop those whose words are on other kept pages.
    """
    kept, page = (one if isinstance(one, Fingerprint) else fingerprint(one, config) for one in (a, b))
    return match(kept, page, config)


def match(
    kept: Fingerprint, page: Fingerprint, config: DedupConfig, site: SiteContext = NO_SITE
) -> Match:
    """Return how *page* relates to one that was *kept*: the whole rule for two pages.

    Equal bytes are an exact duplicate.  A page that has its title alone inside the frame of its site
    repeats none with another title.  The same text with `MIN_EQUAL_TOKENS` tokens or more is a
    near-duplicate, and so is a candidate, by content or structure, with which little is lost,
    but for one of two pages that are for different languages or regions.
    """
    if outright := _outright(kept, page):
        return outright
    found = loss.check(kept, page, config, site)
    if not found.is_duplicate or is_candidate(kept, page, config):
        return found
    content, structure = ("-" if one is None else one for one in distances(kept, page))
    sentence = (
        f"{found.sentence} But the page is no candidate: content differs in {content} bits, at most "
        f"{config.max_distance} are allowed, structure in {structure}, at most {STRUCTURE_MAX_DISTANCE}."
    )
    return found._replace(reason=Reason.NEW, finding=NO_CANDIDATE, sentence=sentence)


def sieve(page: Fingerprint, config: DedupConfig, site: SiteContext) -> Callable[[Fingerprint], bool]:
    """Return what tells of a kept page whether *page* may repeat it: False is certain, and fast."""
    may_pass = loss.sieve(page, config, site)
    return lambda kept: (
        kept.body_digest == page.body_digest or has_equal_text(kept, page) or may_pass(kept)
    )


def _outright(kept: Fingerprint, page: Fingerprint) -> Match | None:
    """Return how *page* relates to one that was *kept* where no loss has to be asked about."""
    reason, there, here = Reason.NEW, kept.traits, page.traits
    has_title_alone = page.inside not in {None, NAMED} and page.inside < MIN_EQUAL_TOKENS
    if page.is_empty:
        reason, finding = Reason.NOT_JUDGED, EMPTY
        sentence = "There is nothing in the page to judge."
    elif page.body_digest == kept.body_digest:
        reason, finding, sentence = Reason.EXACT_DUPLICATE, EQUAL_BYTES, "All bytes are equal."
    elif has_title_alone and not has_same_title(kept, page):
        finding = "other_title"
        sentence = "Inside the frame of its site the page has only a title, and that is another."
    elif are_records(there, here):
        finding, sentence = "other_record", "They name different records by their ids."
    elif has_equal_text(kept, page):
        reason, finding = Reason.NEAR_DUPLICATE, EQUAL_TEXT
        sentence = f"The texts are the same, with {page.tokens:,} tokens."
    elif is_apart(there, here):  # whatever their texts say
        finding = "other_place"
        sentence = (
            "In a place that is marked, which tells pages apart, they are not known to say the same."
        )
    elif are_variants(there, here):
        finding = "other_variant"
        sentence = "Both name alternates in other languages or regions, and they are for different ones."
    elif names_record(here) and not names_record(there) and other_pairs(there, here):
        finding = "other_record"
        sentence = "The page names a record by its id; the other one names none, and lacks words of it."
    else:
        return None
    is_copy = finding in {EQUAL_BYTES, EQUAL_TEXT}
    near = distances(kept, page)
    return Match(reason, finding, sentence, float(is_copy), *near, lost=0 if is_copy else None)
