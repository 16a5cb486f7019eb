"""What a report counts: some numbers of every page (a million in 100 MB), and figures made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.model.printable import printable
from dedup.model.row import Glance
from dedup.model.urls import host_of
from dedup.model.verdict import Outcome, Reason

NO_SITE = "(no site)"
NONE = -1  # stands for None: no value is negative
_REASONS = tuple(reason.value for reason in Reason)
_NUMBERS = ("id", "lost", "missing", "canonical", "previous", "unjudged", "page")
_ROW = np.dtype(
    [(name, "i8") for name in _NUMBERS]
    + [("run", "i4"), ("site", "i4"), ("reason", "u1"), ("kept", "?"), ("differs", "?")]
)
_ALL_WORDS = 1 << 32  # no page has so many

Rows = NDArray[np.void]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class Share(NamedTuple):
    """How many *pages* of a site or a run, its *name*, were seen, and how many are *duplicates*."""

    name: str
    pages: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class CopyCounts:
    """How many duplicates there are, by what was lost with them.

    Of the *seen* pages of so many *runs*, each counted once, *exact* repeat one byte for byte, *near* in
    their text, and *unchanged* are as a run saw them that is none of these.  *losing* of these lose
    *least* to *most* words (about), *other* differ in fields that were not judged, and of *unknown* it
    was not measured.
    """

    runs: int
    seen: int
    exact: int
    near: int
    unchanged: int
    losing: int
    unknown: int
    least: int
    most: int
    other: int

    @property
    def copies(self) -> int:
        """How many duplicates there are."""
        return self.exact + self.near + self.unchanged

    @property
    def words(self) -> str:
        """How many words a copy loses that loses any."""
        least = "" if self.least == self.most else f"{self.least:,} to "
        return f"{least}{counted(self.most, 'word')}"

    def __str__(self) -> str:
        """Return the sum of all pages, and what is safe."""
        of = f" (each page once, of {self.runs:,} runs)" if self.runs > 1 else ""
        parts = [(self.exact, "exact"), (self.near, "near"), (self.unchanged, "unchanged")]
        sum_ = "".join(f" + {number:,} {name}" for number, name in parts if number)
        safe = self.copies - self.losing - self.unknown - self.other
        said = [(safe, "safe"), (self.losing, f"losing {self.words}"), (self.unknown, "not measured")]
        said.append((self.other, "with other fields"))
        copies = ", ".join(f"{number:,} {text}" for number, text in said if number)
        told = f"{self.seen:,} seen{of} = {self.seen - self.copies:,} kept{sum_}"
        return f"{told}; of the copies {copies}" if copies else told


@dataclass(frozen=True, slots=True)
class Counts:
    """The pages of a report by their numbers, in the order in which they were seen.

    Each page counts once, by what the newest run that saw it made of it; where that met the page again
    unchanged, by the row that it had before.  *rows* has the fields of `_ROW`: `site` is a place in
    *sites*, `reason` one in `_REASONS`; what is not known is `NONE`.  *forgotten* is how many rows were
    left out, *by_run* how many pages each run saw.
    """

    sites: tuple[str, ...]
    forgotten: int
    by_run: list[Share]
    rows: Rows

    @property
    def duplicates(self) -> Booleans:
        """Which pages are duplicates of a canonical."""
        return _copies(self.rows)

    @property
    def near(self) -> Booleans:
        """Which pages are near copies: they repeat another page, and not word for word."""
        reason = self.rows["reason"]
        # Its URL showed the same before; what was a near copy then still loses what it lost.
        same = (reason == _REASONS.index(Reason.UNCHANGED)) & (self.rows["lost"] == 0)
        near: Booleans = self.duplicates & ~same & (reason != _REASONS.index(Reason.EXACT_DUPLICATE))
        return near

    @property
    def nowhere(self) -> Integers:
        """About how many words are on no page kept (see `dedup.model.verdict.Verdict`)."""
        lost, missing = self.rows["lost"], self.rows["missing"]
        return np.where(missing >= 0, np.minimum(lost, missing), lost)

    @property
    def answer(self) -> CopyCounts:
        """How many duplicates lose something."""
        near, nowhere, copies = self.near, self.nowhere, self.duplicates
        other = self.rows["differs"] & (~near | (nowhere == 0))
        lost = nowhere[near & ~other]
        by_reason = np.bincount(self.rows["reason"][copies], minlength=len(_REASONS)).tolist()
        exact, unchanged = (
            by_reason[_REASONS.index(reason)] for reason in (Reason.EXACT_DUPLICATE, Reason.UNCHANGED)
        )
        return CopyCounts(
            runs=len(self.by_run),
            seen=len(self.rows),
            exact=exact,
            near=sum(by_reason) - exact - unchanged,
            unchanged=unchanged,
            losing=int((lost > 0).sum()),
            unknown=int((lost < 0).sum()),
            least=int(lost[lost > 0].min(initial=lost.max(initial=0))),
            most=int(lost.max(initial=0)),
            other=int(other.sum()),
        )

    @property
    def by_site(self) -> list[Share]:
        """The shares of the sites, those with most copies first."""
        shares = _shares(self.sites, self.rows["site"], self.duplicates)
        return sorted(shares, key=lambda share: (-share.duplicates, -share.pages, share.name))

    def places(self, rows: Iterable[int]) -> Integers:
        """Return where the rows of these numbers stand, `NONE` for those that are not here."""
        return _places(self.rows["id"], np.array([*rows], np.int64))

    def clusters(self, first: Collection[int] = ()) -> list[tuple[int, list[int]]]:
        """Return the rows of the pages kept, each with those of its copies.

        First come clusters with a row of *first*, then those that lose most, then the largest, and of
        equals the oldest.  The copies of each are in that order, too: near copies before exact ones.
        """
        rows, places = self.rows, np.flatnonzero(self.duplicates)
        # What is not measured is NONE, and counts as nothing.
        urgency = np.where(self.near | rows["differs"], self.nowhere + 1, -1)
        at = self.places(first)
        urgency[at[at >= 0]] += _ALL_WORDS
        order = places[np.lexsort((rows["id"][places], -urgency[places]))]
        found: dict[int, list[int]] = {}
        most: dict[int, int] = {}
        for row, kept, urgent in zip(
            *(one[order].tolist() for one in (rows["id"], rows["canonical"], urgency)), strict=True
        ):
            found.setdefault(kept, []).append(row)
            most.setdefault(kept, urgent)
        return sorted(found.items(), key=lambda one: (-most[one[0]], -len(one[1]), one[0]))


def counts_of(glances: Iterable[Glance]) -> Counts:
    """Return what a report counts of rows, in one pass."""
    sites: dict[str, int] = {}
    codes = {name: code for code, name in enumerate(_REASONS)}
    forgotten = 0

    def numbers() -> Iterator[tuple[int, ...]]:
        nonlocal forgotten
        for one in glances:
            if one.outcome == Outcome.FORGOTTEN:
                forgotten += 1
                continue
            values = (one.lost, one.missing, one.canonical, one.previous)
            name = one.item_key or one.url_key
            yield (
                one.id,
                *(NONE if value is None else value for value in values),
                hash(one.unjudged) if one.unjudged else NONE,
                hash((one.scope, name)) if name else one.id,
                *(one.run, sites.setdefault(site_of(one.url), len(sites))),
                *(codes[one.reason], one.kept, False),
            )

    rows = np.fromiter(numbers(), _ROW)
    kept = _places(rows["id"], rows["canonical"])
    # The page that it repeats may be of none of the runs.
    others = np.where(kept >= 0, rows["unjudged"][kept], NONE) if len(rows) else rows["unjudged"]
    rows["differs"] = _copies(rows) & (rows["unjudged"] != others)
    runs, of_run = np.unique(rows["run"], return_inverse=True)
    by_run = _shares(runs.tolist(), of_run, _copies(rows))
    return Counts(tuple(sites), forgotten, by_run, rows[_once(rows)])


def _once(rows: Rows) -> Integers:
    """Return the places of those *rows* that tell of each page once."""
    pages, page = np.unique(rows["page"], return_inverse=True)
    newest = np.zeros(len(pages), np.int64)
    np.maximum.at(newest, page, rows["run"])
    last = np.flatnonzero(rows["run"] == newest[page])
    before = _places(rows["id"], rows["previous"][last])
    is_same = (rows["reason"][last] == _REASONS.index(Reason.UNCHANGED)) & (before >= 0)
    return np.unique(np.where(is_same, before, last))


def _copies(rows: Rows) -> Booleans:
    copies: Booleans = ~rows["kept"] & (rows["canonical"] >= 0)
    return copies


def _places(known: Integers, rows: Integers) -> Integers:
    """Return where *rows* stand among the *known* ones, `NONE` for those that do not."""
    if not len(known):
        return np.full(len(rows), NONE)
    order = known.argsort(kind="stable")
    nearest = order[np.minimum(np.searchsorted(known, rows, sorter=order), len(known) - 1)]
    return np.where(known[nearest] == rows, nearest, NONE)


def _shares(of: Iterable[object], group: NDArray[np.signedinteger], is_copy: Booleans) -> list[Share]:
    """Return the counts of each group; *group* has its place in *of* for each row."""
    names = list(map(str, of))
    pages, copies = (
        np.bincount(some, minlength=len(names)).tolist() for some in (group, group[is_copy])
    )
    return [Share(*one) for one in zip(names, pages, copies, strict=True) if one[1]]


def site_of(url: str) -> str:
    """Return the host of *url* as a report shows it, `NO_SITE` where there is none."""
    return printable(host_of(url)) or NO_SITE


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* and *noun*, whose plural ends in s unless it is another one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
