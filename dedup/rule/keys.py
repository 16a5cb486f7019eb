"""What makes a page a candidate: keys that lead to pages kept which it may repeat.

A key finds, a verifier confirms (`dedup.rule.verifier`): no key makes a copy on its own.
"""

from __future__ import annotations

import numpy as np

from dedup.recipes.bands import Banding, sketch_keys
from dedup.recipes.config import DedupConfig
from dedup.values.fingerprint import Fingerprint
from dedup.values.simhashes import simhash_distance
from dedup.values.verdict import Canonical

# Fewer equal tokens than this say too little: "Not found" is not one page.
MIN_EQUAL_TOKENS = 4


def is_candidate(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> bool:
    """Return whether a key of *page* leads to *kept*: content, structure or a band."""
    content, structure = distances(kept, page)
    if content is not None:
        if uses_content(config) and content <= config.max_distance:
            return True
        if uses_structure(config) and _within(structure, config.structure_max_distance):
            return True
    return shared_bands(kept.sketch, page.sketch, config) > 0


def distances(kept: Fingerprint, page: Fingerprint) -> tuple[int | None, int | None]:
    """Return the Hamming distances of the content and of the structure simhashes, None for none."""
    return (
        simhash_distance(kept.content_simhash, page.content_simhash),
        simhash_distance(kept.structure_simhash, page.structure_simhash),
    )


def has_equal_tokens(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether both have the same tokens, and enough of them to mean something."""
    return page.tokens >= MIN_EQUAL_TOKENS and page.token_digest == kept.token_digest


def nearness(page: Fingerprint, canonical: Canonical) -> tuple[float, ...]:
    """Return the key that puts candidates in order: equal, then nearest, then oldest first."""
    kept = canonical.fingerprint
    if page.body_digest == kept.body_digest:
        rank = 0
    else:
        rank = 1 if has_equal_tokens(kept, page) else 2
    content, structure = distances(kept, page)
    return (rank, _none_last(content), _none_last(structure), canonical.id)


def uses_content(config: DedupConfig) -> bool:
    """Return whether content simhashes find candidates."""
    return config.candidates in ("simhash", "both")


def uses_structure(config: DedupConfig) -> bool:
    """Return whether structure finds candidates: never unverified, it is alike on too many pages."""
    return config.verify and config.max_structure_candidates > 0


def banding_of(config: DedupConfig) -> Banding | None:
    """Return the bands by which sketches find candidates, None if they find none."""
    return None if config.candidates == "simhash" else Banding(config.bands, config.rows)


def shared_bands(a: bytes, b: bytes, config: DedupConfig) -> int:
    """Return how many bands two sketches have in common, 0 if bands find no candidates."""
    banding = banding_of(config)
    if banding is None:
        return 0
    one, other = sketch_keys(a, banding), sketch_keys(b, banding)
    return int(np.count_nonzero(one == other)) if len(one) and len(other) else 0


def _within(distance: int | None, bound: int) -> bool:
    return distance is not None and distance <= bound


def _none_last(distance: int | None) -> float:
    return float("inf") if distance is None else distance
