"""The rule for two pages: does the second repeat the first?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dedup.reading.page import Page
from dedup.recipes.bands import Banding, sketch_keys
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import fingerprint
from dedup.recipes.sketch import BINS, agrees, similarities, similarity
from dedup.values.fingerprint import Fingerprint
from dedup.values.simhashes import simhash_distance
from dedup.values.verdict import Match, Reason

# Fewer equal tokens than this say too little: "Not found" is not one page.
MIN_EQUAL_TOKENS = 4
# Up to so many, one at a time is faster than all at once.
_FEW_SKETCHES = 2

_DEFAULT = DedupConfig()


def compare(a: Page | Fingerprint, b: Page | Fingerprint, config: DedupConfig = _DEFAULT) -> Match:
    """Return what would happen to *b* after *a* at another URL, two pages or two fingerprints."""
    return match(_fingerprint(a, config), _fingerprint(b, config), config)


def match(canonical: Fingerprint, page: Fingerprint, config: DedupConfig) -> Match:
    """Return how *page* stands to a canonical: the whole rule for two pages.

    Equal bytes are an exact duplicate, an equal sequence of `MIN_EQUAL_TOKENS` tokens or more is
    a near-duplicate, and so is a candidate, by content, structure or a band, that passes verification:
    its sketch is alike enough, and the check sketch, where both have one, does not belie that.
    """
    content = simhash_distance(canonical.content_simhash, page.content_simhash)
    structure = simhash_distance(canonical.structure_simhash, page.structure_simhash)
    if page.is_empty:
        return Match(Reason.NOT_JUDGED, content, structure, 0.0)
    if page.body_digest == canonical.body_digest:
        return Match(Reason.EXACT_DUPLICATE, content, structure, 1.0)
    if has_equal_tokens(canonical, page):
        return Match(Reason.NEAR_DUPLICATE, content, structure, 1.0)
    alike = similarity(canonical.sketch, page.sketch)
    is_duplicate = (not config.verify or alike >= config.min_similarity) and (
        (uses_content(config) and _within(content, config.max_distance))
        or (
            content is not None
            and uses_structure(config)
            and _within(structure, config.structure_max_distance)
        )
        or shared_bands(canonical.sketch, page.sketch, config) > 0
    )
    if is_duplicate and config.verify:
        is_duplicate = not _is_belied(canonical, page, alike)
    return Match(Reason.NEAR_DUPLICATE if is_duplicate else Reason.NEW, content, structure, alike)


def have_check_sketches(a: Fingerprint, b: Fingerprint) -> bool:
    """Return whether both pages have a check sketch; what is older or was imported has none."""
    return bool(a.check_sketch and b.check_sketch)


def may_verify(page: Fingerprint, sketches: Sequence[bytes], config: DedupConfig) -> list[bool]:
    """Return for each of *sketches* whether a candidate with it could be a near-duplicate of *page*.

    Check sketches are asked later, of those that are left.
    """
    if not config.verify or not sketches:
        return [True] * len(sketches)
    if len(sketches) <= _FEW_SKETCHES:
        return [similarity(page.sketch, other) >= config.min_similarity for other in sketches]
    rows = np.frombuffer(b"".join(sketches), np.uint8).reshape(-1, BINS)
    passing: list[bool] = (similarities(page.sketch, rows) >= config.min_similarity).tolist()
    return passing


def has_equal_tokens(canonical: Fingerprint, page: Fingerprint) -> bool:
    """Return whether both have the same tokens, and enough of them to mean something."""
    return page.tokens >= MIN_EQUAL_TOKENS and page.token_digest == canonical.token_digest


def uses_structure(config: DedupConfig) -> bool:
    """Return whether structure finds candidates: never unverified, it is alike on too many pages."""
    return config.verify and config.max_structure_candidates > 0


def uses_content(config: DedupConfig) -> bool:
    """Return whether content simhashes find candidates."""
    return config.candidates in ("simhash", "both")


def banding_of(config: DedupConfig) -> Banding | None:
    """Return the bands by which sketches find candidates, None if they find none."""
    return None if config.candidates == "simhash" else Banding(config.bands, config.rows)


def shared_bands(a: bytes, b: bytes, config: DedupConfig) -> int:
    """Return how many bands two sketches have in common, 0 if bands find no candidates."""
    cut = banding_of(config)
    if cut is None:
        return 0
    one, other = sketch_keys(a, cut), sketch_keys(b, cut)
    return int(np.count_nonzero(one == other)) if len(one) and len(other) else 0


def _fingerprint(page: Page | Fingerprint, config: DedupConfig) -> Fingerprint:
    return page if isinstance(page, Fingerprint) else fingerprint(page, config)


def _is_belied(a: Fingerprint, b: Fingerprint, alike: float) -> bool:
    return have_check_sketches(a, b) and not agrees(alike, a.check_sketch, b.check_sketch)


def _within(distance: int | None, limit: int) -> bool:
    return distance is not None and distance <= limit
