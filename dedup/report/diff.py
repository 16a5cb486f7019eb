"""The text of a copy with what it alone says, and between it what the page kept alone says.

Words are compared, and characters of Chinese and its like.  The longest common subsequence is found
bit-parallel (H. Hyyrö, Bit-parallel LCS-length computation revisited, 2004; rapidfuzz), some sixty
times faster than `difflib`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from dedup.model.errors import printable
from dedup.reading.tokens import UNSPACED, tokens, words_in

MAX_TEXT = 20_000  # characters of each text that are compared: at most .2 s and 50 MB
_END = 6  # units: of a longer equal stretch the ends are shown, so many of each
_RUN = 4  # words in a row; if the other text has them elsewhere, they were moved and are not lost
# Whose a part of a text is.
BOTH, KEPT, COPY = "both", "kept", "copy"

ADDRESS = re.compile(
    rf"(?i:(?:\b[a-z][a-z+.-]{{1,20}}:)?//|\bwww\.|\b[a-z\d-]{{1,63}}\.[a-z]{{2,20}}/)"
    rf"[^\s{UNSPACED}]*(?<![.,;:!?)\]])"
)
_NUMBER = rf"[0-9]+(?:[.,:/-][0-9]+)+(?![^\W{UNSPACED}])"
_UNIT = rf"\s*(?:{ADDRESS.pattern}|[{UNSPACED}]|{_NUMBER}|[^\W{UNSPACED}]+|[^\w\s]|$)"

# Units are words, addresses, numbers, signs, characters of unspaced scripts, each with the white space
# before it.
Pieces = list[tuple[str, str]]
KnownRuns = frozenset[tuple[str, ...]]


class Span(NamedTuple):
    """A part of a line, and whose it is: that of the `COPY` alone is lost.

    It begins with a space where one stands between it and the part before.
    """

    text: str
    of: str

    @property
    def is_lost(self) -> bool:
        """Whether the copy alone has it, and it is more than signs."""
        return self.of == COPY and re.search(r"\w", self.text) is not None


MarkedLine = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """How the text of a copy differs from that of the page kept, every character visible.

    The *lines* that differ, each with its number in the copy.  *is_cut* says that only beginnings are
    compared.  *lost* is how many words the copy alone has, of *words* in it: an address counts as one.
    """

    lines: tuple[tuple[int, MarkedLine], ...]
    is_cut: bool
    lost: int
    words: int

    @property
    def losing(self) -> dict[int, MarkedLine]:
        """The lines with what the copy alone has, by their numbers."""
        return {number: line for number, line in self.lines if any(span.is_lost for span in line)}

    @property
    def lost_parts(self) -> list[str]:
        """The parts that the copy alone has, those of signs alone left out."""
        return [span.text.strip() for _, line in self.lines for span in line if span.is_lost]

    @property
    def lost_for(self) -> list[str]:
        """What the page kept says in the place of each of `lost_parts`, "" for nothing."""
        lines = ((Span("", BOTH), *line) for _, line in self.lines)
        beside = (pair for line in lines for pair in pairwise(line) if pair[1].is_lost)
        return [one.text.strip() if one.of == KEPT else "" for one, _ in beside]

    @property
    def told(self) -> str:
        """How much is lost: "12 of 640 words"; "" if texts were cut."""
        lost = f"{self.lost:,} of {self.words:,} words" if self.lost else "nothing"
        return "" if self.is_cut else lost


def compared(kept: str, copy: str, *whole: str) -> Compared:
    """Return how the first `MAX_TEXT` characters of two texts differ.

    *whole* are both with what was left out of them: nothing that stands there is the other's alone.
    """
    is_cut = max(len(kept), len(copy)) > MAX_TEXT
    kept, copy, *others = (text[:MAX_TEXT] for text in (kept, copy, *whole))
    texts = [kept, copy, *(others if others != [kept, copy] else [])]
    one, other, *both = ([_plain(units(line)) for line in text.split("\n")] for text in texts)
    there, here = both or (one, other)
    known = {KEPT: _known(one, here), COPY: _known(other, there)}
    lines = list(_marked_lines(_without_moved(pieces_of(kept, copy), known)))
    parts = (part for line in lines for of, part in _joined(line) if of == COPY)
    lost = sum(words_in(tokens(ADDRESS.sub(" address ", part))) for part in parts)
    at = accumulate(sum(unit.count("\n") for of, unit in line if of != KEPT) for line in lines)
    # Where the page kept has several lines for one of the copy, these are one.
    shown = defaultdict[tuple[int, bool], Pieces](list)
    for number, line in zip(at, lines, strict=True):
        shown[number, all(of == KEPT for of, _ in line)] += line
    visible = ((number, tuple(_visible(line))) for (number, _), line in shown.items())
    differ = tuple(one for one in visible if any(span.of != BOTH for span in one[1]))
    return Compared(differ, is_cut, lost, words_in(tokens(copy)))


def pieces_of(kept: str, copy: str) -> Pieces:
    """Return how text *kept* becomes text *copy*, unit by unit.

    A match that is shorter than both changes around it is part of them: a lone "the" that two sentences
    share says nothing.

    >>> pieces_of("one two", "one three")
    [('both', 'one'), ('kept', ' two'), ('copy', ' three')]
    """
    one, other = units(kept), units(copy)
    from rapidfuzz.distance import Indel  # takes longer than all else, and most crawls compare nothing

    found = Indel.opcodes(_plain(one), _plain(other)).as_matching_blocks()
    matches = [(0, 0, 0), *map(tuple, found)]  # the last one is empty, too
    changes = [max(c - a - size, d - b - size) for (a, b, size), (c, d, _) in pairwise(matches)]
    parts: Pieces = []
    begin, other_begin = 0, 0
    for (at, other_at, size), around in zip(matches[1:], pairwise([*changes, 0]), strict=True):
        if size >= min(around):
            parts += ((KEPT, unit) for unit in one[begin:at])
            parts += ((COPY, unit) for unit in other[other_begin:other_at])
            begin, other_begin = at + size, other_at + size
            parts += ((BOTH, unit) for unit in other[other_at:other_begin])
    return parts


def units(text: str) -> list[str]:
    """Return *text* cut into what is compared; nothing is lost."""
    return [unit for unit in re.findall(_UNIT, text) if unit]


def _marked_lines(parts: Pieces) -> Iterator[Pieces]:
    """Yield the lines of *parts*; what replaces as many lines as it has stands in these, one in each.

    So do those at the end of a change in a line that goes on.
    """
    numbers, last, before = list[int](), 0, list[int]()
    for of, group in groupby(parts, key=itemgetter(0)):
        breaks = [*accumulate(int("\n" in unit) for _, unit in group)]
        if of == COPY and before:
            more = breaks[-1] - before[-1]
            goes_on = not any("\n" in unit for _, unit in parts[len(numbers) + len(breaks) :][:1])
            if not more or goes_on:
                last -= before[-1]
                numbers[len(numbers) - len(before) :] = (last + max(0, more) + one for one in before)
                last += max(0, -more)
        numbers += (last + count for count in breaks)
        last, before = numbers[-1], breaks if of == KEPT else []
    order = sorted(zip(numbers, parts, strict=True), key=itemgetter(0))
    for _, line in groupby(order, key=itemgetter(0)):
        yield [part for _, part in line]


def _known(text: Sequence[tuple[str, ...]], other: Sequence[tuple[str, ...]]) -> KnownRuns:
    """Return what of *text* is in the *other* one, too: runs, whole lines, addresses with ""."""
    here, there = Counter(text), Counter(other)
    parts = list(chain.from_iterable(other))
    runs = zip(*(parts[start:] for start in range(_RUN)), strict=False)
    lines = (line for line, count in here.items() if count <= there[line])
    return frozenset(runs).union(lines, ((unit, "") for unit in parts if ADDRESS.fullmatch(unit)))


def _plain(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(unit.strip() for unit in parts)


def _without_moved(parts: Pieces, known: dict[str, KnownRuns]) -> Pieces:
    """Return *parts* of both texts where nothing differs that is *known* from elsewhere in the other.

    A line of one text may end where the other one goes on.
    """
    moved: set[int] = set()
    for own, elsewhere in known.items():
        said = [n for n, (of, _) in enumerate(parts) if of in {own, BOTH}]
        numbers = accumulate("\n" in parts[n][1] for n in said)
        for _, line in groupby(zip(numbers, said, strict=True), key=itemgetter(0)):
            at = [n for _, n in line]
            plain = _plain(parts[n][1] for n in at)
            moved.update(at if plain in elsewhere else ())
            moved.update(n for n, unit in zip(at, plain, strict=True) if (unit, "") in elsewhere)
            for start in range(len(at) - _RUN + 1):
                if plain[start : start + _RUN] in elsewhere:
                    moved.update(at[start : start + _RUN])
    moved -= _replaced(parts, moved)
    return [
        (BOTH if n in moved else of, unit)
        for n, (of, unit) in enumerate(parts)
        if n not in moved or of != KEPT
    ]


def _replaced(parts: Pieces, moved: Collection[int]) -> set[int]:
    """Return what of the page kept stands where the copy has words of its own, though it *moved*."""
    groups = [[*group] for _, group in groupby(range(len(parts)), key=lambda n: parts[n][0])]
    found = set[int]()
    for one, other in pairwise(groups):
        is_own = any(n not in moved and re.search(r"\w", parts[n][1]) for n in other)
        is_value = len(one) <= _RUN and not any("\n" in parts[n][1] for n in (*one[1:], *other[1:]))
        if (parts[one[0]][0], parts[other[0]][0]) == (KEPT, COPY) and is_own and is_value:
            found.update(one)
    return found


def _joined(line: Pieces) -> Iterator[tuple[str, str]]:
    for of, group in groupby(line, key=itemgetter(0)):
        yield of, "".join(unit for _, unit in group)


def shortened(line: MarkedLine) -> MarkedLine:
    """Return *line* with the ends of what both texts have."""
    return tuple(Span(ends_of(text) if of == BOTH else text, of) for text, of in line)


def side(line: MarkedLine, of: str) -> str:
    """Return what of *line* the copy says, or the page kept."""
    said = ""
    for before, span in pairwise((Span("", BOTH), *line)):
        text = span.text
        if (before.of, span.of) == (KEPT, COPY):  # it is apart from the line as what it replaces
            text = " " * before.text.startswith(" ") + text.lstrip()
        said += text if span.of in (of, BOTH) else ""
    return said.strip()


def ends_of(text: str) -> str:
    """Return *text*, of a long one the first and the last units."""
    parts = units(text)
    ends = f"{''.join(parts[:_END])} … {''.join(parts[-_END:]).lstrip()}"
    return text if len(parts) <= 2 * _END else ends


def _visible(parts: Pieces) -> Iterator[Span]:
    last = ""
    for of, text in _joined(parts):
        if shown := printable(" ".join(text.split()), len(text)):
            # What begins a line of the copy may have a word of the other line before it.
            is_apart = text[0].isspace() or len(units(last[-1:] + shown[0])) == 1
            yield Span(" " * bool(last and is_apart) + shown, of)
            last = shown
