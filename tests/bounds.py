"""Other values of the constants that bound the rule, for a while."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def bounds(**values: float) -> Iterator[None]:
    """Give constants such as `MIN_SIMILARITY` other *values* in every module that has them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            found = [module for module in list(sys.modules.values()) if name in vars(module)]
            ours = [module for module in found if module.__name__.startswith(("dedup.", "tests."))]
            assert ours, name
            for module in ours:
                patch.setattr(module, name, value)
        yield
