"""What makes a page a candidate: keys that lead to the kept pages it may repeat.

A key finds, the loss confirms (`dedup.rule.loss`): no key makes a duplicate on its own.
"""

from __future__ import annotations

from math import inf

from dedup.model.fingerprint import Fingerprint
from dedup.model.hashes import simhash_distance
from dedup.model.verdict import Canonical
from dedup.prints.config import DedupConfig

# Fewer equal tokens than this say too little: "Not found" is not one page.
MIN_EQUAL_TOKENS = 4
# A page within so many bits of a canonical's structure simhash is a candidate as well, never more:
# structure alone drops nothing.  So many are looked at, the newest.
STRUCTURE_MAX_DISTANCE, MAX_STRUCTURE_CANDIDATES = 8, 64
# By content at most so many are looked at, the nearest; reaching it is counted and warned about.
MAX_CANDIDATES = 1000


def is_candidate(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> bool:
    """Return whether a key leads from *page* to one that was *kept*: content, or else structure.

    Pages without content have none by structure: they all look alike.
    """
    content, structure = distances(kept, page)
    is_alike = structure is not None and structure <= STRUCTURE_MAX_DISTANCE
    return content is not None and (content <= config.max_distance or is_alike)


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
    rank = 0 if page.body_digest == kept.body_digest else 1 if has_equal_text(kept, page) else 2
    near = (inf if distance is None else distance for distance in distances(kept, page))
    return (rank, *near, canonical.id)
