"""Two texts side by side, paragraph beside paragraph, with what one of them alone has.

Words are compared, and characters of Chinese and its like.  The longest common subsequence is found
bit-parallel (H. Hyyrö, Bit-parallel LCS-length computation revisited, 2004; rapidfuzz), some sixty
times faster than `difflib`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

from rapidfuzz.distance import Indel

from dedup.model.printable import printable
from dedup.reading.tokens import UNSPACED, tokens, words_in
from dedup.rule.loss import FEW_WORDS

MAX_TEXT = 20_000  # characters of each text that are compared: at most .2 s and 50 MB
_LONGEST_EQUAL = 60  # units; of a longer equal stretch only the ends are shown
_END = 25  # units of such an end
_RUN = 4  # words in a row; if the other text has them elsewhere, they were moved and are not lost

# What `dedup.report.explanation.loss` says, alone or in a sentence.
_ESTIMATE = re.compile(r"about [\d,]+ of [\d,]+ words(, all [^.]*)?|^nothing$|(?<=los[et] )nothing")
_UNIT = re.compile(rf"\s*(?:[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]|$)")


class Stretch(NamedTuple):
    """Units (words, signs, characters of unspaced scripts, each with the white space before it).

    Of both texts, *before* in the first and *after* in the second.  Where it *is_equal* these differ in
    white space only, pair by pair; else one of them may be empty.
    """

    is_equal: bool
    before: list[str]
    after: list[str]


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
class SideBySide:
    """How two texts differ, every character visible; *is_cut* where only beginnings are compared.

    A number among the *rows* is how many equal words are left out there.  *lost* is how many words of
    the second text are changed, of *words* in it: these are lost with it.
    """

    rows: tuple[Paragraphs | int, ...]
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
        for left, right in _paragraphs(stretches(one, other))
    ]
    lost = sum(_words(span.text) for _, right in paragraphs for span in right if span.is_changed)
    return SideBySide(tuple(_shown(paragraphs)), is_cut, lost, _words(other))


def _words(text: str) -> int:
    return words_in(tokens(text))


# What changed


def stretches(a: str, b: str) -> list[Stretch]:
    """Return how text *a* becomes text *b*: equal and changed stretches in turn.

    All `before` together are *a*, all `after` together *b*.  A match that is shorter than both changes
    around it is part of them: a lone "the" that two sentences share says nothing.

    >>> [(one.is_equal, one.before, one.after) for one in stretches("one two", "one three")]
    [(True, ['one'], ['one']), (False, [' two'], [' three'])]
    """
    found = _slid(longest_match(units(a), units(b)))
    sizes = [max(len(one.before), len(one.after)) for one in found]
    return _merged(
        one._replace(is_equal=one.is_equal and not sizes[n] < min(sizes[n - 1 : n + 2 : 2]))
        if 0 < n < len(found) - 1
        else one
        for n, one in enumerate(found)
    )


def longest_match(one: list[str], other: list[str]) -> list[Stretch]:
    """Return stretches of which as many units are equal as can be."""
    numbers: dict[str, int] = {}
    left, right = (
        [numbers.setdefault(unit.strip(), len(numbers)) for unit in side] for side in (one, other)
    )
    return _merged(
        Stretch(
            code.tag == "equal",
            one[code.src_start : code.src_end],
            other[code.dest_start : code.dest_end],
        )
        for code in Indel.opcodes(left, right)
    )


def units(text: str) -> list[str]:
    """Return *text* cut into what is compared; nothing is lost."""
    return [unit for unit in _UNIT.findall(text) if unit]


def _slid(found: list[Stretch]) -> list[Stretch]:
    """Return *found*, with what one text alone has moved on to where a line begins, if that is as true.

    The full stop before a new paragraph is that of the paragraph before, not the one at its own end.
    """
    for place in range(1, len(found) - 1):
        left, middle, right = found[place - 1 : place + 2]
        if middle.is_equal or (middle.before and middle.after):
            continue
        side = 0 if middle.before else 1
        own, follows = middle[1:][side], right[1:][side]
        steps = next((step for step, unit in enumerate(own) if _begins_line(unit)), 0)
        if not 0 < steps <= len(follows) or any(
            own[n].strip() != follows[n].strip() for n in range(steps)
        ):
            continue
        moved: list[list[str]] = [[], []]
        passed = [right.before[:steps], right.after[:steps]]
        passed[side], moved[side] = own[:steps], own[steps:] + follows[:steps]
        found[place - 1] = Stretch(True, left.before + passed[0], left.after + passed[1])
        found[place] = Stretch(False, *moved)
        found[place + 1] = Stretch(True, right.before[steps:], right.after[steps:])
    return _merged(found)


def _begins_line(unit: str) -> bool:
    return "\n" in unit[: len(unit) - len(unit.lstrip())]


def _merged(found: Iterable[Stretch]) -> list[Stretch]:
    some = (one for one in found if one.before or one.after)
    return [
        Stretch(
            is_equal,
            [unit for one in members for unit in one.before],
            [unit for one in members for unit in one.after],
        )
        for is_equal, group in groupby(some, key=lambda one: one.is_equal)
        for members in [list(group)]
    ]


# Paragraphs

Sides = tuple[list[Span], list[Span]]
Runs = frozenset[tuple[str, ...]]


def _paragraphs(found: Iterable[Stretch]) -> Iterator[Sides]:
    """Yield paragraphs of both texts: what is equal stands beside each other, and begins a row."""
    row: Sides = ([], [])
    for stretch in found:
        lines = _equal_lines(stretch) if stretch.is_equal else _changed_lines(stretch)
        for number, sides in enumerate(lines):
            if number:
                yield row
                row = ([], [])
            for spans, text in zip(row, sides, strict=True):
                spans.append(Span(text, not stretch.is_equal))
    yield row


def _equal_lines(stretch: Stretch) -> Iterator[tuple[str, str]]:
    """Yield parts, one of which ends where a paragraph ends in either text."""
    before, after = "", ""
    for one, other in zip(stretch.before, stretch.after, strict=True):
        if _begins_line(one) or _begins_line(other):
            yield before, after
            before = after = ""
        before, after = before + one, after + other
    yield before, after


def _changed_lines(stretch: Stretch) -> Iterable[tuple[str, str]]:
    before, after = ("".join(side).split("\n") for side in (stretch.before, stretch.after))
    return zip_longest(before, after, fillvalue="")


def _runs(text: str) -> Runs:
    """Return every run of `_RUN` units of *text*."""
    parts = [unit.strip() for unit in units(text)]
    return frozenset(zip(*(parts[start:] for start in range(_RUN)), strict=False))


def _without_moved(spans: Iterable[Span], others: Runs) -> list[Span]:
    """Return *spans*, where no change is what the text that has the runs *others* has elsewhere."""
    return [
        part for span in spans for part in (_parted(span.text, others) if span.is_changed else (span,))
    ]


def _parted(text: str, others: Runs) -> Iterator[Span]:
    parts = units(text)
    plain = [part.strip() for part in parts]
    changed = [True] * len(parts)
    for start in range(len(parts) - _RUN + 1):
        if tuple(plain[start : start + _RUN]) in others:
            changed[start : start + _RUN] = [False] * _RUN
    for is_changed, group in groupby(zip(changed, parts, strict=True), key=lambda pair: pair[0]):
        yield Span("".join(part for _, part in group), is_changed)


def _shown(paragraphs: Iterable[Sides]) -> Iterator[Paragraphs | int]:
    """Yield what differs, with the paragraph before and the one after it."""
    visible = (Paragraphs(*(tuple(_visible(spans)) for spans in sides)) for sides in paragraphs)
    rows = [row for row in visible if row.before or row.after]
    changed = [row.is_changed for row in rows]
    omitted = 0
    for place, row in enumerate(rows):
        if not any(changed[max(0, place - 1) : place + 2]):
            omitted += sum(len(units(span.text)) for span in row.after)
            continue
        if omitted:
            yield omitted
            omitted = 0
        yield Paragraphs(*(tuple(map(_cut, spans)) for spans in (row.before, row.after)))
    if omitted:
        yield omitted


def one_line(text: str) -> str:
    """Return *text* on one line, with all that acts rather than shows escaped."""
    return printable(" ".join(text.split()), len(text))


def _visible(spans: Iterable[Span]) -> Iterator[Span]:
    for part, is_changed in spans:
        if text := one_line(part):
            yield Span(" " * part[0].isspace() + text, is_changed)


def _cut(span: Span) -> Span:
    """Return *span*, by its ends if it is long and both texts have it."""
    parts = units(span.text)
    if span.is_changed or len(parts) <= _LONGEST_EQUAL:
        return span
    return Span(f"{''.join(parts[:_END])} […] {''.join(parts[-_END:]).strip()}", is_changed=False)
