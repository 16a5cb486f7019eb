"""The names of settings, and proposals for a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from dedup.front.settings import DedupSettings
from dedup.recipes.config import DedupConfig
from dedup.recipes.recipe import DEFAULT, PARAMETERS
from dedup.values.errors import ConfigError
from dedup.values.exceptions import NO_EXCEPTIONS

PREFIX = "DEDUP_"
RECIPE = "DEDUP_RECIPE"
INDEX = "DEDUP_INDEX"

# What other programs call what ours are for.
_SYNONYMS = {
    "THRESHOLD": ("MIN_SIMILARITY", "MAX_DISTANCE"),
    "CUTOFF": ("MIN_SIMILARITY", "MAX_DISTANCE"),
    "TOLERANCE": ("MAX_DISTANCE", "MIN_SIMILARITY"),
    "JACCARD": ("MIN_SIMILARITY",),
    "HAMMING": ("MAX_DISTANCE",),
    "LOSS": ("MAX_LOST_WORDS",),
    "DB": ("INDEX",),
    "DATABASE": ("INDEX",),
}
# How similar (0 to 1) a name must be to the one that was meant.
_NEAR = 0.8


def setting_of(field: str) -> str:
    """Return the name of the setting that a field of `DedupSettings` or `DedupConfig` is read from.

    >>> setting_of("scope"), setting_of("terms")
    ('DEDUP_SCOPE', 'DEDUP_RECIPE')
    """
    return RECIPE if field in PARAMETERS else PREFIX + field.upper()


def setting_names() -> dict[str, Any]:
    """Return the name of every setting with its default."""
    defaults = {
        setting_of(choice.name): "" if choice.default is NO_EXCEPTIONS else choice.default
        for kind in (DedupSettings, DedupConfig)
        for choice in fields(kind)
        if choice.name not in ("config", "store_first", *PARAMETERS)
    }
    return {**defaults, RECIPE: DEFAULT}


def refuse_unknown(names: Iterable[str]) -> None:
    """Raise `ConfigError` for an unknown name that begins with ``DEDUP_`` or is similar to one of ours.

    Others are left alone: they may belong to a package whose settings begin with DEDUPE.
    """
    known = setting_names()
    for name in names:
        rest = normal_form(name).removeprefix(PREFIX)
        if name in known or not normal_form(name).startswith(PREFIX):
            continue
        near = get_close_matches(rest, [*_rests(known), *map(str.upper, PARAMETERS)], 1, _NEAR)
        if near or name.startswith(PREFIX):
            raise ConfigError(f"{name} is not a setting of dedup; {_way_out(rest, near, known)}")


def normal_form(name: str) -> str:
    """Return *name* in capitals, with the beginning that ours have.

    >>> normal_form("dedupe-scope")
    'DEDUP_SCOPE'
    """
    return re.sub(r"^DEDUPE?_", PREFIX, name.upper().replace("-", "_"))


def _rests(known: Iterable[str]) -> list[str]:
    return [name.removeprefix(PREFIX) for name in known]


def _way_out(rest: str, near: list[str], known: Iterable[str]) -> str:
    meant = near or _meant(rest) or get_close_matches(rest, _rests(known), 1)
    if not meant:
        return f"known are {', '.join(sorted(known))}"
    ways = [
        f"{RECIPE} = '{DEFAULT},{one.lower()}=...'" if one.lower() in PARAMETERS else PREFIX + one
        for one in meant
    ]
    return f"did you mean {' or '.join(ways)}?"


def _meant(rest: str) -> list[str]:
    """Return the settings that a name without prefix may mean, by its parts.

    >>> _meant("TRESHOLD"), _meant("SIMILARITY_THRESHOLD")
    (['MIN_SIMILARITY', 'MAX_DISTANCE'], ['MIN_SIMILARITY'])
    """
    parts = rest.split("_")
    words = [word for part in parts for word in get_close_matches(part, _SYNONYMS, 1, _NEAR)]
    proposals = list(dict.fromkeys(name for word in words for name in _SYNONYMS[word]))
    return [name for name in proposals if set(name.split("_")) & set(parts)] or proposals
