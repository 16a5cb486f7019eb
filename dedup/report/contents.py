"""What is in an HTML report, as values: the figures of all rows, and what is shown page by page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dedup.index import Index, Run
from dedup.recipes.config import DedupConfig
from dedup.report.columns import Columns, columns_of
from dedup.report.overview import CopyCounts, Overview, answer_of, is_near, overview_of
from dedup.report.shown import ShownCluster, ShownPages, shown_clusters
from dedup.report.side_by_side import SideBySide, TextOf, side_by_side, stored_texts
from dedup.values.errors import ConfigError
from dedup.values.exceptions import Marks
from dedup.values.row import Glance

MAX_PAGES = 100_000
# The texts of so many pairs of pages are shown.
MAX_TEXT_PAIRS = 150

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
    file.  *text_of* gives the text of the page
    of a row, None where there is none; unless given, `stored_texts` do.  *note* is a sentence that
    stands among the facts.  *marking* has the marks of the review.
    """

    index: Index
    config: DedupConfig
    name: str
    note: str = ""
    glances: Iterable[Glance] | None = None
    max_pages: int = MAX_PAGES
    text_of: TextOf | None = None
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
    answer: CopyCounts
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
    columns = columns_of(index.views.glances() if choices.glances is None else choices.glances)
    book = ShownPages(index)
    clusters = shown_clusters(columns, book, config, choices.max_pages)
    texts = _texts(choices, _text_pairs(clusters, columns))
    counted = {
        row: found
        for cluster in clusters
        for row in cluster.rows[1:]
        if (found := texts.get((cluster.rows[0], row))) and not found.is_cut
    }
    places = columns.places(np.array(list(counted), np.int64))
    columns.lost[places] = [found.lost for found in counted.values()]
    return Contents(
        choices=choices,
        columns=columns,
        overview=overview_of(columns),
        answer=answer_of(columns),
        runs={run.id: run for run in index.runs()},
        book=book,
        clusters=clusters,
        texts=texts,
        counted=counted,
    )


def _text_pairs(clusters: Sequence[ShownCluster], columns: Columns) -> list[RowPair]:
    """Return the pairs whose texts are shown: those of the copies that lose most.

    Of equal copies one of each cluster comes first.
    """
    pairs = [(cluster.rows[0], row) for cluster in clusters for row in cluster.rows[1:]]
    turns = [turn for cluster in clusters for turn in range(len(cluster.rows) - 1)]
    places = columns.places(np.array([row for _, row in pairs], np.int64))
    urgency = np.where(is_near(columns), columns.nowhere, -1)[places]
    order = np.lexsort((np.array(turns, np.int64), -urgency)).tolist()
    return [pairs[place] for place in order[:MAX_TEXT_PAIRS]]


def _texts(choices: Choices, pairs: Sequence[RowPair]) -> dict[RowPair, SideBySide]:
    text_of = choices.text_of or stored_texts(choices.index)
    texts: dict[RowPair, SideBySide] = {}
    for first, second in pairs:
        one, other = text_of(first), text_of(second)
        if one is not None and other is not None and one != other:
            texts[first, second] = side_by_side(one, other)
    return texts
