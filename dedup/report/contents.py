"""What is in an HTML report, as values: the figures of all rows, and what is shown page by page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dedup.index import Index, Run
from dedup.recipes.config import DedupConfig
from dedup.report.columns import Columns, columns_of
from dedup.report.losses import Losses, PageOf, losses_of
from dedup.report.overview import Overview, overview_of
from dedup.report.shown import ShownCluster, ShownPages, shown_clusters
from dedup.report.side_by_side import SideBySide
from dedup.values.errors import ConfigError
from dedup.values.exceptions import Marks
from dedup.values.row import Glance

MAX_PAGES = 2_000

RowPair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """What somebody has said of pairs of the index with the id *index*, and where more of it goes.

    *known* is what the report knows, *name* the file to write all marks to.  With a *token* the server
    that shows the report writes it; "" is for a report in a file.
    """

    index: str = ""
    known: Marks = field(default=Marks())
    name: str = "marks.csv"
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What an HTML report is about, and how much of it is shown.

    *glances* are the rows that it is about, all of the index unless given; their canonicals and texts
    are looked up in the index.  *config* has the thresholds, *max_pages* bounds the
    file.  *page_of* gives the page of a row, None where there is none; unless given, the index does.
    *note* is a sentence that stands among the facts.  *marking* has the marks of the review.
    """

    index: Index
    config: DedupConfig
    name: str
    note: str = ""
    glances: Iterable[Glance] | None = None
    max_pages: int = MAX_PAGES
    page_of: PageOf | None = None
    marking: Marking = field(default=Marking())

    def __post_init__(self) -> None:
        if self.max_pages < 2:
            raise ConfigError(f"max_pages ({self.max_pages}) must be 2 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What is in a report: figures of all rows, and what is shown page by page.

    *book* has the pages of *clusters*; *texts* are those of two rows side by side.
    *counted* has those of copies that are whole, by the row of the copy: words
    lost with these are counted, not estimated.
    """

    choices: Choices
    columns: Columns
    overview: Overview
    losses: Losses
    runs: Mapping[int, Run]
    book: ShownPages
    clusters: Sequence[ShownCluster]
    texts: Mapping[RowPair, SideBySide]
    counted: Mapping[int, SideBySide]

    @property
    def listed(self) -> int:
        """How many duplicates are listed."""
        return sum(len(cluster.rows) - 1 for cluster in self.clusters)

    @property
    def left_out(self) -> int:
        """How many duplicates are counted in the figures only."""
        return self.overview.duplicates - self.listed


def contents_of(choices: Choices) -> Contents:
    """Return what a report shows, read from the index of *choices*."""
    index, config = choices.index, choices.config
    columns = columns_of(index.store.glances() if choices.glances is None else choices.glances)
    book = ShownPages(index)
    losses = losses_of(index, columns, config.exceptions, choices.page_of)
    clusters = shown_clusters(columns, book, config, choices.max_pages)
    texts = {
        (cluster.rows[0], row): losses.texts[row]
        for cluster in clusters
        for row in cluster.rows[1:]
        if row in losses.texts
    }
    return Contents(
        choices=choices,
        columns=columns,
        overview=overview_of(columns),
        losses=losses,
        runs={run.id: run for run in index.book.all()},
        book=book,
        clusters=clusters,
        texts=texts,
        counted={row: found for (_, row), found in texts.items() if not found.is_cut},
    )
