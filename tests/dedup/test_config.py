from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from dedup import DedupConfig, Page, fingerprint
from dedup.recipes.fingerprinter import recipe_of
from dedup.recipes.recipe import PARAMETERS, RECIPES
from dedup.values.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_distance": 13}, r"max_distance \(13\) must be 0 to 12"),
        ({"max_distance": -1}, r"max_distance \(-1\) must be 0 to 12"),
        ({"max_distance": 3.0}, r"max_distance \(3.0\) must be of type int"),
        ({"max_distance": True}, r"max_distance \(True\) must be of type int"),
        ({"min_similarity": 1.1}, r"min_similarity \(1.1\) must be 0 to 1"),
        ({"min_similarity": float("nan")}, r"min_similarity \(nan\) must be 0 to 1"),
        ({"min_similarity": "0.5"}, r"min_similarity \('0.5'\) must be of type float"),
        ({"candidates": 1}, r"candidates \(1\) must be of type str"),
        ({"scope": "site"}, r"scope \('site'\) must be one of spider, host, domain, global"),
        ({"candidates": "lsh"}, r"candidates \('lsh'\) must be one of simhash, minhash, both"),
    ],
)
def test_bad_values_name_value_and_rule(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DedupConfig(**options)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("max_distance", 0, 12),
        ("max_candidates", 1, 100_000),
        ("max_bytes", 1000, 10**9),
    ],
)
def test_both_ends_of_a_range_are_allowed_and_nothing_beyond(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(DedupConfig(**{name: value}), name) == value  # type: ignore[arg-type]
    for value in (low - 1, high + 1):
        with pytest.raises(ConfigError, match=name):
            DedupConfig(**{name: value})  # type: ignore[arg-type]


def test_whole_numbers_are_numbers() -> None:
    assert DedupConfig(min_similarity=1).min_similarity == 1


def test_thresholds_are_not_in_the_recipe() -> None:
    assert recipe_of(DedupConfig(max_distance=3, scope="global")) == recipe_of(DedupConfig())
    assert recipe_of(DedupConfig(candidates="both")) == recipe_of(DedupConfig())


def test_a_named_recipe_gives_what_differs_from_the_default() -> None:
    assert DedupConfig.of() == DedupConfig.of("default") == DedupConfig()
    assert DedupConfig.of("both", scope="host") == DedupConfig(candidates="both", scope="host")
    assert DedupConfig.of("both", candidates="minhash") == DedupConfig(candidates="minhash")
    with pytest.raises(ConfigError, match=r"recipe \('best'\) must be one of default, both"):
        DedupConfig.of("best")


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_makes_fingerprints_and_differs(recipe: str) -> None:
    assert fingerprint(Page.from_html("<p>the tide turns"), DedupConfig.of(recipe)).tokens
    assert all(getattr(DedupConfig(), name) != value for name, value in RECIPES[recipe].items())


def test_parameters_are_fields() -> None:
    assert set(PARAMETERS) < {field.name for field in fields(DedupConfig)}
