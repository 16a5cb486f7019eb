"""Settings by their names, ``DEDUP_``, as values of the right types; read and checked in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from types import NoneType
from typing import Any

from dedup.front.settings import DedupSettings
from dedup.recipes.choices import own_function
from dedup.recipes.config import DedupConfig
from dedup.values.errors import ConfigError, shown

PREFIX = "DEDUP_"
# What other programs call what ours are for.
_SYNONYMS = {
    "THRESHOLD": ("MIN_SIMILARITY", "MAX_DISTANCE"),
    "CUTOFF": ("MIN_SIMILARITY", "MAX_DISTANCE"),
    "TOLERANCE": ("MAX_DISTANCE", "MIN_SIMILARITY"),
    "JACCARD": ("MIN_SIMILARITY",),
    "HAMMING": ("MAX_DISTANCE",),
    "DB": ("INDEX",),
    "DATABASE": ("INDEX",),
}
# How similar (0 to 1) a name must be to the one that was meant.
_NEAR = 0.8


def read_settings(settings: Mapping[str, Any]) -> DedupSettings:
    """Return the settings of dedup among *settings*, those of a project or of a command line.

    Values may be text, as on a command line.  Raises `ConfigError` for a bad value or an unknown name.
    """
    refuse_unknown(settings)
    try:
        config = DedupConfig(**_values(settings, DedupConfig))
        return DedupSettings(config=config, **_values(settings, DedupSettings))
    except ConfigError as error:
        raise ConfigError(_with_prefix(str(error))) from None


def setting_names() -> dict[str, Any]:
    """Return the name of every setting with its default."""
    return {
        PREFIX + choice.name.upper(): choice.default
        for kind in (DedupSettings, DedupConfig)
        for choice in fields(kind)
        if choice.name != "config"
    }


def refuse_unknown(names: Iterable[str]) -> None:
    """Raise `ConfigError` for a name that begins with ``DEDUP_`` or is nearly one of ours, and is none.

    Others are left alone: they may belong to a package whose settings begin with DEDUPE.
    """
    known = setting_names()
    rests = [name.removeprefix(PREFIX) for name in known]
    for name in names:
        rest = normal_form(name).removeprefix(PREFIX)
        if name in known or not normal_form(name).startswith(PREFIX):
            continue
        near = get_close_matches(rest, rests, 1, _NEAR)
        if near or name.startswith(PREFIX):
            meant = near or _meant(rest) or get_close_matches(rest, rests, 1)
            hint = " or ".join(PREFIX + one for one in meant)
            hint = f"did you mean {hint}?" if hint else f"known are {', '.join(sorted(known))}"
            raise ConfigError(f"{name} is no setting of dedup; {hint}")


def normal_form(name: str) -> str:
    """Return *name* in capitals, with the beginning that ours have.

    >>> normal_form("dedupe-scope")
    'DEDUP_SCOPE'
    """
    return re.sub(r"^DEDUPE?_", PREFIX, name.upper().replace("-", "_"))


def _values(settings: Mapping[str, Any], kind: type[DedupSettings | DedupConfig]) -> dict[str, Any]:
    values = {}
    for choice in fields(kind):
        name = PREFIX + choice.name.upper()
        if choice.name != "config" and settings.get(name) is not None:
            values[choice.name] = _read(name, settings[name], type(choice.default))
    return values


def _read(name: str, value: Any, wanted: type) -> Any:
    if wanted is NoneType:
        return _function(name, value)
    if wanted is int and isinstance(value, float) and not value.is_integer():
        raise ConfigError(f"{name} ({shown(value)}) must be a whole number")
    try:
        return _READERS[wanted](value)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ConfigError(f"{name} ({shown(value)}) must be of type {wanted.__name__}") from error


def _truth(value: Any) -> bool:
    if value in ("True", "true", "False", "false"):
        return value in ("True", "true")
    return bool(int(value))


def _members(value: Any) -> tuple[Any, ...]:
    """Return the members of a list, or of a text with commas: "title, text" is two names."""
    values = value.split(",") if isinstance(value, str) else value
    return tuple(one.strip() if isinstance(one, str) else one for one in values)


_READERS: dict[type, Callable[[Any], Any]] = {
    bool: _truth,
    int: int,
    float: float,
    str: str,
    tuple: lambda value: _members(value) if value else (),
}


def _function(name: str, value: Any) -> Any:
    """Return the function that *value* is, or that it is the dotted path of."""
    if isinstance(value, str):
        return own_function(name, value)
    if not callable(value):
        raise ConfigError(f"{name} ({shown(value)}) must be a function or the path of one")
    return value


def _with_prefix(message: str) -> str:
    """Return the message on a field as one on its setting: each begins with the name."""
    name, rest = message.split(" ", 1)
    return f"{name if name.startswith(PREFIX) else PREFIX + name.upper()} {rest}"


def _meant(rest: str) -> list[str]:
    """Return which settings a name without prefix may mean by its words.

    >>> _meant("TRESHOLD"), _meant("SIMILARITY_THRESHOLD")
    (['MIN_SIMILARITY', 'MAX_DISTANCE'], ['MIN_SIMILARITY'])
    """
    parts = rest.split("_")
    words = [word for part in parts for word in get_close_matches(part, _SYNONYMS, 1, _NEAR)]
    proposals = list(dict.fromkeys(name for word in words for name in _SYNONYMS[word]))
    return [name for name in proposals if set(name.split("_")) & set(parts)] or proposals
