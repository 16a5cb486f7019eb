"""The rules that are tried, as data: fields of `DedupConfig` by the name of a row."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from dedup import DedupConfig
from dedup.values.errors import ConfigError

Fields = Mapping[str, Any]

DEFAULT = "default"
RULES: Mapping[str, Fields] = {
    DEFAULT: {},
    "bands, as on a server": {"candidates": "minhash"},
    "lost <= 0 words": {"max_lost_words": 0, "max_lost_share": 0.0},
    "lost <= 15 words": {"max_lost_words": 15, "max_lost_share": 0.0},
    "lost <= 40 words": {"max_lost_words": 40, "max_lost_share": 0.0},
    "lost <= 80 words, 10%": {"max_lost_words": 80},
    "loss, similarity >= 0.50": {"min_similarity": 0.5},
    "loss, similarity >= 0.70": {"min_similarity": 0.7},
}
# One of these is chosen for each site, on all other sites.
GRID: Mapping[str, Fields] = {
    **{
        f"lost <= {words} words, {share:.0%}": {"max_lost_words": words, "max_lost_share": share}
        for words, share in product((0, 15, 40, 60, 80), (0.0, 0.05, 0.1, 0.2))
    },
}


def configs(rules: Mapping[str, Fields]) -> tuple[dict[str, DedupConfig], dict[str, str]]:
    """Return the configuration of each of *rules*, and why the others have none.

    Rules with a field or a value that this version does not have are left out.
    """
    found, refused = {}, {}
    for name, values in rules.items():
        try:
            found[name] = DedupConfig(**values)
        except (ConfigError, TypeError) as error:
            refused[name] = str(error)
    return found, refused
