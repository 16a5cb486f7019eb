"""The stats of one crawl, all of them below ``dedup/``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dedup.plugin.waiting import has_asyncio
from dedup.values.row import Statistics
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

_P = ParamSpec("_P")
_T = TypeVar("_T")


# A count is among Scrapy's stats after so many seconds at the latest.
WRITTEN_AFTER = 1.0


class CrawlStats:
    """The counts of *crawler*, which has a stats collector when its crawl begins.

    They are added up here, because a page has a dozen of them and a call of Scrapy's collector costs a
    microsecond or two.  The collector gets them a second after the first new one, and the rest at the
    end.  Without an asyncio loop, and so without a clock, it gets each at once.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._added: dict[str, float] = {}
        self._most_candidates: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _stats(self) -> StatsCollector:
        assert self._crawler.stats is not None
        return self._crawler.stats

    def add(self, name: str, by: float = 1) -> None:
        """Add *by* to the stat *name*."""
        self._added[name] = self._added.get(name, 0) + by
        if self._timer is None:
            self._write_soon()

    def timed(self, step: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what *call* returns; add the seconds that it takes to the stat of *step*."""
        begin = perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            self.add(f"seconds/{step}", perf_counter() - begin)

    def lookup(self, verdict: Verdict) -> None:
        """Count a question to the index and how many candidates it looked at."""
        self._most_candidates = max(self._most_candidates or 0, verdict.candidates)
        self.add("candidates", verdict.candidates)
        self.add("lookups")

    def _write_soon(self) -> None:
        if has_asyncio():
            self._timer = asyncio.get_running_loop().call_later(WRITTEN_AFTER, self.write)
        else:
            self.write()

    def write(self) -> None:
        """Let the stats of Scrapy have everything that was counted up to now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        added, self._added = self._added, {}
        for name, by in added.items():
            number: Any = by  # Scrapy annotates counts as whole numbers
            self._stats.inc_value(f"dedup/{name}", number)
        if self._most_candidates is not None:
            self._stats.max_value("dedup/candidates_max", self._most_candidates)
            self._most_candidates = None

    def index(self, statistics: Statistics) -> None:
        """Set what the index holds at the end, and the candidates of a lookup on average."""
        self.write()
        self._stats.set_value("dedup/index/rows", statistics.rows)
        self._stats.set_value("dedup/index/bytes", statistics.bytes)
        self._stats.set_value("dedup/index/orphans", statistics.orphans)
        if lookups := self._stats.get_value("dedup/lookups"):
            mean = self._stats.get_value("dedup/candidates", 0) / lookups
            self._stats.set_value("dedup/candidates_per_lookup", round(mean, 3))

    def own(self) -> dict[str, int]:
        """Return all counts, by their names without ``dedup/``."""
        self.write()
        stats: dict[str, Any] = self._stats.get_stats()
        return {
            name.removeprefix("dedup/"): value
            for name, value in stats.items()
            if name.startswith("dedup/")
        }
