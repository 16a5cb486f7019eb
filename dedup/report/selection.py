"""Which of the rows a report is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dedup.index import Row, Run
from dedup.values.urls import host_of, url_key


class Source(Protocol):
    """What a report reads: an index, or the replay of one."""

    def rows(self, run: int | None = None) -> Iterator[Row]:
        """Yield the rows as they were seen."""

    def rows_of(self, rows: Iterable[int]) -> Iterator[Row]:
        """Yield the rows of those numbers."""

    def runs(self) -> Sequence[Run]:
        """Return all runs."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of one *run*, seen *since* (seconds since 1970), of a *domain* and its subdomains.

    None, 0 and "" select all.  What was forgotten is never selected.  It is the page itself that
    is selected: its canonical may be of another run or domain.
    """

    run: int | None = None
    since: float = 0.0
    domain: str = ""

    def rows(self, source: Source) -> Iterator[Row]:
        """Yield the selected rows of *source* as they were seen."""
        domain = host_of(url_key(f"http://{self.domain}/")) or self.domain.lower()
        for row in source.rows(self.run):
            seen = row.sighting
            if (
                row.outcome != "forgotten"
                and seen.time >= self.since
                and (not domain or _is_within(host_of(seen.url_key), domain))
            ):
                yield row


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)
