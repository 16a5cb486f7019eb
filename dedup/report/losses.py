"""What was lost with a page, as its row has it, in words."""

from __future__ import annotations

from dedup.index import Row
from dedup.recipes.config import DedupConfig
from dedup.rule.loss import LOST, MISSING_WORDS, allowed_words, loses, words_of
from dedup.values.match import Check
from dedup.values.verdict import Reason

_ALONE = "By these two pages alone it would be kept; the crawl"
_OTHERS = f"{_ALONE} had kept other pages with its words."
_FRAME = f"{_ALONE} knew what is common on their site."


def loss(row: Row) -> str:
    """Return how much was lost with the page of *row*: "about 12 of 640 words"; "" where none tells."""
    lost = row.verdict.lost
    return "" if lost is None else loses(lost, words_of(row.sighting.fingerprint))


def lost_sentence(row: Row) -> str:
    """Return `loss`, and how much of it stands on no page that was kept, where that was asked."""
    if not (lost := loss(row)):
        return ""
    missing = row.verdict.missing
    if missing is None:
        return f"The page lost {lost}."
    if missing <= MISSING_WORDS:
        return f"The page lost {lost}; all but about {missing:,} stand on other pages that were kept."
    return f"The page lost {lost}; about {missing:,} of them stand on no page kept."


def by_site(row: Row, check: Check, config: DedupConfig) -> str:
    """Return a sentence if it was its site that made *row* a near-duplicate, else "".

    *check* compares its page with the canonical alone, by *config*, and finds too much lost: words
    that stand on other pages, and what is common on the site, are known in the crawl only.
    """
    if row.verdict.reason is not Reason.NEAR_DUPLICATE or check.finding != LOST:
        return ""
    lost, missing = row.verdict.lost, row.verdict.missing
    # They are rounded on record.
    allowed = round(allowed_words(row.sighting.fingerprint, config))
    if missing is not None:
        return _OTHERS if missing <= min(MISSING_WORDS, allowed) else ""
    return _FRAME if lost is not None and lost <= allowed else ""
