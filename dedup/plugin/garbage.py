"""Python's garbage collection while a crawl is under way.

What is there when the crawl opens is left out until it has closed: modules and what they hold are most
of what a full collection looks at, and live as long as the process.  What a crawl makes is collected as
ever, but more of it at once, because a page makes some 700 objects, which is what Python waits for.
"""

from __future__ import annotations

import gc
from types import SimpleNamespace

# Objects until a collection, and collections until one of the next generation: 14 pages, 70, and 200.
# Responses are in cycles, so pages pile up until then.
THRESHOLDS = (10_000, 5, 3)
# The crawls of this process that are under way, whether what was there before them is left out, and what
# the thresholds were, None where they were left alone.
_state = SimpleNamespace(crawls=0, is_ours=False, thresholds=None)


def begin() -> None:
    """Note that a crawl opens."""
    if _state.crawls == 0:
        if gc.get_freeze_count() == 0:  # else somebody else has seen to it
            gc.collect()  # garbage of now would never be found
            gc.freeze()
            _state.is_ours = True
        if 0 < gc.get_threshold()[0] < THRESHOLDS[0]:
            _state.thresholds = gc.get_threshold()
            gc.set_threshold(*THRESHOLDS)
    _state.crawls += 1


def end() -> None:
    """Note that a crawl has closed."""
    _state.crawls -= 1
    if _state.crawls == 0:
        if _state.is_ours:
            gc.unfreeze()
        if _state.thresholds:
            gc.set_threshold(*_state.thresholds)
        _state.is_ours, _state.thresholds = False, None
