"""What a report counts of every row, as columns: a million rows in some 50 MB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.model.printable import printable
from dedup.model.row import Glance
from dedup.model.urls import host_of
from dedup.model.verdict import Outcome, Reason

REASONS = tuple(Reason)
OUTCOMES = tuple(Outcome)
# A crawl of more sites than this counts the later ones as one, so that names take bounded memory.
MAX_SITES = 100_000
OTHER_SITES = "(other sites)"
NO_SITE = "(no site)"
# What stands for none in every column and among the places of rows: no value of any is negative.
NONE = -1

_CHUNK = 20_000
_REASON_CODES = {reason.value: code for code, reason in enumerate(REASONS)}
_OUTCOME_CODES = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}
_FORGOTTEN = Outcome.FORGOTTEN.value
_DTYPES = {
    "id": np.int64,
    "run": np.int32,
    "site": np.int32,
    "reason": np.uint8,
    "kept": np.bool_,
    "similarity": np.float32,
    "lost": np.int64,
    "missing": np.int64,
    "canonical": np.int64,
    "outcome": np.uint8,
    "unjudged": np.int64,
}

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows of a report, forgotten ones left out, in the order in which the pages were seen.

    All arrays have shape (rows,).  *site* is a place in *sites*, *reason* in `REASONS`, *outcome*
    in `OUTCOMES`; similarity, lost, missing (in words) and canonical may be `NONE`.
    *forgotten* is how many rows were left out, *unjudged* a hash of what no rule has looked at.
    """

    sites: tuple[str, ...]
    forgotten: int
    id: Integers
    run: NDArray[np.int32]
    site: NDArray[np.int32]
    reason: NDArray[np.uint8]
    kept: Booleans
    similarity: NDArray[np.float32]
    lost: Integers
    missing: Integers
    canonical: Integers
    outcome: NDArray[np.uint8]
    unjudged: Integers

    def __len__(self) -> int:
        return len(self.id)

    @property
    def duplicates(self) -> Booleans:
        """Which rows are duplicates of a canonical."""
        return ~self.kept & is_known(self.canonical)

    @property
    def differs(self) -> Booleans:
        """Which duplicates have other fields, that were not judged, than their canonical has here."""
        places = self.places(self.canonical)
        kept = np.where(is_known(places), self.unjudged[places], NONE) if len(self) else self.unjudged
        differs: Booleans = self.duplicates & (self.unjudged != kept)
        return differs

    @property
    def nowhere(self) -> Integers:
        """See `dedup.model.verdict.Verdict`; what is counted, ordered and drawn."""
        return np.where(is_known(self.missing), np.minimum(self.lost, self.missing), self.lost)

    def places(self, rows: Integers) -> Integers:
        """Return where the rows of these numbers stand, `NONE` for those that are not here."""
        if not len(self.id):
            return np.full(len(rows), NONE)
        order = np.arange(len(self.id)) if bool((np.diff(self.id) > 0).all()) else self.id.argsort()
        nearest = order[np.minimum(np.searchsorted(self.id, rows, sorter=order), len(self.id) - 1)]
        return np.where(self.id[nearest] == rows, nearest, NONE)


def is_known(values: NDArray[Any]) -> Booleans:
    """Return which of the *values* of a column are not `NONE`."""
    return values >= 0


def listed(column: NDArray[Any], places: Integers) -> list[Any]:
    """Return the values of a *column* at *places*, None where either is `NONE`.

    >>> listed(np.array([7, NONE, 9]), np.array([2, 1, NONE]))
    [9, None, None]
    """
    values: list[Any] = [None] * len(places)
    at = np.flatnonzero(is_known(places))
    for place, value in zip(at.tolist(), column[places[at]].tolist(), strict=True):
        if value >= 0:
            values[place] = value
    return values


def columns_of(glances: Iterable[Glance]) -> Columns:
    """Return what a report counts of rows, in one pass."""
    sites = SiteNames()
    left, forgotten = iter(glances), 0
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _DTYPES}
    while chunk := list(islice(left, _CHUNK)):
        standing = [glance for glance in chunk if glance.outcome != _FORGOTTEN]
        forgotten += len(chunk) - len(standing)
        for name, values in _fields(standing, sites):
            parts[name].append(np.array(values, _DTYPES[name]))
    joined = {
        name: np.concatenate(parts.pop(name)) if parts[name] else np.zeros(0, dtype)
        for name, dtype in _DTYPES.items()
    }
    return Columns(sites=tuple(sites.numbers), forgotten=forgotten, **joined)


def _fields(glances: Sequence[Glance], sites: SiteNames) -> Iterator[tuple[str, Sequence[Any]]]:
    if not glances:
        return
    for name, values in zip(Glance._fields, zip(*glances, strict=True), strict=True):
        match name:
            case "url":
                yield "site", list(map(sites.number_of, values))
            case "reason":
                yield name, [_REASON_CODES[value] for value in values]
            case "unjudged":
                yield name, [hash(value) if value else NONE for value in values]
            case "outcome":
                yield name, [_OUTCOME_CODES[value] for value in values]
            case _:
                yield name, [NONE if value is None else value for value in values]


@dataclass(slots=True)
class SiteNames:
    """The sites of URLs as a report shows them, and their *numbers*; each beginning is parsed once."""

    numbers: dict[str, int] = field(default_factory=dict)
    _by_start: dict[str, str] = field(default_factory=dict)

    def of(self, url: str) -> str:
        """Return the host of *url*, `NO_SITE` where there is none."""
        start = "/".join(url.split("/", 3)[:3])
        name = self._by_start.get(start)
        if name is None:
            name = printable(host_of(url)) or NO_SITE
            if len(self._by_start) < MAX_SITES:
                self._by_start[start] = name
        return name

    def number_of(self, url: str) -> int:
        """Return the number of the site of *url*."""
        name = self.of(url)
        if name not in self.numbers and len(self.numbers) >= MAX_SITES:
            name = OTHER_SITES
        return self.numbers.setdefault(name, len(self.numbers))
