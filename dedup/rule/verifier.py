"""The seam for what confirms a candidate: the protocol, and the verifiers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from dedup.recipes.config import DedupConfig
from dedup.rule.distance import DistanceVerifier
from dedup.rule.loss import LossVerifier
from dedup.rule.similarity import SimilarityVerifier
from dedup.rule.site import SiteContext
from dedup.values.fingerprint import Fingerprint
from dedup.values.verdict import Check


class Verifier(Protocol):
    """Says whether a candidate is a duplicate of a page that was kept.

    It is made from a configuration, and is a pure function of what it is given: the same pages and the
    same site give the same check.  What is equal byte by byte or token by token is never asked about.
    """

    @property
    def rule(self) -> str:
        """What it asks for, to follow "They are copies if they"; "" if a key is enough."""

    @property
    def bounds(self) -> Mapping[str, float]:
        """Its inclusive bounds, by the field of a `Check` that each of them limits."""

    def check(self, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Check:
        """Return what it says of *page*, which came after *kept*."""

    def may_pass(self, page: Fingerprint, sketches: Sequence[bytes]) -> list[bool]:
        """Return for each of *sketches* whether a kept page that has it could pass, whatever the site.

        True where the sketch alone does not tell: a page that is ruled out here is never read.
        """

    def sieve(self, page: Fingerprint, site: SiteContext) -> Callable[[Fingerprint], bool]:
        """Return what tells of a kept page whether *page* may pass after it, faster than `check` does.

        True where in doubt: a kept page that is ruled out here is never checked.
        """

    def loosened(self) -> DedupConfig:
        """Return a configuration that also passes borderline pages outside the bounds."""


MAKERS: dict[str, Callable[[DedupConfig], Verifier]] = {
    "loss": LossVerifier,
    "similarity": SimilarityVerifier,
    "distance": DistanceVerifier,
}
"""The verifiers by name; a new one is a module and a line here."""


def verifier_of(config: DedupConfig) -> Verifier:
    """Return the verifier that *config* asks for."""
    return MAKERS[config.verifier](config)
