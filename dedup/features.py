"""What a page is made of, with weights: terms of its text, patterns of its tags."""

from __future__ import annotations

from collections.abc import Sequence

from dedup.config import DedupConfig
from dedup.structure import structure_features, tag_decay, tag_ngrams
from dedup.terms import Terms
from dedup.weighting import WEIGHT_UNIT, weights_of

__all__ = [
    "WEIGHT_UNIT",
    "Terms",
    "content_features",
    "structure_features",
    "tag_decay",
    "tag_ngrams",
]

_DEFAULT = DedupConfig()


def content_features(
    tokens: Sequence[str], config: DedupConfig = _DEFAULT, text: str = ""
) -> dict[str, float]:
    """Return the terms in *tokens* with their weights; *text* is needed for weights by lines."""
    terms = Terms.from_tokens(tokens)
    return dict(zip(terms.names, weights_of(terms, text, config).tolist(), strict=True))
