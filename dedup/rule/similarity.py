"""Pages are duplicates if they share enough of their shingles, by their sketches."""

from __future__ import annotations

from collections.abc import Sequence

from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import Match, Reason
from dedup.native._search import similarity
from dedup.rule.keys import distances

# A candidate can be a duplicate from this estimated Jaccard similarity of shingles on.
MIN_SIMILARITY = 0.62

ALIKE, NOT_ALIKE = "alike", "not_alike"


def check_of(kept: Fingerprint, page: Fingerprint) -> Match:
    """Return whether *page* shares as much with the page *kept* as `MIN_SIMILARITY` asks for."""
    alike, bound = similarity(kept.sketch, page.sketch), MIN_SIMILARITY
    finding = ALIKE if alike >= bound else NOT_ALIKE
    share = f"The pages share {shown(alike, bound)} of their shingles"
    sentence = f"{share}, at least {bound:g} is asked for."
    reason = Reason.NEAR_DUPLICATE if finding is ALIKE else Reason.NEW
    return Match(reason, finding, sentence, alike, *distances(kept, page))


def may_pass(page: Fingerprint, sketches: Sequence[bytes]) -> list[bool]:
    """Return for each of *sketches* whether a kept page that has it could pass, whatever the site.

    A page that is ruled out here is never read.
    """
    return [similarity(page.sketch, sketch) >= MIN_SIMILARITY for sketch in sketches]


def shown(value: float, bound: float) -> str:
    """Return *value* with as few digits, two or more, as tell on which side of *bound* it is.

    >>> shown(0.6234, 0.62), shown(0.6196, 0.62), shown(1.0, 0.62)
    ('0.62', '0.6196', '1.00')
    """
    text = f"{value:.2f}"
    if (float(text) >= bound) == (value >= bound):
        return text
    texts = (f"{value:.3f}", f"{value:.4f}", f"{value:.6f}")
    return next((text for text in texts if (float(text) >= bound) == (value >= bound)), repr(value))
