"""The rules that are tried, as data: fields of `DedupConfig` by the name of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import product
from typing import Any

from dedup import DedupConfig
from dedup.values.errors import ConfigError

Fields = Mapping[str, Any]

DEFAULT = "default"
# However much is lost: what is left is the similarity, or the distance.
ANY_LOSS: Fields = {"max_lost_words": 100_000, "max_lost_share": 1.0}

RULES: Mapping[str, Fields] = {
    DEFAULT: {},
    "simhash <= 3": {"verify": False, "max_distance": 3},
    "similarity >= .62": {"min_similarity": 0.62, **ANY_LOSS},
    "similarity >= .70": {"min_similarity": 0.70, **ANY_LOSS},
    "similarity >= .80": {"min_similarity": 0.80, **ANY_LOSS},
    "similarity >= .90": {"min_similarity": 0.90, **ANY_LOSS},
    "no share": {"max_lost_share": 0.0},
    "no words": {"max_lost_words": 0},
    "half the words": {"max_lost_words": 5},
    "twice the words": {"max_lost_words": 20},
}
# One of these is chosen for each site, on all other sites.
GRID: Mapping[str, Fields] = {
    **{
        f"similarity >= {bound:.2f}": {"min_similarity": bound, **ANY_LOSS}
        for bound in (0.62, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    },
    **{
        f"lost <= {words} words, {share:.0%}": {"max_lost_words": words, "max_lost_share": share}
        for words, share in product((0, 2, 4, 6, 8, 10, 12, 15), (0.0, 0.02, 0.04, 0.06, 0.08))
    },
}


def configs(rules: Mapping[str, Fields]) -> tuple[dict[str, DedupConfig], dict[str, str]]:
    """Return the configuration of each of *rules*, and why the others have none.

    A rule that asks for a field that there is not is left out; to bound no loss is to ask for nothing.
    """
    known = {field.name for field in fields(DedupConfig)}
    found, refused = {}, {}
    for name, values in rules.items():
        asked = {
            key: value for key, value in values.items() if key in known or ANY_LOSS.get(key) != value
        }
        try:
            found[name] = DedupConfig(**asked)
        except (ConfigError, TypeError) as error:
            refused[name] = str(error)
    return found, refused
