"""The recipes of the tables: the name of a row, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Options = dict[str, Any]

DEFAULT = "default"
ALL = "all"

# What other thresholds would do, and what a server does.
RULES: dict[str, Options] = {
    "content <= 3": {"max_distance": 3},
    "lost <= 0 words": {"max_lost_words": 0},
    "lost <= 15 words": {"max_lost_words": 15},
    "by bands": {"by_bands": True},
}


def recipes() -> dict[str, Options]:
    """Return all recipes, the default first."""
    return {DEFAULT: {}, **RULES}


def chosen(names: Sequence[str]) -> dict[str, Options]:
    """Return the recipes of *names*, in which `ALL` stands for all; without names, the default."""
    known = recipes()
    wanted = known if ALL in names else names or (DEFAULT,)
    return {name: known[name] for name in wanted}
