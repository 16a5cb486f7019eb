"""Why one page repeats another one, or does not: the numbers, and what the rule says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dedup.index import Row, Run
from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import simhash_hex
from dedup.model.printable import printable
from dedup.model.verdict import Match, Reason
from dedup.prints.config import DedupConfig
from dedup.rule.decide import SAME_TEXT
from dedup.rule.keys import Key, keys_of
from dedup.rule.loss import FEW_WORDS, LOST, MIN_SIMILARITY, allowed_words, loses, words_of
from dedup.rule.match import OUTRIGHT, match

# What the crawl decided stands on record; what follows this may differ.
_AGAIN = "Judged again now, by these two pages alone and by today's settings:"
_OTHERS = "By these two pages alone it would be kept; the crawl had kept other pages with its words."
# What became of duplicates, by the action of their run.
FATES = {"drop": "dropped", "skip": "dropped", "mark": "marked", "report": "let through"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a page stands to a canonical by the rule of today.

    *words* is how many words the page has, *keys* could make it a candidate, *reasons* are sentences.
    """

    canonical: Fingerprint
    page: Fingerprint
    match: Match
    words: int
    keys: tuple[Key, Key]
    config: DedupConfig
    reasons: tuple[str, ...]

    @property
    def record(self) -> dict[str, Any]:
        """What there is to know of it, for JSON; simhashes are 16 hexadecimal digits."""
        matched = self.match
        return {
            "reason": matched.reason.value,
            "is_duplicate": matched.is_duplicate,
            "finding": matched.finding,
            "sentence": matched.sentence,
            "similarity": matched.similarity,
            "min_similarity": MIN_SIMILARITY,
            "lost": matched.lost,
            "words": self.words,
            "max_lost_words": self.config.max_lost_words,
            **{
                key.field: {
                    "canonical": simhash_hex(self.canonical.simhash(key.field)),
                    "page": simhash_hex(self.page.simhash(key.field)),
                    "distance": key.distance,
                    "max_distance": key.bound,
                    "is_used": key.is_used,
                    "is_within": key.is_met,
                }
                for key in self.keys
            },
            "reasons": list(self.reasons),
        }


def explain(
    canonical: Fingerprint, page: Fingerprint, config: DedupConfig, row: Row | None = None
) -> Explanation:
    """Return how *page* stands to *canonical*, as `dedup.rule.match.match` has it, and why.

    The two alone are compared.  *row* is that of *page* where it repeats *canonical*: what its site
    made of it is said as well.
    """
    matched, keys = match(canonical, page, config), keys_of(canonical, page, config)
    reasons: tuple[str, ...] = (matched.sentence,)
    if matched.finding not in OUTRIGHT:
        end = "So it is a copy." if matched.is_duplicate else "So it is no copy."
        if row and not matched.is_duplicate:
            end = by_site(row, matched, config) or end
        is_again = row is not None and row.verdict.reason is Reason.NEAR_DUPLICATE
        reasons = (
            *((_AGAIN,) if is_again else ()),
            *(key.sentence for key in keys),
            matched.sentence,
            end,
        )
    return Explanation(canonical, page, matched, words_of(page), keys, config, reasons)


def by_site(row: Row, matched: Match, config: DedupConfig) -> str:
    """Return a sentence if it was its site that made *row* a near-duplicate, else "".

    *matched* compares its page with the canonical alone, by *config*, and finds too much lost; what of
    it stands on other pages was known in the crawl only.
    """
    missing = row.verdict.missing
    if row.verdict.reason is not Reason.NEAR_DUPLICATE or missing is None or matched.finding != LOST:
        return ""
    allowed = round(allowed_words(row.sighting.fingerprint, config))  # on record it is rounded too
    return _OTHERS if missing <= min(FEW_WORDS, allowed) else ""


def why(kept: Row, row: Row, config: DedupConfig) -> str:
    """Return why the page of *row* is a copy of one that was *kept*; the two alone are compared.

    Where they alone, or the settings of the report, would not make it one, the reason is the one that
    is `on_record`: it was the reason of the crawl.
    """
    if row.verdict.reason is Reason.UNCHANGED:
        return SAME_TEXT
    matched = match(kept.sighting.fingerprint, row.sighting.fingerprint, config)
    is_doubted = row.verdict.reason is Reason.NEAR_DUPLICATE and not matched.is_duplicate
    return (on_record(row) if is_doubted else "") or matched.sentence


def on_record(row: Row) -> str:
    """Return why the crawl took the page of *row* for a near copy, as the row has it."""
    similarity = row.verdict.similarity
    shared = "" if similarity is None else f"The pages shared {similarity:.2f} of their shingles."
    return f"{shared} {lost_sentence(row)}".strip()


def verdict_sentence(row: Row, run: Run | None) -> str:
    """Return what was decided about *row* when *run*, if it is known, saw it, as a sentence."""
    verdict = row.verdict
    fate = f"It was {FATES.get(run.action if run else '', 'dropped')}"
    if verdict.represents:
        return "It was kept in place of a page that it repeats and that its crawl had not met."
    return {
        Reason.NEW: "It was kept: by the rule it repeats no page that had been kept before.",
        Reason.UPDATED: "It was kept: in the last run this URL had another text.",
        Reason.UNCHANGED: f"{'It was kept' if verdict.kept else fate}: its text is the one that this "
        "URL had in the last run.",
        Reason.NOT_JUDGED: "It was kept: there was nothing in it to judge.",
        Reason.EXACT_DUPLICATE: f"{fate}: all its bytes are those of a page that was kept.",
        Reason.NEAR_DUPLICATE: f"{fate}: its text is nearly that of a page that was kept. "
        f"{lost_sentence(row)}",
    }[verdict.reason].rstrip()


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


def lost_sentence(row: Row) -> str:
    """Return `loss`, and what was known of the site where that decided, all by the row."""
    found, lost = row.verdict, loss(row)
    if not lost or found.site_pages is None:
        return f"The page lost {lost}." if lost else ""
    return f"The page lost {lost}. {found.site_pages:,} kept pages of the site were known."


def differing(kept: Row, row: Row) -> list[tuple[str, str, str]]:
    """Return the fields that were not judged and differ: name, value, value of the page *kept*."""
    ours, theirs = (json.loads(one.sighting.unjudged or "{}") for one in (row, kept))
    found = ((name, ours.get(name, "none"), theirs.get(name, "none")) for name in sorted(ours | theirs))
    return [(name, str(a), str(b)) for name, a, b in found if a != b]


def told_fields(fields: Iterable[tuple[str, str, str]]) -> str:
    """Return fields as `differing` has them, each as "price 85.00 for 80.00"."""
    return ", ".join(f"{printable(name)} {printable(a)} for {printable(b)}" for name, a, b in fields)
