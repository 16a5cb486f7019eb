"""What no test may do: look up a name, connect to another machine, draw without a seed.

Whoever tries is stopped, also in the processes that tests start.  Each try is written to a file that is looked
at after each test, so that the test fails even if what it tried was caught.
"""

from __future__ import annotations

import os
import random
import secrets
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests.isolated.sitecustomize import TRIES, guard_network, refuse

_TESTS = str(Path(__file__).parent) + os.sep
_ISOLATED = str(Path(__file__).parent / "isolated")
# What a test asks these modules for, it draws itself.
_DRAWING = (random.__file__, secrets.__file__, uuid.__file__, __file__)
_OF_RANDOM = (
    *("random", "uniform", "randint", "randrange", "choice", "choices", "shuffle", "sample"),
    *("getrandbits", "randbytes", "gauss", "normalvariate", "expovariate", "betavariate", "triangular"),
)
_OF_NUMPY = ("rand", "randn", "random", "randint", "choice", "shuffle", "permutation", "normal", "bytes")


def guard() -> None:
    """Guard this process, and the network of those that it will start."""
    handle, path = tempfile.mkstemp(prefix="dedup-tries-")
    os.close(handle)
    os.environ[TRIES] = path
    # There every Python that starts finds its `sitecustomize`.
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [folder for folder in before if folder not in ("", _ISOLATED)]
    os.environ["PYTHONPATH"] = os.pathsep.join([_ISOLATED, *others])
    guard_network()
    guard_draws()


def end() -> None:
    """Leave nothing behind; no test runs any more."""
    Path(os.environ[TRIES]).unlink(missing_ok=True)


def unguarded() -> dict[str, str]:
    """Return the environment of a process that may ask the network: one that installs packages."""
    left_out = (TRIES, "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def tries() -> str:
    """Return what was tried since this was asked last, empty for nothing."""
    path = Path(os.environ[TRIES])
    found = path.read_text("utf-8") if path.stat().st_size else ""
    if found:
        path.write_text("")
    return found


@pytest.fixture(autouse=True)
def nothing_is_tried() -> Iterator[None]:
    """Fail a test that has tried what no test may, here or in a process that it has started."""
    yield
    if found := tries():
        pytest.fail(f"no test may do this:\n{found}", pytrace=False)


def guard_draws() -> None:
    """Refuse a test's draws from what it has not seeded: another run would draw something else."""
    for name in _OF_RANDOM:
        setattr(random, name, _refused(getattr(random, name), f"random.{name}"))
    for name in _OF_NUMPY:
        setattr(np.random, name, _refused(getattr(np.random, name), f"numpy.random.{name}"))
    # Under the second name the generators of the standard library know it.
    os.urandom = random._urandom = _refused(os.urandom, "os.urandom")  # type: ignore[attr-defined]
    random.Random.seed = _seeded(random.Random.seed, 2, "random.Random")  # type: ignore[method-assign]
    random.seed = _seeded(random.seed, 1, "random.seed")
    np.random.default_rng = _seeded(np.random.default_rng, 1, "numpy.random.default_rng")


def _seeded(make: Callable[..., Any], arguments: int, name: str) -> Callable[..., Any]:
    """Return *make*, refused where it has fewer *arguments*, as the last one is the seed."""
    unseeded = _refused(make, f"{name} without a seed")

    @wraps(make)
    def seeded(*given: Any, **named: Any) -> Any:
        is_seeded = named or (len(given) >= arguments and given[arguments - 1] is not None)
        return (make if is_seeded else unseeded)(*given, **named)

    return seeded


def _refused(draw: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(draw)
    def refused(*arguments: Any, **choices: Any) -> Any:
        if _is_of_a_test():
            refuse(f"{name}: give it a seed, or let hypothesis draw")
        return draw(*arguments, **choices)

    return refused


def _is_of_a_test() -> bool:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename in _DRAWING:
        frame = frame.f_back
    place = frame.f_code.co_filename if frame else ""
    return place.startswith(_TESTS) or Path(place).name.startswith("test_")
