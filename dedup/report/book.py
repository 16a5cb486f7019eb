"""The pages that a report shows one by one: chosen, looked up, and made safe to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dedup.index import Index, Row
from dedup.report.clusters import KEEPS
from dedup.report.columns import Columns, Integers, site_name
from dedup.report.likeness import LeastAlike, least_alike
from dedup.values.printable import printable

# Of a larger cluster so many copies are shown, the first seen.
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
    tokens: int
    run: int
    time: float


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """A cluster as it is shown: the pages of *rows*, the canonical first, of *size* copies.

    *best* is the row that the rule of the report would have kept.
    """

    rows: tuple[int, ...]
    size: int
    least: LeastAlike
    best: int


@dataclass(slots=True)
class Book:
    """The pages shown, by the number of their row; each is looked up once."""

    index: Index
    pages: dict[int, Shown] = field(default_factory=dict)
    characters: int = 0

    def add(self, row: Row) -> None:
        """Show the page of *row*."""
        if row.id in self.pages:
            return
        seen = row.sighting
        url, title = printable(seen.url, URL_LIMIT), printable(seen.title.strip(), TITLE_LIMIT)
        self.pages[row.id] = Shown(
            *(row.id, url, site_name(seen.url), title),
            *(seen.fingerprint.tokens, seen.run, seen.time),
        )
        self.characters += len(url) + len(title)

    def add_all(self, rows: Iterable[int]) -> None:
        """Show the pages of these rows."""
        for row in self.index.rows_of(sorted(set(rows) - self.pages.keys())):
            self.add(row)


def shown_clusters(
    columns: Columns,
    book: Book,
    max_pages: int,
    keep: str = "first",
    track: Callable[[Iterable[Integers], int], Iterable[Integers]] = lambda rows, _: rows,
) -> list[ShownCluster]:
    """Return the largest clusters, until *max_pages* pages or `MAX_CHARACTERS` are shown.

    *track* sees the clusters go by, and how many there are at most.
    """
    copies = np.flatnonzero(columns.copies)
    order = copies[np.argsort(columns.canonical[copies], kind="stable")]
    canonicals, starts, sizes = np.unique(
        columns.canonical[order], return_index=True, return_counts=True
    )
    largest = np.argsort(-sizes, kind="stable")
    most = min(MAX_MEMBERS, max_pages - 1)
    shown = np.minimum(sizes[largest], most) + 1
    largest = largest[np.cumsum(shown) <= max_pages]
    wanted = [
        np.concatenate(
            (canonicals[[place]], columns.id[order[starts[place] :][: min(sizes[place], most)]])
        )
        for place in largest.tolist()
    ]
    clusters: list[ShownCluster] = []
    tracked = iter(track(wanted, len(wanted)))
    for batch in _batches(tracked):
        if book.characters > MAX_CHARACTERS:
            break
        members = _looked_up(batch, book.index)
        least = least_alike([[row.sighting.fingerprint for row in rows] for rows in members])
        for rows, found in zip(members, least, strict=True):
            size = int(sizes[largest[len(clusters)]])
            clusters.append(
                ShownCluster(tuple(row.id for row in rows), size, found, KEEPS[keep](rows).id)
            )
            for row in rows:
                book.add(row)
    return clusters


def _batches(clusters: Iterator[Integers]) -> Iterator[list[Integers]]:
    batch: list[Integers] = []
    pages = 0
    for cluster in clusters:
        batch.append(cluster)
        pages += len(cluster)
        if pages >= _BATCH:
            yield batch
            batch, pages = [], 0
    if batch:
        yield batch


def _looked_up(batch: Sequence[Integers], index: Index) -> list[list[Row]]:
    rows = index.rows_of(np.concatenate(batch).tolist())
    return [[next(rows) for _ in cluster] for cluster in batch]
