"""The recipes of the tables: the name of a row, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedup import DedupConfig
from dedup.recipes.config import CANDIDATES, HASHERS, STRUCTURES, TERMS, VERIFIERS, WEIGHTS

Options = dict[str, Any]

DEFAULT = "default"
ALL = "all"

# The fields that offer a choice by name; each choice but the default one is a recipe "field=choice".
CHOICES: dict[str, Sequence[Any]] = {
    "terms": TERMS,
    "weights": WEIGHTS,
    "structure": STRUCTURES,
    "hasher": HASHERS,
    "tie": (False, True),
    "candidates": CANDIDATES,
    "verifier": VERIFIERS,
}
# Rules of the literature, and what other thresholds would do.
RULES: dict[str, Options] = {
    "simhash <= 3": {"verifier": "distance", "max_distance": 3},
    "simhash <= 7": {"verifier": "distance", "max_distance": 7},
    "tf, simhash <= 7": {"weights": "tf", "verifier": "distance", "max_distance": 7},
    "decayed tags <= 5": {"structure": "tag_decay", "same_template_distance": 5},
    "similarity >= .50": {"verifier": "similarity", "min_similarity": 0.5},
    "similarity >= .70": {"verifier": "similarity", "min_similarity": 0.7},
    "similarity >= .80": {"verifier": "similarity", "min_similarity": 0.8},
    "content only": {"max_structure_candidates": 0},
    "10 keywords": {"terms": "keywords_tfidf", "keywords": 10},
    "20 keywords": {"terms": "keywords_tfidf", "keywords": 20},
    "200 keywords": {"terms": "keywords_tfidf", "keywords": 200},
}


def recipes() -> dict[str, Options]:
    """Return all recipes, the default first."""
    shipped = DedupConfig()
    named = {
        f"{field}={choice}": {field: choice}
        for field, choices in CHOICES.items()
        for choice in choices
        if choice != getattr(shipped, field)
    }
    return {DEFAULT: {}, **RULES, **named}


def chosen(names: Sequence[str]) -> dict[str, Options]:
    """Return the recipes of *names*, in which `ALL` stands for all; without names, the default."""
    known = recipes()
    wanted = known if ALL in names else names or (DEFAULT,)
    return {name: known[name] for name in wanted}
