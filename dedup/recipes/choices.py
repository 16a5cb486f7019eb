"""Choices by name: one of ours, or the dotted path to a function of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

from dedup.values.errors import ConfigError, shown


def check_choice(field: str, name: str, known: Collection[str]) -> None:
    """Raise `ConfigError` unless *name* is one of *known* or the path of a function."""
    if name in known:
        return
    if "." not in name:
        raise ConfigError(
            f"{field} ({shown(name)}) must be one of {', '.join(known)}, or the path of a function"
        )
    own_function(field, name)


def own_function(field: str, path: str) -> Callable[..., Any]:
    """Return the function at the dotted *path*, ``package.module.function``.

    Raises `ConfigError`, which begins with *field*, if there is none.
    """
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name, None)
    except Exception as error:  # the user's module may fail in any way
        raise ConfigError(f"{field} ({shown(path)}) must be the path of a function: {error}") from error
    if not callable(found):
        raise ConfigError(
            f"{field} ({shown(path)}) must be the path of a function; {module} has none of that name"
        )
    function: Callable[..., Any] = found
    return function
