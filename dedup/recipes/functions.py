"""Functions of the user's own, by the dotted paths that stand in a configuration."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dedup.values.errors import ConfigError, shown


def own_function(field: str, path: str) -> Callable[..., Any]:
    """Return the function at the dotted *path*, ``package.module.function``.

    Raises `ConfigError`, which begins with *field*, if there is none.
    """
    module, _, name = path.rpartition(".")
    try:
        function = getattr(import_module(module), name, None)
    except Exception as error:  # the user's module may fail in any way
        raise ConfigError(f"{field} ({shown(path)}) must be the path of a function: {error}") from error
    if not callable(function):
        raise ConfigError(
            f"{field} ({shown(path)}) must be the path of a function; {module} has none of that name"
        )
    return function  # type: ignore[no-any-return]
