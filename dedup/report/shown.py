"""The pages that a report shows one by one: chosen, looked up, and made safe to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from dedup.index import Index, Row
from dedup.recipes.config import DedupConfig
from dedup.report.clusters import clusters_of
from dedup.report.columns import Columns, SiteNames
from dedup.report.overview import on_record
from dedup.rule.loss import words_of
from dedup.rule.match import match
from dedup.values.printable import printable, printable_url
from dedup.values.verdict import Check

# Of a larger cluster so many duplicates are shown, the first seen.
MAX_MEMBERS = 1000
# The shown texts of all pages have at most so many characters.
MAX_CHARACTERS = 48_000_000
URL_LIMIT = 600
TITLE_LIMIT = 140

_BATCH = 256


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
    """A cluster as it is shown: the pages of *rows*, the canonical first, of *size* duplicates.

    *compared* are its duplicates.
    """

    rows: tuple[int, ...]
    size: int
    compared: tuple[Compared, ...]


@dataclass(slots=True)
class ShownPages:
    """The pages shown, by the number of their row; each is looked up once."""

    index: Index
    pages: dict[int, Shown] = field(default_factory=dict)
    characters: int = 0
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
        self.characters += len(url) + len(title)


def heading(row: Row, index: Index) -> str:
    """Return the title of a page as it is shown, or else how its stored text begins, "" for neither."""
    title = row.sighting.title.strip() or (index.text_of(row) or "").strip()
    return printable(title.partition("\n")[0], TITLE_LIMIT)


def shown_clusters(
    columns: Columns, book: ShownPages, config: DedupConfig, max_pages: int
) -> list[ShownCluster]:
    """Return the largest clusters, until *max_pages* pages or `MAX_CHARACTERS` are shown."""
    sizes, members = _largest(columns, max_pages)
    clusters: list[ShownCluster] = []
    for batch in _batches(members):
        if book.characters > MAX_CHARACTERS:
            break
        found = book.index.rows_of(chain.from_iterable(batch))
        looked_up = [[next(found) for _ in cluster] for cluster in batch]
        for rows in looked_up:
            numbers, size = tuple(row.id for row in rows), sizes[len(clusters)]
            compared = tuple(_compared(rows, config))
            clusters.append(ShownCluster(numbers, size, compared))
            for row in rows:
                book.add(row)
    return clusters


def _compared(rows: Sequence[Row], config: DedupConfig) -> Iterator[Compared]:
    canonical, *duplicates = rows
    for row in duplicates:
        check = match(canonical.sighting.fingerprint, row.sighting.fingerprint, config).check
        yield Compared(row.id, check, on_record(row))


def _largest(columns: Columns, max_pages: int) -> tuple[list[int], list[list[int]]]:
    """Return how many duplicates each of the largest clusters has, and the rows that are shown of it."""
    sizes, shown, pages = [], [], 0
    for canonical, size, copies in clusters_of(columns).each(copies=min(MAX_MEMBERS, max_pages - 1)):
        pages += 1 + len(copies)
        if pages > max_pages:
            break
        sizes.append(size)
        shown.append([canonical, *copies])
    return sizes, shown


def _batches(clusters: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    pages = 0
    for cluster in clusters:
        batch.append(cluster)
        pages += len(cluster)
        if pages >= _BATCH:
            yield batch
            batch, pages = [], 0
    if batch:
        yield batch
