"""What changed from one text to another, word by word, and both side by side, paragraph by paragraph.

Chinese and its like are compared character by character.

The longest common subsequence is found bit-parallel (H. Hyyrö, Bit-parallel LCS-length computation
revisited, 2004; rapidfuzz), some sixty times faster than `difflib`, in bounded time: see `LIMIT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Indel

from dedup.model.printable import printable
from dedup.reading.tokens import UNSPACED, tokens, word_count
from dedup.rule.loss import FEW_WORDS

# Two texts whose changed parts have more units than this each, on average, are compared line by line
# first, and lines that changed word by word only where they have no more; 20,000 take .2 s and 50 MB.
LIMIT = 20_000
MAX_TEXT = 20_000  # characters of each text that are compared
_LONGEST_EQUAL = 60  # units; of a longer equal stretch only the ends are shown
_END = 25  # units of such an end
_RUN = 4  # words in a row; if the other text has them elsewhere, they were moved and are not lost

_PARAGRAPH_END = re.compile(r"(?<!\s)(?=\s*\n)")

# What `dedup.report.explanation.loss` says, alone or in a sentence.
_ESTIMATE = re.compile(r"about [\d,]+ of [\d,]+ words(, all [^.]*)?|^nothing$|(?<=los[et] )nothing")

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


# Side by side


class Span(NamedTuple):
    """A part of a paragraph, *is_changed* if the other text does not have it.

    It begins with a space where one stands between it and the part before.
    """

    text: str
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """What stands *before* in the first text and *after* in the second, beside each other.

    One of them may be empty.  A long stretch that both have is shown by its ends.
    """

    before: tuple[Span, ...]
    after: tuple[Span, ...]

    @property
    def is_changed(self) -> bool:
        """Whether anything differs."""
        return any(span.is_changed for span in (*self.before, *self.after))


@dataclass(frozen=True, slots=True)
class Same:
    """Paragraphs that both texts have and that are left out: how many *words*."""

    words: int


@dataclass(frozen=True, slots=True)
class SideBySide:
    """How two texts differ, every character visible; *is_cut* where only beginnings are compared.

    *lost* is how many words of the second are changed, of *words* in it: these are lost with it.
    """

    rows: tuple[Paragraphs | Same, ...]
    is_cut: bool
    lost: int = 0
    words: int = 0

    @property
    def lost_parts(self) -> list[str]:
        """The parts of the second text that are changed, those of signs alone left out."""
        rows = (row for row in self.rows if isinstance(row, Paragraphs))
        parts = (span.text.strip() for row in rows for span in row.after if span.is_changed)
        return [part for part in parts if re.search(r"\w", part)]

    def counted(self, sentence: str) -> str:
        """Return *sentence* with what is lost, counted, for an estimate of it; not if texts were cut."""
        if self.is_cut:
            return sentence
        lost = f"{self.lost:,} of {self.words:,} words" if self.lost else "nothing"
        # How many of so few stand elsewhere is too rough an estimate.
        return _ESTIMATE.sub(lost + r"\1" * (self.lost > FEW_WORDS), sentence)


def side_by_side(one: str, other: str) -> SideBySide:
    """Return how the first `MAX_TEXT` characters of two texts differ, paragraph beside paragraph."""
    is_cut = max(len(one), len(other)) > MAX_TEXT
    one, other = one[:MAX_TEXT], other[:MAX_TEXT]
    runs = _runs(one), _runs(other)
    paragraphs = [
        (_without_moved(left, runs[1]), _without_moved(right, runs[0]))
        for left, right in _aligned(one, other)
    ]
    lost = sum(_words(span.text) for _, right in paragraphs for span in right if span.is_changed)
    return SideBySide(tuple(_rows(paragraphs)), is_cut, lost, _words(other))


def one_line(text: str) -> str:
    """Return *text* on one line, with all that acts rather than shows escaped."""
    return printable(" ".join(text.split()), len(text))


Sides = tuple[list[Span], list[Span]]
Runs = frozenset[tuple[str, ...]]


def _runs(text: str) -> Runs:
    """Return every run of `_RUN` units of *text*."""
    parts = [unit.strip() for unit in units(text)]
    return frozenset(zip(*(parts[start:] for start in range(_RUN)), strict=False))


def _without_moved(spans: Iterable[Span], others: Runs) -> list[Span]:
    """Return *spans*, where no change is what the text that has the runs *others* has elsewhere."""
    return [part for span in spans for part in (_parted(span, others) if span.is_changed else (span,))]


def _parted(span: Span, others: Runs) -> Iterator[Span]:
    parts = units(span.text)
    plain = [part.strip() for part in parts]
    changed = [True] * len(parts)
    for start in range(len(parts) - _RUN + 1):
        if tuple(plain[start : start + _RUN]) in others:
            changed[start : start + _RUN] = [False] * _RUN
    for is_changed, group in groupby(zip(changed, parts, strict=True), key=lambda pair: pair[0]):
        yield Span("".join(part for _, part in group), is_changed)


def _words(text: str) -> int:
    found = tokens(text)
    return word_count(found, np.ones(len(found), np.intp))


def _aligned(one: str, other: str) -> Iterator[Sides]:
    """Yield paragraphs of both texts: what is equal stands beside each other, and begins a row."""
    left: list[Span] = []
    right: list[Span] = []
    for change in word_diff(one, other):
        if change.op == EQUAL:
            for number, (before, after) in enumerate(_broken(change)):
                if number:
                    yield left, right
                    left, right = [], []
                left.append(Span(before, is_changed=False))
                right.append(Span(after, is_changed=False))
            continue
        sides = zip_longest(change.before.split("\n"), change.after.split("\n"), fillvalue="")
        for number, (before, after) in enumerate(sides):
            if number:
                yield left, right
                left, right = [], []
            left.append(Span(before, is_changed=True))
            right.append(Span(after, is_changed=True))
    yield left, right


def _broken(change: Change) -> Iterator[tuple[str, str]]:
    """Yield an equal stretch in parts: one ends where a paragraph ends in either text."""
    if change.before == change.after:
        yield from ((part, part) for part in _PARAGRAPH_END.split(change.before))
        return
    before, after = "", ""
    for one, other in zip_longest(units(change.before), units(change.after), fillvalue=""):
        if "\n" in leading_space(one) or "\n" in leading_space(other):
            yield before, after
            before = after = ""
        before, after = before + one, after + other
    yield before, after


def _rows(paragraphs: Iterable[Sides]) -> Iterator[Paragraphs | Same]:
    """Yield what differs, with the paragraph before and the one after it."""
    shown = (Paragraphs(*(tuple(_shown(spans)) for spans in sides)) for sides in paragraphs)
    rows = [row for row in shown if row.before or row.after]
    changed = [row.is_changed for row in rows]
    omitted = 0
    for place, row in enumerate(rows):
        if any(changed[max(0, place - 1) : place + 2]):
            if omitted:
                yield Same(omitted)
            omitted = 0
            yield Paragraphs(*(tuple(map(_cut, spans)) for spans in (row.before, row.after)))
        else:
            omitted += sum(len(units(span.text)) for span in row.after)
    if omitted:
        yield Same(omitted)


def _shown(spans: Iterable[Span]) -> Iterator[Span]:
    for part, is_changed in spans:
        if text := one_line(part):
            yield Span(" " * part[0].isspace() + text, is_changed)


def _cut(span: Span) -> Span:
    """Return *span*, by its ends if it is long and both texts have it."""
    parts = units(span.text)
    if span.is_changed or len(parts) <= _LONGEST_EQUAL:
        return span
    return Span(f"{''.join(parts[:_END])} […] {''.join(parts[-_END:]).strip()}", is_changed=False)
