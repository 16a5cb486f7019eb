"""How one page relates to another one: numbers, a verdict on the two, and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from dedup.values.verdict import DUPLICATE_REASONS, Reason


class Check(NamedTuple):
    """What one rule says about a page and one that was kept.

    *finding* is a short code for what decided; *sentence* says it for people, with the value, the
    rule and its bound.  *similarity* is the estimated Jaccard similarity of shingles, 0 to 1;
    distances are 0 to 64 bits, None where one of the pages has no such simhash.  *margin* tells how
    far the value is from its bound: 0 or more if the page *passes*, 0 or less if not, and up to 1
    in size where the two are borderline.

    *lost* is about how many words of the page are not on the one that was kept, and *missing* about how
    many are on no kept page; *own* is what the two share of what is not common on their site, 0 to 1,
    and *site_pages* how many kept pages of the site were known.  None where that was not asked.
    """

    passes: bool
    finding: str
    sentence: str
    similarity: float
    content_distance: int | None
    structure_distance: int | None
    margin: float = inf
    lost: int | None = None
    missing: int | None = None
    own: float | None = None
    site_pages: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """Whether one page repeats another one (*reason*), and the *check* that says so."""

    reason: Reason
    check: Check

    @property
    def is_duplicate(self) -> bool:
        """Whether the second page repeats the first."""
        return self.reason in DUPLICATE_REASONS

    @property
    def content_distance(self) -> int | None:
        """In how many bits (0 to 64) the content simhashes differ, None where a page has none."""
        return self.check.content_distance

    @property
    def structure_distance(self) -> int | None:
        """In how many bits (0 to 64) the structure simhashes differ, None where a page has none."""
        return self.check.structure_distance

    @property
    def similarity(self) -> float:
        """The estimated Jaccard similarity (0 to 1) of shingles."""
        return self.check.similarity

    @property
    def lost(self) -> int | None:
        """About how many words of the page are not on the kept page; None if that was not counted."""
        return self.check.lost

    @property
    def missing(self) -> int | None:
        """About how many words of the page are on no kept page; None if that was not asked."""
        return self.check.missing

    @property
    def sentence(self) -> str:
        """Why, in one or two sentences."""
        if self.reason is Reason.CANONICAL_LINK:
            return f"It names that page as its canonical (rel=canonical). {self.check.sentence}"
        if self.reason is Reason.UNCHANGED:
            return "An earlier run saw the same text at this URL."
        return self.check.sentence
