"""Two texts side by side, paragraph by paragraph: what differs between them, and what is around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

import numpy as np

from dedup.reading.tokens import tokens, word_count
from dedup.report.diff import EQUAL, Change, leading_space, units, word_diff
from dedup.rule.loss import FEW_WORDS
from dedup.values.printable import printable

MAX_TEXT = 20_000  # characters of each text that are compared
_LONGEST_EQUAL = 60  # units; of a longer equal stretch only the ends are shown
_END = 25  # units of such an end
_RUN = 4  # words in a row; if the other text has them elsewhere, they were moved and are not lost

_PARAGRAPH_END = re.compile(r"(?<!\s)(?=\s*\n)")

# What `dedup.report.overview.loss` says, alone or in a sentence.
_ESTIMATE = re.compile(r"about [\d,]+ of [\d,]+ words(, all [^.]*)?|^nothing$|(?<=los[et] )nothing")


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
