"""What is there when a crawl opens is left out of Python's garbage collection until it has closed.

Modules and what they hold are most of what a full collection looks at, and there is one every hundred
pages.  They live as long as the process; what a crawl makes itself is collected as ever.
"""

from __future__ import annotations

import gc
from types import SimpleNamespace

# The crawls of this process that are under way, and whether what was there before them is left out.
_state = SimpleNamespace(crawls=0, is_ours=False)


def begin() -> None:
    """Note that a crawl opens."""
    if _state.crawls == 0 and gc.get_freeze_count() == 0:  # else somebody else has seen to it
        gc.collect()  # garbage of now would never be found
        gc.freeze()
        _state.is_ours = True
    _state.crawls += 1


def end() -> None:
    """Note that a crawl has closed."""
    _state.crawls -= 1
    if _state.crawls == 0 and _state.is_ours:
        gc.unfreeze()
        _state.is_ours = False
