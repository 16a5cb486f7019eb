"""What a report counts: some numbers of every row (a million in 60 MB), and figures made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.model.printable import printable
from dedup.model.row import Glance
from dedup.model.urls import host_of
from dedup.model.verdict import Outcome, Reason

REASONS = tuple(reason.value for reason in Reason)
NO_SITE = "(no site)"
# What stands for None: no value is negative.
NONE = -1

_ROW = np.dtype(
    {
        "names": ["id", "run", "site", "reason", "kept", "lost", "missing", "canonical", "unjudged"],
        "formats": ["i8", "i4", "i4", "u1", "?", "i8", "i8", "i8", "i8"],
    }
)
# No page has so many words.
_ALL_WORDS = 1 << 32

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows of a report by their numbers, in the order in which the pages were seen.

    *rows* has the fields of `_ROW`: `site` is a place in *sites*, `reason` one in `REASONS`, `unjudged`
    a hash of what no rule has looked at; `lost`, `missing` (in words), `canonical` and `unjudged` may
    be `NONE`.  *forgotten* is how many rows were left out.
    """

    sites: tuple[str, ...]
    forgotten: int
    rows: NDArray[np.void]

    @property
    def duplicates(self) -> Booleans:
        """Which rows are duplicates of a canonical."""
        copies: Booleans = ~self.rows["kept"] & (self.rows["canonical"] >= 0)
        return copies

    @property
    def near(self) -> Booleans:
        """Which rows are near copies: they repeat another page, and not word for word."""
        rows = self.rows
        # Its URL showed the same before; what was a near copy then still loses what it lost.
        same = self._are(Reason.UNCHANGED) & (rows["lost"] == 0)
        near: Booleans = self.duplicates & ~(self._are(Reason.EXACT_DUPLICATE) | same)
        return near

    @property
    def differs(self) -> Booleans:
        """Which duplicates have other fields, that were not judged, than their canonical has here."""
        rows = self.rows
        places = self.places(rows["canonical"])
        kept = np.where(places >= 0, rows["unjudged"][places], NONE) if len(rows) else rows["unjudged"]
        differs: Booleans = self.duplicates & (rows["unjudged"] != kept)
        return differs

    @property
    def nowhere(self) -> Integers:
        """About how many words are on no page kept (see `dedup.model.verdict.Verdict`)."""
        lost, missing = self.rows["lost"], self.rows["missing"]
        return np.where(missing >= 0, np.minimum(lost, missing), lost)

    @property
    def answer(self) -> CopyCounts:
        """How many duplicates lose something."""
        near, nowhere, copies = self.near, self.nowhere, self.duplicates
        other = self.differs & (~near | (nowhere == 0))
        lost = nowhere[near & ~other]
        exact, unchanged = (
            int((copies & self._are(reason)).sum())
            for reason in (Reason.EXACT_DUPLICATE, Reason.UNCHANGED)
        )
        return CopyCounts(
            seen=len(self.rows),
            exact=exact,
            near=int(copies.sum()) - exact - unchanged,
            unchanged=unchanged,
            losing=int((lost > 0).sum()),
            unknown=int((lost < 0).sum()),
            least=int(lost[lost > 0].min(initial=lost.max(initial=0))),
            most=int(lost.max(initial=0)),
            other=int(other.sum()),
        )

    @property
    def by_reason(self) -> dict[str, int]:
        """How many pages have each reason, those that some have."""
        numbers = np.bincount(self.rows["reason"], minlength=len(REASONS)).tolist()
        return {name: number for name, number in zip(REASONS, numbers, strict=True) if number}

    @property
    def by_site(self) -> list[Share]:
        """The shares of the sites, those with most copies first."""
        shares = self._shares(self.sites, self.rows["site"])
        return sorted(shares, key=lambda share: (-share.duplicates, -share.pages, share.name))

    @property
    def by_run(self) -> list[Share]:
        """The shares of the runs, by number."""
        numbers, places = np.unique(self.rows["run"], return_inverse=True)
        return self._shares(numbers.tolist(), places)

    def places(self, rows: Integers) -> Integers:
        """Return where the rows of these numbers stand, `NONE` for those that are not here."""
        known = self.rows["id"]
        if not len(known):
            return np.full(len(rows), NONE)
        order = known.argsort(kind="stable")
        nearest = order[np.minimum(np.searchsorted(known, rows, sorter=order), len(known) - 1)]
        return np.where(known[nearest] == rows, nearest, NONE)

    def clusters(self, first: Collection[int] = ()) -> Clusters:
        """Return the clusters: those with one of the rows *first*, then those that lose most.

        Then come the largest, and of equals the oldest.  The copies of each are in that order, too: near
        copies before exact ones.
        """
        rows, places = self.rows, np.flatnonzero(self.duplicates)
        # What is not measured is NONE, and counts as nothing.
        urgency = np.where(self.near | self.differs, self.nowhere + 1, -1).astype(np.int64)
        urgency[self.places(np.array(sorted(first), np.int64))] += _ALL_WORDS
        urgent = urgency[places]
        owners, owner, sizes = np.unique(
            rows["canonical"][places], return_inverse=True, return_counts=True
        )
        most = np.full(len(owners), -1)
        np.maximum.at(most, owner, urgent)
        order = np.lexsort((owners, -sizes, -most))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        members = places[np.lexsort((rows["id"][places], -urgent, rank[owner]))]
        return Clusters(owners[order], sizes[order], rows["id"][members])

    def _are(self, reason: Reason) -> Booleans:
        are: Booleans = self.rows["reason"] == REASONS.index(reason)
        return are

    def _shares(self, of: Iterable[object], group: NDArray[np.signedinteger]) -> list[Share]:
        """Return the counts of each group; *group* has its place in *of* for each row."""
        names = list(map(str, of))
        pages = np.bincount(group, minlength=len(names)).tolist()
        copies = np.bincount(group[self.duplicates], minlength=len(names)).tolist()
        return [Share(*one) for one in zip(names, pages, copies, strict=True)]


