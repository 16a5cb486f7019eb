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
        ({"max_lost_words": 100_001}, r"max_lost_words \(100001\) must be 0 to 100000"),
        ({"max_lost_words": -1}, r"max_lost_words \(-1\) must be 0 to 100000"),
        ({"unchanged": 1}, r"unchanged \(1\) must be of type str"),
        ({"scope": "site"}, r"scope \('site'\) must be one of spider, host, domain, global"),
    ],
)
def test_bad_values_name_value_and_rule(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DedupConfig(**options)


def test_both_ends_of_a_range_are_allowed() -> None:
    for distance, words in ((0, 0), (12, 100_000)):
        DedupConfig(max_distance=distance, max_lost_words=words)
