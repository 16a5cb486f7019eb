"""Pages are duplicates if they share enough of their shingles, by their sketches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dedup import native
from dedup.algorithms.sketch import BINS, similarities, similarity
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import distances
from dedup.rule.site import SiteContext
from dedup.values.fingerprint import Fingerprint
from dedup.values.verdict import Check

ALIKE, NOT_ALIKE = "alike", "not_alike"
# Similarities this near to the bound are borderline; the estimate has a standard deviation of .031.
EDGE = 0.15
# Up to so many sketches, one at a time is faster than all at once.
_FEW = 8


@dataclass(frozen=True, slots=True)
class SimilarityVerifier:
    """Asks for `min_similarity`."""

    config: DedupConfig

    @property
    def rule(self) -> str:
        """See `Verifier`."""
        return f"share at least {self.config.min_similarity:g} of their shingles"

    @property
    def bounds(self) -> Mapping[str, float]:
        """See `Verifier`."""
        return {"similarity": self.config.min_similarity}

    def check(self, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Check:  # noqa: ARG002
        """See `Verifier`; no site tells it anything."""
        alike, bound = similarity_of(kept.sketch, page.sketch), self.config.min_similarity
        finding, margin = ALIKE if alike >= bound else NOT_ALIKE, (alike - bound) / EDGE
        content, structure = distances(kept, page)
        share = f"The pages share {shown(alike, bound)} of their shingles"
        sentence = f"{share}, at least {bound:g} is asked for."
        return Check(finding is ALIKE, finding, sentence, alike, content, structure, margin)

    def may_pass(self, page: Fingerprint, sketches: Sequence[bytes]) -> list[bool]:
        """See `Verifier`."""
        bound = self.config.min_similarity
        if compiled := native.search():
            return [alike >= bound for alike in compiled.similarities(page.sketch, list(sketches))]
        if len(sketches) <= _FEW:
            return [similarity(page.sketch, sketch) >= bound for sketch in sketches]
        rows = np.frombuffer(b"".join(sketches), np.uint8).reshape(-1, BINS)
        passing: list[bool] = (similarities(page.sketch, rows) >= bound).tolist()
        return passing

    def sieve(self, page: Fingerprint, site: SiteContext) -> Callable[[Fingerprint], bool]:  # noqa: ARG002
        """See `Verifier`; `may_pass` has ruled out what it can."""
        return lambda _: True

    def loosened(self) -> DedupConfig:
        """See `Verifier`."""
        return replace(self.config, min_similarity=max(0.0, self.config.min_similarity - EDGE))


def similarity_of(a: bytes, b: bytes) -> float:
    """Return the `similarity` of two sketches, compiled where it can be."""
    compiled = native.search()
    alike: float = compiled.similarity(a, b) if compiled else similarity(a, b)
    return alike


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