class Share(NamedTuple):
    """How many *pages* of a site or a run, its *name*, were seen, and how many are *duplicates*."""

    name: str
    pages: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which clusters there are, by the numbers of their rows.

    *canonicals* are the rows kept, *sizes* how many duplicates each has, and *members* these, cluster by
    cluster.
    """

    canonicals: Integers
    sizes: Integers
    members: Integers

    def each(self, limit: int = 0, copies: int = 0) -> Iterator[tuple[int, int, list[int]]]:
        """Yield canonical, size and the first *copies* members of *limit* clusters; 0 stands for all."""
        start = 0
        for canonical, size in zip(self.canonicals[: limit or None], self.sizes, strict=False):
            members = self.members[start : start + min(size, copies or size)]
            yield int(canonical), int(size), members.tolist()
            start += size


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
        some = [("exact", self.exact), ("near", self.near), ("unchanged", self.unchanged)]
        return [("kept", self.seen - self.copies), *(one for one in some if one[1])]

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


def counts_of(glances: Iterable[Glance]) -> Counts:
    """Return what a report counts of rows, in one pass."""
    sites: dict[str, int] = {}
    codes = {name: code for code, name in enumerate(REASONS)}
    forgotten = 0

    def numbers() -> Iterator[tuple[int, ...]]:
        nonlocal forgotten
        for one in glances:
            if one.outcome == Outcome.FORGOTTEN:
                forgotten += 1
                continue
            site = sites.setdefault(site_of(one.url), len(sites))
            yield (
                *(one.id, one.run, site, codes[one.reason], one.kept),
                NONE if one.lost is None else one.lost,
                NONE if one.missing is None else one.missing,
                NONE if one.canonical is None else one.canonical,
                hash(one.unjudged) if one.unjudged else NONE,
            )

    rows = np.fromiter(numbers(), _ROW)
    return Counts(tuple(sites), forgotten, rows)


def site_of(url: str) -> str:
    """Return the host of *url* as a report shows it, `NO_SITE` where there is none."""
    return _site_of("/".join(url.split("/", 3)[:3]))


@lru_cache(maxsize=10_000)
def _site_of(start: str) -> str:
    """Return `site_of`; the beginnings of URLs are few, and to parse one takes long."""
    return printable(host_of(start)) or NO_SITE


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* and *noun*, whose plural ends in s unless it is another one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
