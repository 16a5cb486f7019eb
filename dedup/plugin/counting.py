"""The stats of one crawl, all of them below ``dedup/``."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dedup.values.row import Statistics
from dedup.values.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Counts:
    """The counts of *crawler*, which has a stats collector when its crawl begins."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @property
    def _stats(self) -> StatsCollector:
        assert self._crawler.stats is not None
        return self._crawler.stats

    def add(self, name: str, by: int = 1) -> None:
        """Add *by* to the stat *name*."""
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"dedup/{name}", by)

    def timed(self, step: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what *call* returns; add the seconds that it takes to the stat of *step*."""
        begin = perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            seconds: Any = perf_counter() - begin  # Scrapy annotates counts as whole numbers
            self._stats.inc_value(f"dedup/seconds/{step}", seconds)

    def lookup(self, verdict: Verdict) -> None:
        """Count a question to the index and how many candidates it looked at."""
        self.add("lookups")
        self.add("candidates", verdict.candidates)
        self._stats.max_value("dedup/candidates_max", verdict.candidates)

    def index(self, statistics: Statistics) -> None:
        """Set what the index holds at the end, and the candidates of a lookup on average."""
        self._stats.set_value("dedup/index/rows", statistics.rows)
        self._stats.set_value("dedup/index/bytes", statistics.bytes)
        self._stats.set_value("dedup/index/orphans", statistics.orphans)
        if lookups := self._stats.get_value("dedup/lookups"):
            mean = self._stats.get_value("dedup/candidates", 0) / lookups
            self._stats.set_value("dedup/candidates_per_lookup", round(mean, 3))

    def own(self) -> dict[str, int]:
        """Return all counts, by their names without ``dedup/``."""
        stats: dict[str, Any] = self._stats.get_stats()
        return {
            name.removeprefix("dedup/"): value
            for name, value in stats.items()
            if name.startswith("dedup/")
        }
