"""A history told so that a person can follow it: what is not the default, and what changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from tests.oracle.history import History, Leaf


def story_of(history: History) -> str:
    """Return *history* in lines, step by step."""
    lines = [_told(history, "steps")]
    before: Mapping[str, Leaf] = {}
    for number, step in enumerate(history.steps):
        lines.append(f"step {number}: {_told(step, 'site')}")
        lines += [f"    {url} is gone" for url in before if url not in step.site]
        lines += [
            f"    {url} says {_told(leaf)}" for url, leaf in step.site.items() if before.get(url) != leaf
        ]
        before = step.site
    return "\n".join(lines)


def _told(value: Any, without: str = "") -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_told, value))})"
    if not is_dataclass(value):
        return str(value)
    told = {field: getattr(value, field.name) for field in fields(value) if field.name != without}
    return " ".join(
        f"{field.name}={_told(one)}"
        for field, one in told.items()
        if one != (field.default if field.default_factory is MISSING else field.default_factory())
    )
