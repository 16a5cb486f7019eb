"""The trace counts each step into a module, and has the floors of the architecture."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from benchmarks.trace import FLOORS, Trace
from tests import test_architecture


def module(name: str, code: str, **names: object) -> Callable[[], Any]:
    """Return the function ``do`` of a module that is called *name*."""
    found: dict[str, Any] = {"__name__": name, **names}
    exec(code, found)
    made: Callable[[], Any] = found["do"]
    return made


def test_calls_stays_and_climbs_are_counted() -> None:
    up = module("dedup.cli.a", "def do(): return 1")
    down = module("dedup.values.a", "def own(): return 1\ndef do(): return own() + up()", up=up)
    start = module("dedup.index.a", "def do(): return down() + down()", down=down)
    trace = Trace()
    sys.setprofile(trace)
    try:
        start()
    finally:
        sys.setprofile(None)
    assert dict(trace.calls) == {"dedup.index.a": 1, "dedup.values.a": 4, "dedup.cli.a": 2}
    # Into index; twice into values, cli, back to values and back to index.
    assert (trace.stays, trace.climbs) == (9, 2)


def test_the_floors_are_those_of_the_architecture() -> None:
    assert [set(names.split()) for names in FLOORS] == list(test_architecture.FLOORS)
