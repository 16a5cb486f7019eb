"""Pages of one template: their structure simhashes are alike, whatever their texts are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dedup.report.columns import NONE, Columns, Integers
from dedup.values.hashes import Hashes

# So many different structure simhashes, the most frequent, are grouped, into so many groups at most.
MAX_STRUCTURES = 20_000
MAX_TEMPLATES = 200
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Template:
    """Pages whose structure simhashes are near that of the most frequent among them.

    *duplicates* is how many of the pages are duplicates, *structures* how many different simhashes
    there are, *sites* on how many sites; *examples* are the numbers of the first rows.
    """

    pages: int
    duplicates: int
    structures: int
    sites: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Templates:
    """The largest *groups*, the largest first; *outside* pages have a structure and are in none."""

    groups: tuple[Template, ...]
    outside: int


def templates_of(columns: Columns, max_distance: int) -> Templates:
    """Return the groups of at least two pages whose structure is within *max_distance* bits.

    The most frequent simhash leads the first group, the most frequent of the rest the next: each is
    near its leader, and in the first group whose leader it is near.  Pages without tags are in none.
    """
    simhashes, inverse, counts = np.unique(columns.structure, return_inverse=True, return_counts=True)
    counts[simhashes == 0] = 0
    order = np.argsort(-counts, kind="stable")[: min(MAX_STRUCTURES, int(np.count_nonzero(counts)))]
    group_of_simhash = np.full(len(simhashes), NONE)
    for number, members in enumerate(_groups(simhashes[order], max_distance)):
        group_of_simhash[order[members]] = number
    group = group_of_simhash[inverse]
    groups = [
        _template(columns, rows, len(np.unique(inverse[rows])))
        for rows in _rows_by_group(group)
        if len(rows) > 1
    ]
    groups.sort(key=lambda template: (-template.pages, template.examples))
    inside = sum(template.pages for template in groups)
    return Templates(tuple(groups), int(np.count_nonzero(columns.structure)) - inside)


def _groups(simhashes: Hashes, max_distance: int) -> Iterator[Integers]:
    """Yield which of *simhashes* (the most frequent first) each leader has near it."""
    left = np.arange(len(simhashes))
    for _ in range(MAX_TEMPLATES):
        if not len(left):
            return
        near = np.bitwise_count(simhashes[left] ^ simhashes[left[0]]) <= max_distance
        yield left[near]
        left = left[~near]


def _rows_by_group(group: Integers) -> list[Integers]:
    order = np.argsort(group, kind="stable")
    order = order[np.searchsorted(group[order], 0) :]
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []


def _template(columns: Columns, rows: Integers, structures: int) -> Template:
    return Template(
        pages=len(rows),
        duplicates=int(columns.duplicates[rows].sum()),
        structures=structures,
        sites=len(np.unique(columns.site[rows])),
        examples=tuple(columns.id[rows[:EXAMPLES]].tolist()),
    )
