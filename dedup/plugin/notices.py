"""What a crawl tells: its stats, all of them below ``dedup/``, and its warnings, each once."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from scrapy.exceptions import DropItem

from dedup.front.settings import DedupSettings
from dedup.index import Index
from dedup.report.losses import (
    MAX_FIELD_ROWS,
    MAX_PAIRS,
    fields_of,
    other_fields_of,
    places_of,
    stored_pages,
    texts_of,
)
from dedup.report.overview import counted
from dedup.rule.keys import MAX_CANDIDATES
from dedup.rule.loss import FEW_WORDS, loses
from dedup.values.errors import IndexUnavailable
from dedup.values.limits import EXCESSES, Excess
from dedup.values.printable import printable
from dedup.values.row import Statistics
from dedup.values.urls import host_of, with_or_without_www
from dedup.values.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

_LONGEST_NAME = 80


class DuplicatePage(DropItem):
    """The item repeats one that was kept; *verdict* names it.

    The pipeline logs a line of its own, so Scrapy, which logs the whole item, is to log none.
    """

    def __init__(self, url: str, verdict: Verdict, name: str = "") -> None:
        message: Any = DropReason(url, verdict, name)
        super().__init__(message, log_level="NOTSET")
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class DropReason:
    """What `explained` returns, built only when somebody reads it: most logs leave it out."""

    url: str
    verdict: Verdict
    name: str = ""

    def __str__(self) -> str:
        return explained(self.url, self.verdict, self.name)


def explained(url: str, verdict: Verdict, name: str = "") -> str:
    """Return one line on a dropped page: URL, reason, canonical, loss, distances in bits, similarity.

    *name* stands for an item without URL: its key, or its first line.
    """
    similarity = "-" if verdict.similarity is None else f"{verdict.similarity:.2f}"
    is_measured = verdict.lost is not None and verdict.reason is not Reason.UNCHANGED
    lost = f": loses {loses(verdict.lost, verdict.words)}" if is_measured else ""
    return (
        f"{verdict.reason}: {_shown(url, name)} repeats {_shown(verdict.canonical_url)}{lost} "
        f"(content distance {_number(verdict.content_distance)}, "
        f"structure distance {_number(verdict.structure_distance)}, similarity {similarity})"
    )


def _shown(url: str, name: str = "") -> str:
    if url:
        return f"<{printable(url)}>" + (f" {printable(name, _LONGEST_NAME)}" if name else "")
    return f'"{printable(name, _LONGEST_NAME)}"' if name else "an item without URL"


def _number(distance: int | None) -> str:
    return "-" if distance is None else str(distance)


_P = ParamSpec("_P")
_T = TypeVar("_T")


# A count is among Scrapy's stats after so many seconds at the latest.
WRITTEN_AFTER = 1.0


class CrawlStats:
    """The counts of *crawler*, which has a stats collector when its crawl begins.

    They are added up here, because a page has a dozen of them and a call of Scrapy's collector costs a
    microsecond or two.  The collector gets them a second after the first new one, and the rest at the
    end.
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
            self._timer = asyncio.get_running_loop().call_later(WRITTEN_AFTER, self.write)

    def timed(self, step: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what *call* returns; add the processor seconds that it takes to the stat of *step*."""
        begin = thread_time()
        try:
            return call(*args, **kwargs)
        finally:
            self.add(f"seconds/{step}", thread_time() - begin)

    def lookup(self, verdict: Verdict) -> None:
        """Count a question to the index and how many candidates it looked at."""
        self._most_candidates = max(self._most_candidates or 0, verdict.candidates)
        self.add("candidates", verdict.candidates)
        self.add("lookups")

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
        """Set what the index holds at the end, the seconds of all, and the candidates of a lookup."""
        self.write()
        self._stats.set_value("dedup/index/rows", statistics.rows)
        self._stats.set_value("dedup/index/bytes", statistics.bytes)
        self._stats.set_value("dedup/index/orphans", statistics.orphans)
        if lookups := self._stats.get_value("dedup/lookups"):
            mean = self._stats.get_value("dedup/candidates", 0) / lookups
            self._stats.set_value("dedup/candidates_per_lookup", round(mean, 3))
        steps = ("parse", "fingerprint", "index")
        seconds = sum(self._stats.get_value(f"dedup/seconds/{step}", 0) for step in steps)
        self._stats.set_value("dedup/seconds", round(seconds, 6))

    def own(self) -> dict[str, int]:
        """Return all counts, by their names without ``dedup/``."""
        self.write()
        stats: dict[str, Any] = self._stats.get_stats()
        return {
            name.removeprefix("dedup/"): value
            for name, value in stats.items()
            if name.startswith("dedup/")
        }


logger = logging.getLogger(__name__)

# Hosts that are not visited and have the pages that others repeat; more are not counted.
_MOST_HOSTS = 1000
# So many copies that lose words are remembered.
_MOST_LOSING = 100_000
_PAIR = 2


class Notices:
    """The warnings of one crawl."""

    def __init__(self, settings: DedupSettings, counts: CrawlStats) -> None:
        self._settings = settings
        self._counts = counts
        self._given: set[str] = set()
        self._elsewhere: Counter[str] = Counter()
        # Copies that lose words: about how many, the row kept, and their own.
        self._losing: list[tuple[int, int, int]] = []
        self._others: list[tuple[int, int]] = []

    def over_limit(self, url: str, excess: Excess) -> None:
        """Warn of a page that is not read because of *excess*."""
        self._counts.add(f"over_limit/{excess}")
        if self._note_first(excess):
            logger.warning(
                "<%s> has %s: such pages are not read, and kept unless all their bytes are those of "
                "another one; dedup/over_limit/%s counts them",
                *(printable(url), EXCESSES[excess], excess),
            )

    def capped(self, url: str) -> None:
        """Warn of a page with more candidates than may be looked at."""
        self._counts.add("candidates_capped")
        if self._note_first("cap"):
            logger.warning(
                "<%s> is near more than %d pages; only the nearest were looked at, here and wherever "
                "dedup/candidates_capped counts it",
                *(printable(url), MAX_CANDIDATES),
            )

    def failed(self, error: Exception) -> None:
        """Report an error of the index; one that is no fault of ours needs no traceback."""
        self._counts.add("index_errors")
        if self._note_first(str(error)):
            trace = None if isinstance(error, IndexUnavailable) else error
            logger.error(
                "Pages are kept without being judged: %s", str(error) or repr(error), exc_info=trace
            )

    def _note_first(self, what: str) -> bool:
        """Note that *what* is told; return whether that is for the first time."""
        is_first = what not in self._given
        self._given.add(what)
        return is_first

    def judged(self, verdict: Verdict) -> None:
        """Count a copy that may have a text of its own, and one for a page of a host not visited."""
        if not verdict.repeats_another:
            return
        if verdict.nowhere and len(self._losing) < _MOST_LOSING:
            self._losing.append((verdict.nowhere, verdict.canonical or 0, verdict.row or 0))
        if (verdict.nowhere or 0) > FEW_WORDS:
            self._counts.add("doubtful")
        if not verdict.canonical_was_met and len(self._elsewhere) < _MOST_HOSTS:
            self._elsewhere[host_of(verdict.canonical_url)] += 1

    def other_fields(self, verdict: Verdict) -> None:
        """Note a copy with other values in fields that were not judged than the page kept has."""
        if verdict.canonical and verdict.row and len(self._others) < MAX_FIELD_ROWS:
            self._others.append((verdict.canonical, verdict.row))

    def losses(self, index: Index, rows: Callable[[Iterable[int]], list[int]]) -> Iterator[str]:
        """Yield what was lost with copies: records, how many words, those of the worst, other fields.

        *rows* gives the rows of *index* that rows of the crawl are.
        """
        pairs = ((about, rows(pair)) for about, *pair in self._losing)
        worst = sorted(((about, *pair) for about, pair in pairs if len(pair) == _PAIR), reverse=True)
        read = lru_cache(2 * MAX_PAIRS)(stored_pages(index))
        texts = texts_of([(kept, copy) for _, kept, copy in worst[:MAX_PAIRS]], read)
        lost = {row: texts[row].lost if row in texts else about for about, _, row in worst}
        differing = {copy: kept for _, kept, copy in worst if copy in texts and texts[copy].lost}
        places = places_of(index, differing, read, self._settings.config.exceptions)
        records = [place for place in places if place.is_record and not place.says]
        if copies := {row for place in records for row in place.copies}:
            differ = counted(len(copies), "copy differs", "copies differ")
            yield (
                f"RECORDS MAY HAVE BEEN MERGED: {differ} in numbers, codes or names, most at "
                f"{printable(records[0].shown)}; decide about them with: dedup report --serve"
            )
        if losing := sorted((row for row in lost if lost[row]), key=lambda row: lost[row]):
            words = "; ".join(texts[losing[-1]].lost_parts) if losing[-1] in texts else ""
            url = next(index.rows_of([losing[-1]])).sighting.url
            fewest, most = lost[losing[0]], lost[losing[-1]]
            about = "" if len(texts) == len(worst) else "about "
            yield (
                f"{counted(len(losing), 'copy loses', 'copies lose')} {about}"
                f"{f'{fewest:,} to ' * (fewest < most)}{counted(most, 'word')}, most: {printable(url)}"
                f"{f' ({printable(words, _LONGEST_NAME)})' if words else ''}"
            )
        others = [(pair[0], pair[1]) for pair in map(rows, self._others) if len(pair) == _PAIR]
        for place in fields_of(other_fields_of(index, others)):
            if place.advice:
                yield f"copies differ in other fields, as {place}"

    def elsewhere(self, visited: Collection[str]) -> Mapping[str, int]:
        """Return for how many copies pages of each host stand that is none of those *visited*."""
        known = {name for host in visited for name in with_or_without_www(host)}
        return {host: count for host, count in self._elsewhere.most_common() if host not in known}
