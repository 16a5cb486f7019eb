"""The plain rule of SimHash: pages are duplicates if their content simhashes are near."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from dedup.algorithms.sketch import similarity
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import EDGE, distances
from dedup.rule.site import SiteContext
from dedup.values.fingerprint import Fingerprint
from dedup.values.simhashes import SIMHASH_BITS
from dedup.values.verdict import Check

NEAR, FAR = "near", "far"


@dataclass(frozen=True, slots=True)
class DistanceVerifier:
    """Asks for no more than the key that finds candidates: `max_distance` bits of content."""

    config: DedupConfig

    @property
    def rule(self) -> str:
        """See `Verifier`."""
        return ""

    @property
    def bounds(self) -> Mapping[str, float]:
        """See `Verifier`."""
        return {"content_distance": self.config.max_distance}

    def check(self, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Check:  # noqa: ARG002
        """See `Verifier`; no site tells it anything."""
        bound = self.config.max_distance
        content, structure = distances(kept, page)
        passes = content is not None and content <= bound
        finding, sentence = NEAR if passes else FAR, _sentence(content, bound)
        alike = similarity(kept.sketch, page.sketch)
        margin = -inf if content is None else (bound - content) / EDGE
        return Check(passes, finding, sentence, alike, content, structure, margin)

    def may_pass(self, page: Fingerprint, sketches: Sequence[bytes]) -> list[bool]:  # noqa: ARG002
        """See `Verifier`; sketches decide nothing."""
        return [True] * len(sketches)

    def sieve(self, page: Fingerprint, site: SiteContext) -> Callable[[Fingerprint], bool]:  # noqa: ARG002
        """See `Verifier`; the check itself is quick."""
        return lambda _: True

    def loosened(self) -> DedupConfig:
        """See `Verifier`; its keys reach farther instead."""
        return self.config


def _sentence(content: int | None, bound: int) -> str:
    if content is None:
        return "Not both pages have a content simhash."
    return (
        f"The content simhashes differ in {content} of {SIMHASH_BITS} bits, at most {bound} are "
        "allowed; similarity is not asked for."
    )
