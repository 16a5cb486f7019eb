"""Which of the rows a report is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dedup.index import Index, Row
from dedup.values.row import Glance, glance_of
from dedup.values.urls import host_of, url_key


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of one *run*, seen *since* (seconds since 1970), of a *domain* and its subdomains.

    None, 0 and "" select all.  What was forgotten is never selected.  It is the page itself that
    is selected: its canonical may be of another run or domain.
    """

    run: int | None = None
    since: float = 0.0
    domain: str = ""

    def rows(self, index: Index) -> Iterator[Row]:
        """Yield the selected rows of *index* as they were seen."""
        domain = host_of(url_key(f"http://{self.domain}/")) or self.domain.lower()
        for row in index.rows(self.run):
            seen = row.sighting
            if (
                row.outcome != "forgotten"
                and seen.time >= self.since
                and (not domain or f".{host_of(seen.url_key)}".endswith(f".{domain}"))
            ):
                yield row

    def glances(self, index: Index) -> Iterable[Glance]:
        """Return what a report counts of the selected rows; where all are, forgotten ones too."""
        return index.views.glances() if self == ALL else map(glance_of, self.rows(index))


ALL = Selection()
