"""What a recipe consists of, and recipes by name: choices that go together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

DEFAULT = "default"

# What a recipe consists of: fields of `DedupConfig` that a user needs no setting of their own for.
PARAMETERS = (
    # How a page becomes a fingerprint; an index holds fingerprints that were made in one way.
    "user_dictionary",
    # What is read.
    "max_bytes",
    # How candidates are found and verified.
    "max_distance",
    "min_similarity",
    "max_lost_share",
    "canonical_link",
    "candidates",
    "max_candidates",
)


# Recipes by name: the values in which each differs from the defaults of `DedupConfig`.
RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {DEFAULT: {}, "both": {"candidates": "both"}}
)
