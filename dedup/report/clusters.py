"""The report on an index: clusters of a page kept and its copies, with what is lost with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dedup.index import Index, Row, Run
from dedup.index.notes import left_out
from dedup.model.marks import NO_EXCEPTIONS, Exceptions
from dedup.model.printable import printable
from dedup.model.row import glance_of
from dedup.model.urls import host_of, url_key
from dedup.model.verdict import Reason
from dedup.report.counts import CopyCounts, Counts, counted, counts_of
from dedup.report.explanation import FATES, loss
from dedup.report.losses import MAX_FIELD_ROWS, MAX_PAIRS, Losses, losses_of

GREEN, AMBER, RED = "green", "amber", "red"
_TITLE = 140  # characters


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of one *run*, of a *domain* and its subdomains; None and "" select all.

    What was forgotten is never selected.  The page itself is selected: its canonical may be of another
    run or domain.
    """

    run: int | None = None
    domain: str = ""

    def rows(self, index: Index) -> Iterator[Row]:
        """Yield the selected rows of *index* as they were seen."""
        domain = host_of(url_key(f"http://{self.domain}/")) or self.domain.lower()
        for row in index.rows(self.run):
            is_there = not domain or f".{host_of(row.sighting.url_key)}".endswith(f".{domain}")
            if row.outcome != "forgotten" and is_there:
                yield row


ALL = Selection()


@dataclass(frozen=True)
class Report:
    """The duplicates among the *selection* of *index*, and their canonicals, each once (`Counts`).

    *exceptions* are marks.  Some numbers are held of each row, and what is lost with the copies that
    lose most; the rows are read when they are asked for.
    """

    index: Index
    selection: Selection = ALL
    exceptions: Exceptions = NO_EXCEPTIONS

    @cached_property
    def _estimates(self) -> Counts:
        if self.selection == ALL:
            return counts_of(self.index.store.glances())
        return counts_of(map(glance_of, self.selection.rows(self.index)))

    @cached_property
    def losses(self) -> Losses:
        """What is lost with the duplicates, as far as texts and fields tell."""
        counts = self._estimates
        near = np.flatnonzero(counts.near & (counts.nowhere != 0))
        worst = near[np.lexsort((counts.rows["id"][near], -counts.nowhere[near]))][:MAX_PAIRS]
        others = np.flatnonzero(counts.rows["differs"])[:MAX_FIELD_ROWS]
        pairs, of_fields = (counts.rows[["canonical", "id"]][some].tolist() for some in (worst, others))
        return losses_of(self.index, pairs, of_fields, self.exceptions)

    @cached_property
    def counts(self) -> Counts:
        """The numbers of all pages; what differs is counted where texts and fields are at hand."""
        lost = {row: texts.lost for row, texts in self.losses.texts.items() if not texts.is_cut}
        counts, fields = self._estimates, self.losses.fields
        counts.rows["lost"][counts.places(lost)] = [*lost.values()]
        counts.rows["differs"][counts.places(fields)] = [*map(bool, fields.values())]
        return counts

    @cached_property
    def answer(self) -> CopyCounts:
        """How many duplicates lose something."""
        return self.counts.answer

    @cached_property
    def ranked(self) -> list[tuple[int, list[int]]]:
        """Which clusters there are: those with records first, then those with a copy that loses most."""
        return self.counts.clusters(self.losses.records)

    @cached_property
    def runs(self) -> dict[int, Run]:
        """The runs of the index, by their numbers."""
        return {run.id: run for run in self.index.runs.all()}

    @cached_property
    def left_out(self) -> dict[str, list[str]]:
        """What is left out of the selected pages, by host."""
        found = {printable(host): gaps for host, gaps in left_out(self.index.store).items()}
        return {host: [*map(printable, found[host])] for host in found if host in self.counts.sites}

    @property
    def colour(self) -> str:
        """Green if nothing is lost, red if records may have been merged, else amber."""
        if self.losses.records:
            return RED
        return AMBER if self.answer.losing or self.answer.unknown else GREEN

    @property
    def verdict(self) -> str:
        """The first line of a report: what is lost, and how many copies were not checked for records."""
        counts, texts = self.counts, self.losses.texts
        losing = counts.rows["id"][counts.near & (counts.nowhere != 0)]
        left = int((~np.isin(losing, [*texts])).sum())
        why = "their texts are not stored (DEDUP_STORE_PAGES)"
        if len(texts) == MAX_PAIRS:
            why = f"only the {MAX_PAIRS} that lose most are compared"
        of = f" Not checked for records: {left:,} of {left + len(texts):,} copies, as {why}."
        return self._verdict + of * (left > 0)

    @property
    def _verdict(self) -> str:
        answer, left = self.answer, [place for place in self.losses.places if not place.says]
        if self.colour == GREEN:
            return "Nothing is lost with the copies." if answer.copies else "There are no copies."
        if self.colour == RED:
            copies = counted(len(self.losses.records), "copy differs", "copies differ")
            return f"Records may have been merged: {copies} in numbers, codes or names."
        each = " each" * (answer.losing > 1)
        losing = f"{counted(answer.losing, 'copy loses', 'copies lose')} {answer.words}{each}"
        if not left:
            return f"{losing}." if answer.losing else "What is lost was not measured."
        return f"Look at {'this place' if len(left) == 1 else f'these {len(left)} places'}: {losing}."

    def rows(self, *, everything: bool = False) -> Iterator[Row]:
        """Yield a row of each duplicate, or of each page, in the order in which they were seen."""
        found = self.counts.rows["id"]
        return self.index.rows_of((found if everything else found[self.counts.duplicates]).tolist())

    def clusters(self, limit: int = 0, copies: int = 0) -> Iterator[tuple[int, Row, list[Row]]]:
        """Yield how many copies a page kept has, its row, and those of the first *copies*.

        Of *limit* clusters; 0 stands for all.
        """
        for canonical, members in self.ranked[: limit or None]:
            kept, *found = self.index.rows_of((canonical, *members[: copies or None]))
            yield len(members), kept, found

    def action(self, row: Row) -> str:
        """Return what its run did with duplicates (see `dedup.index.Run`)."""
        run = self.runs.get(row.sighting.run)
        return run.action if run else "drop"

    def fate(self, row: Row) -> str:
        """Return what became of the page of *row*: `kept`, `dropped`, `marked` or `would_drop`."""
        return "kept" if row.verdict.kept else FATES.get(self.action(row), "dropped")

    def title(self, row: Row) -> str:
        """Return the title of a page as it is shown, or how its stored text begins, "" for neither."""
        title = row.sighting.title.strip() or (self.index.text_of(row) or "").strip()
        return printable(title.partition("\n")[0], _TITLE)

    def loss(self, row: Row) -> str:
        """Return what a near copy loses: "12 of 640 words", counted or "about"; "" for unknown."""
        texts = self.losses.texts.get(row.id)
        return "" if row.verdict.reason is Reason.EXACT_DUPLICATE else loss(row, texts)

    def lost(self, row: Row) -> int | None:
        """Return how many words of *row* are not on the page kept, counted where texts are stored."""
        texts = self.losses.texts.get(row.id)
        return texts.lost if texts and not texts.is_cut else row.verdict.lost


def what_is(row: Row) -> str:
    """Return what a duplicate is: "exact copy", "near copy" or "unchanged"."""
    return row.verdict.reason.replace("_", " ").replace("duplicate", "copy")
