"""Python's garbage collection while a crawl is under way.

What is there when the crawl opens is left out until it has closed: modules and what they hold are most
of what a full collection looks at, and live as long as the process.  Nearly all the garbage of a crawl
is responses: a response and its selector hold each other, so both stay, with body and tree, until they
are collected.  Those that nobody uses are taken apart here; what is left is little, and can wait.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from types import SimpleNamespace
from typing import Any

from scrapy.http import HtmlResponse, Response

# Objects until a collection, and collections until one of the next generation.  With these a crawl of a
# manual collects all generations once in 150 pages.  With half as many objects it did so once in 30, and
# took twice as long.  Where others hold the responses it is once in 100.  They count objects, not bytes,
# and large pages are few objects: the young ones are collected after so many bytes of pages, too.
THRESHOLDS = (20_000, 3, 2)
_BYTES = 2_000_000
# Scrapy itself holds most responses until 16 later ones are done with; the others wait, 64 at most.
_LATER, _MOST = 16, 64
# The crawls of this process that are under way, whether there were others, whether what was there before
# them is left out, and what the thresholds were, None where they were left alone.
_state = SimpleNamespace(crawls=0, has_crawled=False, is_ours=False, thresholds=None)


def begin() -> None:
    """Note that a crawl opens."""
    if _state.crawls == 0:
        if gc.get_freeze_count() == 0:  # else somebody else has seen to it
            # Garbage of now is found when the crawl has closed.  That of an earlier crawl is large; that
            # of the start is not, and to look for it takes as long as 10 pages.
            gc.collect(2 if _state.has_crawled else 0)
            gc.freeze()
            _state.is_ours = True
        if 0 < gc.get_threshold()[0] < THRESHOLDS[0]:
            _state.thresholds = gc.get_threshold()
            gc.set_threshold(*THRESHOLDS)
    _state.crawls += 1


def end() -> None:
    """Note that a crawl has closed."""
    _state.crawls -= 1
    _state.has_crawled = True
    if _state.crawls == 0:
        if _state.is_ours:
            gc.unfreeze()
        if _state.thresholds:
            gc.set_threshold(*_state.thresholds)
        _state.is_ours, _state.thresholds = False, None


class UsedResponses:
    """Responses whose callback has ended, and whose items are all settled."""

    def __init__(self) -> None:
        self._responses: deque[Any] = deque()
        self._bytes = 0
        trial = HtmlResponse("http://a.example/", body=b"<p>")
        trial.xpath("/html")  # which makes its selector
        self._alone = _holders(trial)

    def add(self, response: Response) -> None:
        """Add *response*; take apart those that were added before and that nobody uses any more.

        Each and its selector are then held by each other only, so nobody can tell.
        """
        self._responses.append(response)
        while len(self._responses) > _LATER:
            oldest = self._responses.popleft()
            holders = _holders(oldest)
            if holders and holders == self._alone:
                oldest._cached_selector = None
            elif holders and len(self._responses) < _MOST:
                self._responses.append(oldest)  # to be looked at again: its requests are under way
                break
        self._bytes += len(response.body)
        if self._bytes > _BYTES and _state.thresholds:
            gc.collect(1)
            self._bytes = 0


def _holders(response: Any) -> tuple[int, int] | None:
    """Return by how many *response* and its selector are held, None where that cannot be told."""
    selector = getattr(response, "_cached_selector", None)
    if selector is None or not hasattr(sys, "getrefcount"):  # PyPy counts nothing
        return None
    return sys.getrefcount(response), sys.getrefcount(selector)
