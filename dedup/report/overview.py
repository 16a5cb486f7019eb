"""The figures of a report: how many duplicates there are, on which sites, in which runs, how near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.model.verdict import Reason
from dedup.report.columns import REASONS, Booleans, Columns


@dataclass(frozen=True, slots=True)
class CopyCounts:
    """How many duplicates there are, by what was lost with them.

    Of *seen* pages *exact* repeat one byte for byte, *near* in their text, and *unchanged* are as an
    earlier crawl saw them.  *losing* of these lose *least* to *most* words (about), *other* differ in
    fields that were not judged, and of *unknown* it was not measured.
    """

    seen: int
    exact: int
    near: int
    unchanged: int
    losing: int
    unknown: int
    least: int
    most: int
    other: int = 0

    @property
    def copies(self) -> int:
        """How many duplicates there are."""
        return self.exact + self.near + self.unchanged

    @property
    def parts(self) -> list[tuple[str, int]]:
        """The parts that all pages seen fall into, each with its name; none that is empty but kept."""
        kept = self.seen - self.copies
        some = [("exact", self.exact), ("near", self.near), ("unchanged", self.unchanged)]
        return [("kept", kept), *((name, number) for name, number in some if number)]

    @property
    def words(self) -> str:
        """How many words a copy loses that loses any."""
        least = "" if self.least == self.most else f"{self.least:,} to "
        return f"{least}{counted(self.most, 'word')}"

    def __str__(self) -> str:
        """Return the sum of all pages, and what is safe."""
        sum_ = " + ".join(f"{number:,} {name}" for name, number in self.parts)
        safe = self.copies - self.losing - self.unknown - self.other
        said = [(safe, "safe"), (self.losing, f"losing {self.words}"), (self.unknown, "not measured")]
        said.append((self.other, "with other fields"))
        copies = ", ".join(f"{number:,} {text}" for number, text in said if number)
        return f"{self.seen:,} seen = {sum_}" + (f"; of the copies {copies}" if copies else "")


def answer_of(columns: Columns) -> CopyCounts:
    """Return how many duplicates of *columns* lose something."""
    near, duplicates = is_near(columns), columns.duplicates
    other = columns.differs & (~near | (columns.nowhere == 0))
    lost = columns.nowhere[near & ~other]
    exact, unchanged = (
        int((duplicates & (columns.reason == REASONS.index(reason))).sum())
        for reason in (Reason.EXACT_DUPLICATE, Reason.UNCHANGED)
    )
    return CopyCounts(
        seen=len(columns),
        exact=exact,
        near=int(duplicates.sum()) - exact - unchanged,
        unchanged=unchanged,
        losing=int((lost > 0).sum()),
        unknown=int((lost < 0).sum()),
        least=int(lost[lost > 0].min(initial=1 << 60)) if (lost > 0).any() else 0,
        most=int(lost.max(initial=0)),
        other=int(other.sum()),
    )


def is_near(columns: Columns) -> Booleans:
    """Return which rows are near copies: they repeat another page, and not word for word."""
    equal_bytes = columns.reason == REASONS.index(Reason.EXACT_DUPLICATE)
    # Its URL showed the same before; what was a near copy then still loses what it lost.
    unchanged = columns.reason == REASONS.index(Reason.UNCHANGED)
    near: Booleans = columns.duplicates & ~(equal_bytes | (unchanged & (columns.lost == 0)))
    return near


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* and *noun*, whose plural ends in s unless it is another one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


_Integers = NDArray[np.signedinteger]


@dataclass(frozen=True, slots=True)
class Share:
    """How many *pages* of a site or a run were seen, and how many of them are *duplicates*.

    *name* is a host or the number of a run.
    """

    name: str
    pages: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts over all rows of a report.

    *reasons* counts rows by reason.  *sites* have the most copies first, *runs* the lowest number.
    """

    pages: int
    duplicates: int
    clusters: int
    forgotten: int
    reasons: dict[str, int]
    sites: tuple[Share, ...]
    runs: tuple[Share, ...]


def overview_of(columns: Columns) -> Overview:
    """Return the figures of all rows."""
    duplicates = columns.duplicates
    reasons = np.bincount(columns.reason, minlength=len(REASONS)).tolist()
    run_numbers, runs = np.unique(columns.run, return_inverse=True)
    by_run = _shares([str(run) for run in run_numbers.tolist()], runs, duplicates)
    by_site = _shares(columns.sites, columns.site, duplicates)
    return Overview(
        pages=len(columns),
        duplicates=int(duplicates.sum()),
        clusters=len(np.unique(columns.canonical[duplicates])),
        forgotten=columns.forgotten,
        reasons={reason.value: count for reason, count in zip(REASONS, reasons, strict=True) if count},
        sites=tuple(sorted(by_site, key=lambda share: (-share.duplicates, -share.pages, share.name))),
        runs=tuple(by_run),
    )


def _shares(names: Sequence[str], group: _Integers, duplicates: Booleans) -> list[Share]:
    """Return the counts of each group; *group* has its place in *names* for each row."""
    pages = np.bincount(group, minlength=len(names)).tolist()
    repeated = np.bincount(group[duplicates], minlength=len(names)).tolist()
    return [Share(*of) for of in zip(names, pages, repeated, strict=True)]
