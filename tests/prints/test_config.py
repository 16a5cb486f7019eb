from __future__ import annotations

from typing import Any

import pytest

from dedup import DedupConfig
from dedup.model.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_distance": 13}, r"max_distance \(13\) must be 0 to 12"),
        ({"max_distance": -1}, r"max_distance \(-1\) must be 0 to 12"),
        ({"max_distance": 3.0}, r"max_distance \(3.0\) must be of type int"),
        ({"max_distance": True}, r"max_distance \(True\) must be of type int"),
        ({"unchanged": 1}, r"unchanged \(1\) must be of type str"),
        ({"scope": "site"}, r"scope \('site'\) must be one of spider, host, domain, global"),
    ],
)
def test_bad_values_name_value_and_rule(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DedupConfig(**options)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("max_distance", 0, 12), ("max_lost_words", 0, 100_000)]
)
def test_both_ends_of_a_range_are_allowed_and_nothing_beyond(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(DedupConfig(**{name: value}), name) == value  # type: ignore[arg-type]
    for value in (low - 1, high + 1):
        with pytest.raises(ConfigError, match=name):
            DedupConfig(**{name: value})  # type: ignore[arg-type]
