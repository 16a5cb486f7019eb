"""What changed from one text to another, word by word; Chinese and its like by character.

The longest common subsequence is found bit-parallel (H. Hyyrö, Bit-parallel LCS-length computation
revisited, 2004; rapidfuzz), some sixty times faster than `difflib`, in bounded time: see `LIMIT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rapidfuzz.distance import Indel

from dedup.reading.tokens import UNSPACED

# Two texts whose changed parts have more units than this each, on average, are compared line by line
# first, and lines that changed word by word only where they have no more; 20,000 take .2 s and 50 MB.
LIMIT = 20_000

EQUAL, INSERT, DELETE, REPLACE = "equal", "insert", "delete", "replace"

_UNIT = re.compile(rf"\s*(?:[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]|$)")
_LINE = re.compile(r"[^\n]*(?:\n|$)")


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of two texts: *op* is `equal`, `insert`, `delete` or `replace`.

    *before* stands in the first text, *after* in the second.  What is equal may differ in white
    space.
    """

    op: str
    before: str
    after: str


def word_diff(a: str, b: str) -> list[Change]:
    """Return how text *a* becomes text *b*: the changes in order, no two of one op beside each other.

    All `before` together are *a*, all `after` together *b*.  A match that is shorter than both
    changes around it is part of them: a lone "the" that two sentences share says nothing.

    >>> [(change.op, change.before, change.after) for change in word_diff("one two", "one three")]
    [('equal', 'one', 'one'), ('replace', ' two', ' three')]
    """
    one, other = units(a), units(b)
    if _is_small(one, other):
        return list(_joined(_cleaned(_spans(one, other))))
    return list(_joined(_by_lines(a, b)))


def units(text: str) -> list[str]:
    """Return what `word_diff` compares: words, marks, characters of unspaced scripts."""
    return _units(_UNIT, text)


def leading_space(unit: str) -> str:
    """Return the white space before the word of a unit."""
    return unit[: len(unit) - len(unit.lstrip())]


@dataclass(frozen=True, slots=True)
class _Span:
    """Units of both texts; equal ones pair by pair."""

    is_equal: bool
    before: Sequence[str]
    after: Sequence[str]

    @property
    def size(self) -> int:
        return max(len(self.before), len(self.after))


def _units(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return *text* cut into units; nothing is lost."""
    return [unit for unit in pattern.findall(text) if unit]


def _is_small(one: Sequence[str], other: Sequence[str]) -> bool:
    start, end = _common(one, other)
    return len(one) + len(other) - 2 * (start + end) <= 2 * LIMIT


def _common(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return how many units are the same at the start of both, and at the end behind that."""
    shorter = min(len(one), len(other))
    start = next((n for n in range(shorter) if one[n].strip() != other[n].strip()), shorter)
    rest = shorter - start
    end = next((n for n in range(rest) if one[-1 - n].strip() != other[-1 - n].strip()), rest)
    return start, end


def _spans(one: Sequence[str], other: Sequence[str]) -> list[_Span]:
    """Return equal and changed spans in turn."""
    numbers: dict[str, int] = {}
    left, right = (
        [numbers.setdefault(unit.strip(), len(numbers)) for unit in units] for units in (one, other)
    )
    spans = [
        _Span(
            code.tag == EQUAL, one[code.src_start : code.src_end], other[code.dest_start : code.dest_end]
        )
        for code in Indel.opcodes(left, right)
    ]
    return _slid(_merged(spans))


def _slid(spans: list[_Span]) -> list[_Span]:
    """Return *spans*, with what one text alone has moved on to where a line begins, if that is as true.

    The full stop before a new paragraph is that of the paragraph before, not the one at its own end.
    """
    for place in range(1, len(spans) - 1):
        left, span, right = spans[place - 1 : place + 2]
        is_inserted = not span.before
        own, next_ = (span.after, right.after) if is_inserted else (span.before, right.before)
        steps = next((step for step, unit in enumerate(own) if "\n" in leading_space(unit)), 0)
        if span.is_equal or (span.before and span.after) or not 0 < steps <= len(right.before):
            continue
        if [unit.strip() for unit in own[:steps]] == [unit.strip() for unit in next_[:steps]]:
            moved = (*own[steps:], *next_[:steps])
            before, after = (right.before, own) if is_inserted else (own, right.after)
            spans[place - 1] = _Span(
                True, (*left.before, *before[:steps]), (*left.after, *after[:steps])
            )
            spans[place] = _Span(False, () if is_inserted else moved, moved if is_inserted else ())
            spans[place + 1] = _Span(True, right.before[steps:], right.after[steps:])
    return _merged(span for span in spans if span.size)


def _by_lines(a: str, b: str) -> Iterator[_Span]:
    """Yield spans of texts that are too long to be compared word by word."""
    one, other = _units(_LINE, a), _units(_LINE, b)
    if not _is_small(one, other):
        yield _Span(False, one, other)
        return
    for span in _spans(one, other):
        before, after = (units("".join(lines)) for lines in (span.before, span.after))
        if span.is_equal or not _is_small(before, after):
            yield span
        else:
            yield from _cleaned(_spans(before, after))


def _cleaned(spans: list[_Span]) -> list[_Span]:
    """Return *spans* without matches that are shorter than the changes on both sides of them."""
    kept = [
        _Span(False, span.before, span.after)
        if span.is_equal
        and 0 < place < len(spans) - 1
        and span.size < min(spans[place - 1].size, spans[place + 1].size)
        else span
        for place, span in enumerate(spans)
    ]
    return _merged(kept)


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    return [
        _Span(
            is_equal,
            [unit for span in group for unit in span.before],
            [unit for span in group for unit in span.after],
        )
        for is_equal, members in groupby(spans, key=lambda span: span.is_equal)
        for group in [list(members)]
    ]


def _joined(spans: Iterable[_Span]) -> Iterator[Change]:
    for span in _merged(spans):
        before, after = "".join(span.before), "".join(span.after)
        if span.is_equal:
            yield Change(EQUAL, before, after)
        elif before and after:
            yield Change(REPLACE, before, after)
        else:
            yield Change(DELETE, before, after) if before else Change(INSERT, before, after)
