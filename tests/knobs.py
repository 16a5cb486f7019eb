"""Constants that tests turn: a crawl waits for less long, and nothing of it is left to chance.

They stand among the settings of a crawl, as ``KNOBS``: a map from the path of a constant to its value.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from typing import Any

KNOBS = "KNOBS"
WAIT = "dedup.plugin.judge.WAIT"
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
