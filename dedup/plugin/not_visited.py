"""The addresses that a crawl does not visit, each with the reason; at its end a file of JSON lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import NamedTuple
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from dedup.model.printable import printable

logger = logging.getLogger(__name__)

LIST = "not-visited.jsonl"
"""The file, in the JOBDIR of a crawl or else in the data directory of the project."""
BY_RULE = "rule "
"""A reason begins so where that is a rule for URLs; others are patterns that brought nothing new."""
# So many reasons are named in the log; all are in the list.
_NAMED = 20

_of_crawler: WeakKeyDictionary[Crawler, NotVisited] = WeakKeyDictionary()


class Address(NamedTuple):
    """An address that was not visited: *why*, its *url*, and its *request*, "" if that is not known."""

    why: str
    url: str
    request: str = ""


class NotVisited:
    """Addresses by reason, from the file of a job, which has what is left of them in the end."""

    def __init__(self, job: str = "") -> None:
        self._path = Path(job, LIST) if job else None
        self._parked: dict[str, list[Address]] = {}
        if self._path and self._path.exists():
            for line in self._path.read_bytes().splitlines():
                with suppress(ValueError, TypeError):  # damaged, or of somebody else
                    self.add(Address(**json.loads(line)))

    def add(self, address: Address) -> None:
        """Add an address."""
        self._parked.setdefault(address.why, []).append(address)

    def take(self, why: str, most: int | None = None) -> list[Address]:
        """Take at most so many addresses of one reason out, the first that came first."""
        parked = self._parked.get(why, [])
        taken = parked[:most]
        del parked[:most]
        return taken

    def take_urls(self, urls: Collection[str]) -> list[Address]:
        """Take the addresses *urls* out."""
        taken = [one for one in self if one.url in urls]
        for why, parked in self._parked.items():
            self._parked[why] = [one for one in parked if one.url not in urls]
        return taken

    def __iter__(self) -> Iterator[Address]:
        return chain.from_iterable(self._parked.values())

    def counts(self) -> dict[str, int]:
        """Return how many addresses there are of each reason, the largest first."""
        counts = {why: len(parked) for why, parked in self._parked.items() if parked}
        return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))

    def close(self) -> str:
        """Leave the list of what was not visited; return what to say of it, "" where that is nothing."""
        counts, path = self.counts(), self._path or Path(".scrapy", LIST)
        if not self._path:
            with suppress(NotConfigured):  # outside of any project
                path = Path(data_path(LIST, createdir=False))
        if counts or (self._path and path.exists()):
            # Requests may hold what is private: only those of a job are kept.
            shown = (one._asdict() if self._path else {"why": one.why, "url": one.url} for one in self)
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            with new.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(one) + "\n" for one in shown)
            new.replace(path)
        return _summary(counts, path) if counts else ""


def not_visited(crawler: Crawler) -> NotVisited:
    """Return the addresses that *crawler* does not visit; they are listed when it has ended."""
    found = _of_crawler.get(crawler)
    if found is None:
        found = _of_crawler[crawler] = NotVisited(crawler.settings["JOBDIR"] or "")

        def closed() -> None:
            if (text := found.close()) and crawler.stats:
                crawler.stats.set_value("dedup/not_visited", sum(found.counts().values()))
                logger.info("%s", text)

        crawler.signals.connect(closed, signals.spider_closed, weak=False)
    return found


def _summary(counts: dict[str, int], path: Path) -> str:
    lines = [f"{sum(counts.values()):,} addresses not visited:"]
    lines += [f"  {number:>8,}  {printable(why)}" for why, number in list(counts.items())[:_NAMED]]
    if len(counts) > _NAMED:
        lines.append(f"  and {len(counts) - _NAMED:,} more patterns")
    lines.append(f"  all of them: {printable(str(path))}")
    if patterns := [why for why in counts if not why.startswith(BY_RULE)]:
        lines.append(
            f"  to visit those of a pattern: -a {quote(f'dedup_follow={printable(patterns[0])}')}"
        )
    return "\n".join(lines)
