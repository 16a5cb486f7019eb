"""Two texts side by side: what differs between them, and the ends of what is equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dedup.index import Index
from dedup.report.diff import EQUAL, units, word_diff
from dedup.values.printable import printable

# Of a text so many characters are compared.
MAX_TEXT = 20_000
# A longer run of equal units is shown by its ends.
_LONGEST_EQUAL = 60
_END = 25

TextOf = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class Equal:
    """A stretch that both texts have: its *start*, and where *omitted* units are left out its *end*."""

    start: str
    omitted: int = 0
    end: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """What stands *before* in the first text and *after* in the second; one of them may be empty."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """How two texts differ, every character visible; *is_cut* where only beginnings are compared."""

    stretches: tuple[Equal | Changed, ...]
    is_cut: bool


def stored_texts(index: Index) -> TextOf:
    """Return the function that gives the stored text of a row of *index*."""
    return lambda row: index.views.text_of(index.row(row))


def side_by_side(one: str, other: str) -> SideBySide:
    """Return how the first `MAX_TEXT` characters of two texts differ."""
    is_cut = max(len(one), len(other)) > MAX_TEXT
    return SideBySide(tuple(_stretches(one[:MAX_TEXT], other[:MAX_TEXT])), is_cut)


def one_line(text: str) -> str:
    """Return *text* on one line, with all that acts rather than shows escaped."""
    return printable(" ".join(text.split()), len(text))


def _stretches(one: str, other: str) -> Iterator[Equal | Changed]:
    for change in word_diff(one, other):
        if change.op != EQUAL:
            yield Changed(one_line(change.before), one_line(change.after))
        elif len(equal := units(change.after)) <= _LONGEST_EQUAL:
            yield Equal(one_line(change.after))
        else:
            start, end = one_line("".join(equal[:_END])), one_line("".join(equal[-_END:]))
            yield Equal(start, len(equal) - 2 * _END, end)
