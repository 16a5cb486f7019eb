"""The recipes of the tables: the name of a row, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedup.recipes.config import CANDIDATES

Options = dict[str, Any]

DEFAULT = "default"
ALL = "all"

# What another choice in a field is; each is a recipe "field=choice".
CHOICES: dict[str, Sequence[Any]] = {"candidates": CANDIDATES[1:]}
# What other thresholds would do.
RULES: dict[str, Options] = {
    "content <= 3": {"max_distance": 3},
    "similarity >= .50": {"min_similarity": 0.5},
    "similarity >= .70": {"min_similarity": 0.7},
    "similarity >= .80": {"min_similarity": 0.8},
}


def recipes() -> dict[str, Options]:
    """Return all recipes, the default first."""
    named: dict[str, Options] = {
        f"{field}={choice}": {field: choice} for field, choices in CHOICES.items() for choice in choices
    }
    return {DEFAULT: {}, **RULES, **named}


def chosen(names: Sequence[str]) -> dict[str, Options]:
    """Return the recipes of *names*, in which `ALL` stands for all; without names, the default."""
    known = recipes()
    wanted = known if ALL in names else names or (DEFAULT,)
    return {name: known[name] for name in wanted}
