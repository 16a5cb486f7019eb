"""Python's garbage collection leaves alone what was there when a crawl opened, until all have closed.

Modules and what they hold are most of what a full collection looks at, and live as long as the process.
"""

from __future__ import annotations

import gc
from types import SimpleNamespace

# The crawls of this process that are under way, and whether what was there before them is left out.
_state = SimpleNamespace(crawls=0, is_ours=False)


def begin() -> None:
    """Note that a crawl opens."""
    if _state.crawls == 0 and gc.get_freeze_count() == 0:  # else somebody else has seen to it
        gc.collect()
        gc.freeze()
        _state.is_ours = True
    _state.crawls += 1


def end() -> None:
    """Note that a crawl has closed."""
    _state.crawls -= 1
    if _state.crawls == 0 and _state.is_ours:
        gc.unfreeze()
        _state.is_ours = False
