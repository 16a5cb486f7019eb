"""Recipes by name: choices that go together, each with the sentence that says when to use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

DEFAULT = "default"

# What a recipe consists of: fields of `DedupConfig` that a user needs no setting of their own for.
PARAMETERS = (
    # How a page becomes a fingerprint; an index holds fingerprints that were made in one way.
    "terms",
    "user_dictionary",
    "stop_words",
    "weights",
    "structure",
    "hasher",
    "hash_seed",
    "tie",
    "shingle",
    # What is read.
    "max_bytes",
    # How candidates are found and verified.
    "max_distance",
    "min_similarity",
    "max_lost_share",
    "canonical_link",
    "candidates",
    "bands",
    "rows",
    "max_candidates",
    "structure_max_distance",
    "max_structure_candidates",
    "verifier",
    # What reports show as one template.
    "same_template_distance",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The *values* of `DedupConfig`, by field, in which a recipe differs from its defaults.

    *when* says when to use it.
    """

    name: str
    when: str
    values: Mapping[str, Any] = field(default_factory=dict)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            Recipe(DEFAULT, "For every crawl, unless you have measured that another one does better."),
            Recipe(
                "both",
                "Copies with much text added or moved are missed: simhashes and bands find candidates.",
                {"candidates": "both"},
            ),
            Recipe(
                "characters",
                "Scripts whose words nothing separates, and texts full of codes: runs of 4 characters.",
                {"terms": "character_ngrams"},
            ),
        )
    }
)
