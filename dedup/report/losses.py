"""What was lost with a page, as its row has it, in words."""

from __future__ import annotations

import json

from dedup.index import Row
from dedup.recipes.config import DedupConfig
from dedup.rule.loss import FEW_WORDS, LOST, allowed_words, loses, words_of
from dedup.values.match import Check
from dedup.values.printable import printable
from dedup.values.verdict import Reason, Verdict

_OTHERS = "By these two pages alone it would be kept; the crawl had kept other pages with its words."


def loss(row: Row) -> str:
    """Return how much was lost with the page of *row*: "about 12 of 640 words"; "" where none tells."""
    found = row.verdict
    if found.lost is None:
        return ""
    told = loses(found.lost, words_of(row.sighting.fingerprint))
    if found.nowhere == found.lost:
        return told
    but = f" but about {found.nowhere:,}" if found.nowhere else ""
    return f"{told}, all{but} of which stand on other pages kept"


def other_fields(kept: Row, row: Row) -> str:
    """Return what differs in fields that were not judged, each as "price 85.00 for 80.00"."""
    ours, theirs = (json.loads(one.sighting.unjudged or "{}") for one in (row, kept))
    found = ((name, ours.get(name, "none"), theirs.get(name, "none")) for name in sorted(ours | theirs))
    return ", ".join(f"{printable(n)} {printable(a)} for {printable(b)}" for n, a, b in found if a != b)


def lost_sentence(row: Row) -> str:
    """Return `loss`, and what was known of the site where that decided, all by the row."""
    lost = loss(row)
    return f"The page lost {lost}.{_of_site(row.verdict)}" if lost else ""


def _of_site(found: Verdict) -> str:
    """Return what was known of the site when *found* was found, as more sentences, "" for nothing."""
    if found.site_pages is None:
        return ""
    own = (
        f"; of what is not common on them the two share {found.own:.2f}" if found.own is not None else ""
    )
    return f" {found.site_pages:,} kept pages of the site were known{own}."


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
    return _OTHERS if missing <= min(FEW_WORDS, allowed) else ""
