"""The figures of a report: how many duplicates there are, on which sites, in which runs, how near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.report.columns import REASONS, Booleans, Columns, is_known

_Integers = NDArray[np.signedinteger]


@dataclass(frozen=True, slots=True)
class Share:
    """How many *pages* of a site or a run were seen, and how many of them are *duplicates*.

    *name* is a host or the number of a run.  *elsewhere* is how many of the duplicates have their
    canonical on another site or in another run; *other* is the one with most of these, None for none.
    """

    name: str
    pages: int
    duplicates: int
    elsewhere: int
    other: str | None


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

    @property
    def share(self) -> float:
        """The share of the pages that are duplicates, 0 to 1."""
        return self.duplicates / max(self.pages, 1)


def overview_of(columns: Columns) -> Overview:
    """Return the figures of all rows."""
    duplicates = columns.duplicates
    reasons = np.bincount(columns.reason, minlength=len(REASONS)).tolist()
    canonical_places = columns.places(columns.canonical)
    run_numbers, runs = np.unique(columns.run, return_inverse=True)
    by_run = _shares([str(run) for run in run_numbers.tolist()], runs, canonical_places, duplicates)
    by_site = _shares(columns.sites, columns.site, canonical_places, duplicates)
    return Overview(
        pages=len(columns),
        duplicates=int(duplicates.sum()),
        clusters=len(np.unique(columns.canonical[duplicates])),
        forgotten=columns.forgotten,
        reasons={reason.value: count for reason, count in zip(REASONS, reasons, strict=True) if count},
        sites=tuple(sorted(by_site, key=lambda share: (-share.duplicates, -share.pages, share.name))),
        runs=tuple(by_run),
    )


def _shares(
    names: Sequence[str], group: _Integers, canonical_places: _Integers, duplicates: Booleans
) -> list[Share]:
    """Return the counts of each group; *group* has its place in *names* for each row."""
    size = len(names)
    pages = np.bincount(group, minlength=size)
    repeated = np.bincount(group[duplicates], minlength=size)
    known = duplicates & is_known(canonical_places)
    own, theirs = group[known].astype(np.int64), group[canonical_places[known]]
    apart = own != theirs
    pairs, counts = np.unique(own[apart] * max(size, 1) + theirs[apart], return_counts=True)
    elsewhere = np.zeros(size, np.int64)
    np.add.at(elsewhere, pairs // max(size, 1), counts)
    others: dict[int, int] = {}
    for place in counts.argsort(kind="stable").tolist():  # the largest is written last
        others[int(pairs[place]) // size] = int(pairs[place]) % size
    return [
        Share(
            name,
            int(pages[number]),
            int(repeated[number]),
            int(elsewhere[number]),
            names[others[number]] if number in others else None,
        )
        for number, name in enumerate(names)
    ]
