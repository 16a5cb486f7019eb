"""The pages that a report shows one by one: chosen, looked up, and made safe to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup.index import Index, Row
from dedup.recipes.config import DedupConfig
from dedup.report.clusters import most_lost_first
from dedup.report.columns import Columns, SiteNames
from dedup.report.overview import on_record
from dedup.rule.loss import words_of
from dedup.rule.match import match
from dedup.values.printable import printable, printable_url
from dedup.values.verdict import Check

# Of a larger cluster so many duplicates are shown, those that lose most.
MAX_MEMBERS = 200
URL_LIMIT = 600
TITLE_LIMIT = 140


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it is shown: its URL, site and title with every character visible, and cut."""

    row: int
    url: str
    site: str
    title: str
    words: int
    run: int
    time: float


class Compared(NamedTuple):
    """How the page of a *row* compares with its canonical alone, by the settings of the report.

    *on_record* says why the crawl dropped it, which knew its site (`dedup.report.overview.on_record`).
    """

    row: int
    check: Check
    on_record: str


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """A cluster as it is shown: the pages of *rows*, the canonical first; *compared* are its copies."""

    rows: tuple[int, ...]
    compared: tuple[Compared, ...]


@dataclass(slots=True)
class ShownPages:
    """The pages shown, by the number of their row; each is looked up once."""

    index: Index
    pages: dict[int, Shown] = field(default_factory=dict)
    _sites: SiteNames = field(default_factory=SiteNames)

    def add(self, row: Row) -> None:
        """Show the page of *row*."""
        if row.id in self.pages:
            return
        seen = row.sighting
        url, title = printable_url(seen.url, URL_LIMIT), heading(row, self.index)
        self.pages[row.id] = Shown(
            *(row.id, url, self._sites.of(seen.url), title),
            *(words_of(seen.fingerprint), seen.run, seen.time),
        )


def heading(row: Row, index: Index) -> str:
    """Return the title of a page as it is shown, or else how its stored text begins, "" for neither."""
    title = row.sighting.title.strip() or (index.text_of(row) or "").strip()
    return printable(title.partition("\n")[0], TITLE_LIMIT)


def shown_clusters(
    columns: Columns, book: ShownPages, config: DedupConfig, max_pages: int
) -> list[ShownCluster]:
    """Return clusters of at most *max_pages* pages together, those that lose most first."""
    clusters: list[ShownCluster] = []
    copies = min(MAX_MEMBERS, max_pages - 1)
    for canonical, _, members in most_lost_first(columns).each(copies=copies):
        if len(book.pages) + 1 + len(members) > max_pages:
            break
        rows = list(book.index.rows_of((canonical, *members)))
        clusters.append(ShownCluster(tuple(row.id for row in rows), tuple(_compared(rows, config))))
        for row in rows:
            book.add(row)
    return clusters


def _compared(rows: Sequence[Row], config: DedupConfig) -> Iterator[Compared]:
    canonical, *duplicates = rows
    for row in duplicates:
        check = match(canonical.sighting.fingerprint, row.sighting.fingerprint, config).check
        yield Compared(row.id, check, on_record(row))
