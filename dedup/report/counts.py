"""How many pages were kept and dropped, by run, by site, by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dedup.index import Tally
from dedup.values.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Count:
    """Of *rows* rows, how many were kept, dropped, released or forgotten; each is one of these."""

    name: str
    rows: int
    kept: int
    dropped: int
    released: int
    forgotten: int


def counts(tallies: Iterable[Tally], key: Callable[[Tally], object]) -> list[Count]:
    """Return the rows by what *key* gives for each tally, the most rows first, then by name."""
    totals: dict[str, Counter[str]] = {}
    for tally in tallies:
        totals.setdefault(str(key(tally)), Counter())[_fate(tally)] += tally.rows
    found = [
        Count(
            name, total.total(), total["kept"], total["dropped"], total["released"], total["forgotten"]
        )
        for name, total in totals.items()
    ]
    return sorted(found, key=lambda count: (-count.rows, count.name))


def _fate(tally: Tally) -> str:
    if tally.outcome in (Outcome.RELEASED, Outcome.FORGOTTEN):
        return tally.outcome.value
    return "kept" if tally.kept else "dropped"
