"""The rules that are tried, as data: fields of `DedupConfig` by the name of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dedup import DedupConfig
from dedup.model.errors import ConfigError

Fields = Mapping[str, Any]

DEFAULT = "default"
RULES: Mapping[str, Fields] = {
    DEFAULT: {},
    "lost <= 0 words": {"max_lost_words": 0},
    "lost <= 15 words": {"max_lost_words": 15},
    "lost <= 80 words": {"max_lost_words": 80},
}
# One of these is chosen for each site, on all other sites.
GRID: Mapping[str, Fields] = {
    f"lost <= {words} words": {"max_lost_words": words} for words in (0, 10, 15, 25, 40, 60, 80)
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
