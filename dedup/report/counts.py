"""How many pages were kept and dropped, by run, by site, by reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dedup.index import Glance, Tally
from dedup.values.verdict import UNDONE


@dataclass(slots=True)
class Count:
    """Of *rows* rows, how many were kept, dropped, released or forgotten; each is one of these."""

    name: str
    rows: int = 0
    kept: int = 0
    dropped: int = 0
    released: int = 0
    forgotten: int = 0

    @property
    def undone(self) -> int:
        """How many were released or forgotten."""
        return self.released + self.forgotten

    def add(self, fate: str, rows: int = 1) -> None:
        """Count *rows* more that had this *fate*, the name of a field."""
        self.rows += rows
        setattr(self, fate, getattr(self, fate) + rows)

    def move(self, before: str, after: str) -> None:
        """Count one row no longer under its fate *before*, but under *after*."""
        self.add(before, -1)
        self.add(after)


def counts(tallies: Iterable[Tally], key: Callable[[Tally], object]) -> list[Count]:
    """Return the rows by what *key* gives for each tally, the most rows first, then by name."""
    by_name: dict[str, Count] = {}
    for tally in tallies:
        name = str(key(tally))
        by_name.setdefault(name, Count(name)).add(fate_of(tally), tally.rows)
    return largest_first(by_name.values())


def largest_first(table: Iterable[Count]) -> list[Count]:
    """Return counts in the order in which they are shown: the most rows first, then by name."""
    return sorted(table, key=lambda count: (-count.rows, count.name))


def fate_of(counted: Tally | Glance) -> str:
    """Return what became of rows, as a field of `Count`."""
    if counted.outcome in UNDONE:
        return str(counted.outcome)
    return "kept" if counted.kept else "dropped"
