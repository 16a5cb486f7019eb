"""The first question of a report: was anything dropped that should not have been?"""

from __future__ import annotations

from dataclasses import dataclass

from dedup.report.columns import REASONS, Booleans, Columns
from dedup.values.verdict import Reason


@dataclass(frozen=True, slots=True)
class CopyCounts:
    """How many duplicates there are, by what was lost with them.

    *exact* repeat a page word for word, and so do *other*, but in fields that were not judged these say
    something else.  Of the others, the near copies, *harmless* lose no word,
    *losing* lose some, at most *most* (about, in words), and of *unknown* it was not measured.
    """

    exact: int
    harmless: int
    losing: int
    unknown: int
    most: int
    other: int = 0

    @property
    def near(self) -> int:
        """How many are near copies."""
        return self.harmless + self.losing + self.unknown

    def __str__(self) -> str:
        """Return the answer in one or two sentences, "" where there are no duplicates."""
        parts = [f"{counted(self.exact, 'exact copy', 'exact copies')}: safe."] if self.exact else []
        if self.other:
            copies, these = counted(self.other, "copy", "copies"), "it" if self.other == 1 else "these"
            parts.append(f"{copies} of the same text differ in other fields: look at {these}.")
        if self.near:
            near = counted(self.near, "near copy", "near copies")
            parts.append(f"{near}{self._near()}.")
        return " ".join(parts)

    def _near(self) -> str:
        words = counted(self.most, "word")
        loss = f"about {words}: look at it" if self.losing == 1 else f"up to {words}: look at these"
        said = [
            (self.harmless, f"{_lose(self.harmless)} nothing"),
            (self.unknown, "not measured"),
            (self.losing, f"{_lose(self.losing)} {loss}"),
        ]
        parts = [f"{number:,} {text}" for number, text in said if number]
        return f": {', '.join(parts)}" if len(parts) > 1 else f" {parts[0].split(' ', 1)[1]}"


def answer_of(columns: Columns) -> CopyCounts:
    """Return how many duplicates of *columns* lose something."""
    exact, near = is_exact(columns), is_near(columns)
    other = columns.differs & (exact | (columns.nowhere == 0))
    exact, near = exact & ~other, near & ~other
    lost = columns.nowhere[near]
    return CopyCounts(
        exact=int(exact.sum()),
        harmless=int((lost == 0).sum()),
        losing=int((lost > 0).sum()),
        unknown=int((lost < 0).sum()),
        most=int(lost.max(initial=0)),
        other=int(other.sum()),
    )


def is_exact(columns: Columns) -> Booleans:
    """Return which rows repeat another page word for word."""
    equal_bytes = columns.reason == REASONS.index(Reason.EXACT_DUPLICATE)
    # Its URL showed the same before; what was a near copy then still loses what it lost.
    unchanged = columns.reason == REASONS.index(Reason.UNCHANGED)
    exact: Booleans = columns.duplicates & (equal_bytes | (unchanged & (columns.lost == 0)))
    return exact


def is_near(columns: Columns) -> Booleans:
    """Return which rows are near copies: all other duplicates."""
    return columns.duplicates & ~is_exact(columns)


def _lose(number: int) -> str:
    return "loses" if number == 1 else "lose"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* and *noun*, whose plural ends in s unless it is another one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
