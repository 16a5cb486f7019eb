"""Constants that tests turn: for a while in this process, or in a crawl, whose settings name them.

They stand among the settings of a crawl as ``KNOBS``: a map from the path of a constant to its value.  A
crawl then waits for less long, and nothing of it is left to chance.
"""

import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

KNOBS = "KNOBS"
WAIT = "dedup.plugin.pipeline.WAIT"
EXPLORED = "dedup.plugin.middlewares.EXPLORED"
# With 1, a page is on the disk as soon as it is judged.
MOST_GATHERED = "dedup.plugin.crawl_index.MOST_GATHERED"
# With 0, an address is asked again at once.
PAUSE = "dedup.plugin.probes._PAUSE"


def turn(settings: MutableMapping[str, Any]) -> None:
    """Take the knobs out of *settings*, and turn them for the rest of this process."""
    for path, value in settings.pop(KNOBS, {}).items():
        module, _, name = path.rpartition(".")
        found = import_module(module)
        assert hasattr(found, name), path
        setattr(found, name, value)


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
