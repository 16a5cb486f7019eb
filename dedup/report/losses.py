"""What was lost with a page, as its row has it, in words."""

from __future__ import annotations

from dedup.index import Row
from dedup.recipes.config import DedupConfig
from dedup.rule.loss import LOST, MISSING_WORDS, allowed_words, loses, words_of
from dedup.values.match import Check
from dedup.values.verdict import Reason

_OTHERS = "By these two pages alone it would be kept; the crawl had kept other pages with its words."


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


def on_record(row: Row) -> str:
    """Return why the crawl took the page of *row* for a near copy, as the row has it."""
    similarity = row.verdict.similarity
    shared = "" if similarity is None else f"The pages shared {similarity:.2f} of their shingles."
    return f"{shared} {lost_sentence(row)}".strip()


def by_site(row: Row, check: Check, config: DedupConfig) -> str:
    """Return a sentence if it was its site that made *row* a near-duplicate, else "".

    *check* compares its page with the canonical alone, by *config*, and finds too much lost; what of it
    stands on other pages was known in the crawl only.
    """
    missing = row.verdict.missing
    if row.verdict.reason is not Reason.NEAR_DUPLICATE or missing is None or check.finding != LOST:
        return ""
    allowed = round(allowed_words(row.sighting.fingerprint, config))  # on record it is rounded too
    return _OTHERS if missing <= min(MISSING_WORDS, allowed) else ""
