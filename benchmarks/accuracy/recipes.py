"""The recipes of the tables: the name of a row, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedup.algorithms.terms import keywords_tfidf
from dedup.recipes.config import CANDIDATES, VERIFIERS

Options = dict[str, Any]

DEFAULT = "default"
ALL = "all"

ALGORITHMS = "dedup.algorithms"

# What another choice in a field is; each is a recipe "field=choice".
CHOICES: dict[str, Sequence[Any]] = {
    "terms": ("character_ngrams",),
    "tie": (True,),
    "candidates": CANDIDATES[1:],
    "verifier": VERIFIERS[1:],
}
# The algorithms of the literature that a field may name, by the modules that they are in.
NAMED: dict[str, tuple[str, Sequence[str]]] = {
    "terms": (
        "terms",
        (
            *("unicode_words", "word_shingles", "jieba_words", "jieba_full", "jieba_search"),
            *("keywords_tfidf", "keywords_textrank"),
        ),
    ),
    "weights": ("weights", ("uniform", "tf", "sublinear_tf", "tf_idf", "textrank_weights", "levels")),
    "structure": ("structure", ("tag_ngrams", "tag_decay", "tag_paths", "tag_classes")),
    "hasher": ("hashers", ("fnv1", "fnv1a")),
}


def keywords_10(text: str) -> list[str]:
    """Return 10 keywords."""
    return keywords_tfidf(text, 10)


def keywords_20(text: str) -> list[str]:
    """Return 20 keywords."""
    return keywords_tfidf(text, 20)


def keywords_200(text: str) -> list[str]:
    """Return 200 keywords."""
    return keywords_tfidf(text, 200)


# Rules of the literature, and what other thresholds would do.
RULES: dict[str, Options] = {
    "simhash <= 3": {"verifier": "distance", "max_distance": 3},
    "simhash <= 7": {"verifier": "distance", "max_distance": 7},
    "tf, simhash <= 7": {
        "weights": f"{ALGORITHMS}.weights.tf",
        "verifier": "distance",
        "max_distance": 7,
    },
    "similarity >= .50": {"verifier": "similarity", "min_similarity": 0.5},
    "similarity >= .70": {"verifier": "similarity", "min_similarity": 0.7},
    "similarity >= .80": {"verifier": "similarity", "min_similarity": 0.8},
    "content only": {"max_structure_candidates": 0},
    "10 keywords": {"terms": f"{__name__}.keywords_10"},
    "20 keywords": {"terms": f"{__name__}.keywords_20"},
    "200 keywords": {"terms": f"{__name__}.keywords_200"},
}


def recipes() -> dict[str, Options]:
    """Return all recipes, the default first."""
    named: dict[str, Options] = {
        f"{field}={choice}": {field: choice} for field, choices in CHOICES.items() for choice in choices
    }
    for field, (module, names) in NAMED.items():
        named |= {f"{field}={name}": {field: f"{ALGORITHMS}.{module}.{name}"} for name in names}
    return {DEFAULT: {}, **RULES, **named}


def chosen(names: Sequence[str]) -> dict[str, Options]:
    """Return the recipes of *names*, in which `ALL` stands for all; without names, the default."""
    known = recipes()
    wanted = known if ALL in names else names or (DEFAULT,)
    return {name: known[name] for name in wanted}
