"""The addresses that a crawl does not visit, each with the reason, in a file of JSON lines."""

from __future__ import annotations

import json
import logging
from array import array
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple
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
    """Addresses by reason, in the file of a job, else in one that goes with the process.

    Each stands in the file of a job when `add` returns, however the process ends; what is taken out is
    noted there, too.  In memory is only where each stands.
    """

    def __init__(self, job: str = "") -> None:
        self._path = Path(job, LIST) if job else None
        self._places: dict[str, array[int]] = {}
        self._file: IO[bytes] | None = None
        if self._path and self._path.exists():
            self._opened()

    def _opened(self) -> IO[bytes]:
        """Return the file, opened and read when it is needed."""
        if self._file is None:
            file = self._file = self._path.open("a+b") if self._path else TemporaryFile()  # noqa: SIM115
            place, taken = file.seek(0), set[int]()
            for line in file:
                found = _read(line)
                if isinstance(found.get("taken"), list):
                    taken.update(found["taken"])
                elif "url" in found:
                    self._places.setdefault(str(found.get("why")), array("q")).append(place)
                place += len(line)
            self._leave_out(taken)
            if place:
                file.write(b"\n")  # the last line may be torn
        return self._file

    def _leave_out(self, taken: Collection[int]) -> None:
        for why, places in self._places.items():
            self._places[why] = array("q", (place for place in places if place not in taken))

    def _write(self, value: object) -> int:
        file = self._opened()
        place = file.seek(0, 2)
        file.write(json.dumps(value).encode() + b"\n")
        file.flush()
        return place

    def add(self, address: Address) -> None:
        """Add an address."""
        place = self._write(address._asdict())
        self._places.setdefault(address.why, array("q")).append(place)

    def take(self, why: str, most: int | None = None) -> list[Address]:
        """Take at most so many addresses of one reason out, the first that came first."""
        places = self._places.get(why, array("q"))
        if first := places[:most]:
            self._places[why] = places[len(first) :]
            self._write({"taken": list(first)})
        return [self._at(place) for place in first]

    def take_urls(self, urls: Collection[str]) -> list[Address]:
        """Take the addresses *urls* out."""
        found = {place: one for place, one in self._all() if one.url in urls}
        if found:
            self._leave_out(found)
            self._write({"taken": list(found)})
        return list(found.values())

    def _at(self, place: int) -> Address:
        file = self._opened()
        file.seek(place)
        found = _read(file.readline())
        return Address(*(str(found.get(name, "")) for name in Address._fields))

    def _all(self) -> Iterator[tuple[int, Address]]:
        places = sorted(place for of in self._places.values() for place in of)
        return ((place, self._at(place)) for place in places)

    def __iter__(self) -> Iterator[Address]:
        return (address for _, address in self._all())

    def counts(self) -> dict[str, int]:
        """Return how many addresses there are of each reason, the largest first."""
        counts = {why: len(places) for why, places in self._places.items() if places}
        return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))

    def close(self) -> str:
        """Leave the list of what was not visited; return what to say of it, "" where that is nothing."""
        if self._file is None:
            return ""
        counts, path = self.counts(), self._path or Path(".scrapy", LIST)
        if not self._path:
            with suppress(NotConfigured):  # outside of any project
                path = Path(data_path(LIST, createdir=False))
        if counts or self._path:
            # Requests may hold what is private: only those of a job are kept.
            shown = (one._asdict() if self._path else {"why": one.why, "url": one.url} for one in self)
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            with new.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(one) + "\n" for one in shown)
            new.replace(path)
        self._file.close()
        return _summary(counts, path) if counts else ""


def not_visited(crawler: Crawler) -> NotVisited:
    """Return the addresses that *crawler* does not visit; they are listed when it has ended."""
    found = _of_crawler.get(crawler)
    if found is None:
        found = _of_crawler[crawler] = NotVisited(crawler.settings["JOBDIR"] or "")

        def closed() -> None:
            counts, text = found.counts(), found.close()
            if text and crawler.stats:
                crawler.stats.set_value("dedup/not_visited", sum(counts.values()))
                logger.info("%s", text)

        crawler.signals.connect(closed, signals.spider_closed, weak=False)
    return found


def _read(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(found := json.loads(line), dict):
            return found
    return {}


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
