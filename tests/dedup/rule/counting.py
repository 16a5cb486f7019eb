"""A verifier of another kind, in one module: pages are one if they have equally many tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dedup import DedupConfig, Fingerprint
from dedup.algorithms.sketch import similarity
from dedup.rule.keys import distances
from dedup.rule.site import SiteContext
from dedup.values.verdict import Check


@dataclass(frozen=True)
class CountingVerifier:
    config: DedupConfig

    @property
    def rule(self) -> str:
        return "have equally many tokens"

    @property
    def bounds(self) -> Mapping[str, float]:
        return {}

    def check(self, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Check:
        return Check(
            kept.tokens == page.tokens,
            "counted",
            f"The pages have {kept.tokens} and {page.tokens} tokens, as many are asked for.",
            similarity(kept.sketch, page.sketch),
            *distances(kept, page),
            -abs(kept.tokens - page.tokens) / 10,
        )

    def may_pass(self, page: Fingerprint, sketches: Sequence[bytes]) -> list[bool]:
        return [True] * len(sketches)

    def sieve(self, page: Fingerprint, site: SiteContext) -> Callable[[Fingerprint], bool]:
        return lambda _: True

    def loosened(self) -> DedupConfig:
        return self.config
