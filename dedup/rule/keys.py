"""What makes a page a candidate: keys that lead to the kept pages it may repeat.

A key finds, the loss confirms (`dedup.rule.loss`): no key makes a duplicate on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import SIMHASH_BITS, simhash_distance
from dedup.model.verdict import Canonical
from dedup.prints.config import DedupConfig

# Fewer equal tokens than this say too little: "Not found" is not one page.
MIN_EQUAL_TOKENS = 4
# A page within so many bits of a canonical's structure simhash is a candidate as well, never more:
# structure alone drops nothing.  So many are looked at, the newest.
STRUCTURE_MAX_DISTANCE, MAX_STRUCTURE_CANDIDATES = 8, 64
# By content at most so many are looked at, the nearest; reaching it is counted and warned about.
MAX_CANDIDATES = 1000


class SimhashKey(NamedTuple):
    """The simhashes of two pages; one finds the other up to a *distance* of *bound* (inclusive).

    *field* is "content" or "structure"; *distance* is 0 to 64 bits, None where a page has no such
    simhash.  *is_used* says that simhashes of this field find such pages at all.
    """

    field: str
    kept: int
    page: int
    distance: int | None
    bound: int
    is_used: bool

    @property
    def is_met(self) -> bool:
        """Whether it makes the page a candidate."""
        return self.is_used and self.distance is not None and self.distance <= self.bound

    @property
    def sentence(self) -> str:
        """What it says, with value and bound."""
        if self.distance is None:
            return f"Not both pages have a {self.field} simhash."
        differ = f"The {self.field} simhashes differ in {self.distance} of {SIMHASH_BITS} bits"
        if not self.is_used:
            return f"{differ}; they make no candidates here."
        return f"{differ}, at most {self.bound} are allowed: {_makes(self.is_met)}."

    @property
    def figure(self) -> str:
        """The value and the bound in a few words."""
        distance = "none" if self.distance is None else self.distance
        return f"{self.field} distance {distance}, at most {self.bound}"


class Keys(NamedTuple):
    """All keys that may lead from *page* to one that was *kept*."""

    kept: Fingerprint
    page: Fingerprint
    config: DedupConfig

    @property
    def content(self) -> SimhashKey:
        """The content simhashes."""
        one, other = self.kept.content_simhash, self.page.content_simhash
        distance, bound = simhash_distance(one, other), self.config.max_distance
        return SimhashKey("content", one, other, distance, bound, True)

    @property
    def structure(self) -> SimhashKey:
        """The structure simhashes; pages without content are not found by them: they all look alike."""
        one, other = self.kept.structure_simhash, self.page.structure_simhash
        distance, bound = simhash_distance(one, other), STRUCTURE_MAX_DISTANCE
        return SimhashKey("structure", one, other, distance, bound, self.content.distance is not None)

    @property
    def all(self) -> tuple[SimhashKey, SimhashKey]:
        """Both of them, also if one is not used here."""
        return self.content, self.structure

    @property
    def are_met(self) -> bool:
        """Whether the page is a candidate: one key is enough."""
        return any(key.is_met for key in self.all)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each key says."""
        return tuple(key.sentence for key in self.all)

    @property
    def figures(self) -> tuple[str, ...]:
        """The value and the bound of each key that is used, in a few words."""
        return tuple(key.figure for key in self.all if key.is_used)


def ways(config: DedupConfig) -> Iterator[str]:
    """Yield how candidates are found, each way a clause to follow "pages"."""
    yield f"whose content simhashes differ in at most {config.max_distance} bits"
    yield f"whose structure simhashes differ in at most {STRUCTURE_MAX_DISTANCE} bits"


def distances(kept: Fingerprint, page: Fingerprint) -> tuple[int | None, int | None]:
    """Return the Hamming distances of the content and of the structure simhashes, None for none."""
    return (
        simhash_distance(kept.content_simhash, page.content_simhash),
        simhash_distance(kept.structure_simhash, page.structure_simhash),
    )


def has_equal_text(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether both have the same text, and tokens enough to mean something."""
    return page.tokens >= MIN_EQUAL_TOKENS and page.token_digest == kept.token_digest


def nearness(page: Fingerprint, canonical: Canonical) -> tuple[float, ...]:
    """Return the key that puts candidates in order: equal, then nearest, then oldest first."""
    kept = canonical.fingerprint
    if page.body_digest == kept.body_digest:
        rank = 0
    else:
        rank = 1 if has_equal_text(kept, page) else 2
    content, structure = distances(kept, page)
    return (rank, _none_last(content), _none_last(structure), canonical.id)


def _makes(is_met: bool) -> str:
    return "that makes a candidate" if is_met else "that makes no candidate"


def _none_last(distance: int | None) -> float:
    return float("inf") if distance is None else distance
