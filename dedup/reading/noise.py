"""What moves when a page is asked for again: a counter, a clock, who is online, links drawn at random.

A place where two answers of one address differ is noise; one that stays tells pages apart.  The unit is
a `Gap` between words that stay, or a whole line where none stay.  It acts only after it has moved on
several pages of the site.  What somebody has said about places is the same the other way round.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import chain, islice, takewhile, zip_longest
from typing import Any, NamedTuple

from dedup.model.errors import ConfigError, counted
from dedup.model.hashes import digest
from dedup.model.marks import DIFFERENT, MARKED, Exceptions
from dedup.model.urls import host_of
from dedup.reading.markup import TITLE
from dedup.reading.page import Page
from dedup.reading.tokens import UNSPACED

_AROUND = 2  # words that stay on each side of a gap, as many as are asked for
_HEADING = 8  # a heading has at most so many words
# Lines that have so many of their words in common (0 to 1) are one line; lists, one list.
_SAME_LINE, _SAME_LIST = 0.5, 0.6
# A gap acts if it has moved on so many pages, a line that nothing names on more, and on so large a
# share (0 to 1) of those where it was looked at.
_LEAST, _LEAST_UNNAMED = 2.0, 3.0
_SHARE, _SHARE_UNNAMED = 0.6, 0.8
_QUICK, _LATEST = 4, 4  # seconds that tell as much as none, so many times more as much as any
_BY_CHANCE = 0.001  # what is less likely (0 to 1) is certain
_OWN = 0.25  # of the words in a gap so large a share (0 to 1) does not stay by chance
_LONGEST_EXAMPLE, _LONGEST_SHOWN = 160, 60
# A page of more lines teaches nothing, and of a longer line nothing is left out but all.
_MOST_LINES, _LONGEST_LINE = 2_000, 2_000
_MOST_PAIRS = 20  # so many pairs of answers are looked at together
MOST_REMEMBERED = 256  # so many gaps of a site are remembered, those that moved on most pages
# So many pages that have changed tell what lists of so many lines are the site's: so many show them.
_COMPARED, _ALIKE, _LIST = (6, 12, 24, 48), 5, 3
# So large a share of it (0 to 1) is links: teasers may stand beside them.
_LINKED = 0.1
# A list is left out where the last pages have it, so many, and so many words are left.
_LAST_PAGES, _OWN_WORDS = 3, 20
_LAST_CRAWLS = 3  # a gap that no crawl has seen move again so many times in a row is forgotten

# A date with the time of day after it is one word, and so is a number with its unit of time: what was
# "32 seconds ago" is "3 minutes ago" when it is asked for again.
_DATE = (
    "(?:[0-9]{4}([-/.])[0-9]{1,2}\\1[0-9]{1,2}|[0-9]{4}\u5e74[0-9]{1,2}\u6708[0-9]{1,2}\u65e5)"
    "(?:[ T][0-9]{1,2}(?::[0-9]{2}){1,2})?"
)
AGE = (
    "[0-9]+ (?:second|minute|hour|day|week|month|year)s?(?: ago)?\\b|[0-9]+ ?"
    "(?:\u79d2|\u5206[\u949f\u9418]|\u5c0f[\u65f6\u6642]|\u5929|[\u5468\u9031]|[\u4e2a\u500b]\u6708|\u5e74)\u524d"
)
AGO = rf"(?:{AGE})(?:(?<=ago)|(?<=前))"  # how long ago something was
_WORD = re.compile(
    rf"{_DATE}|{AGE}|[0-9]+(?:[.,:][0-9]+)*(?![^\W{UNSPACED}])|[{UNSPACED}]|[^\W{UNSPACED}]+|\S"
)
_BEGIN, _END = "^", "$"
# Beside a number that moves, any other number, as no word is: a date is another one on each page.
_ANY_NUMBER = "0"
# How long ago something was moves whatever stands beside it, such as the name of who said it.
_AGO, _is_ago = "ago", re.compile(AGO).fullmatch
_matched = partial(SequenceMatcher, None, autojunk=False)


class Line(NamedTuple):
    """A line of a page: its *place* (`dedup.reading.markup`) and *text*."""

    place: str
    text: str


class Gap(NamedTuple):
    """Where something moves: at a *place*, between the words *before* and *after*.

    The beginning of a line is the word "^", its end "$".  Where both are empty it is the whole line: of
    all lines at the place that follow *heading*, or, where that is empty, of all at the place.
    """

    place: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    heading: str = ""
    is_number: bool = False  # only one number is left out

    @property
    def is_line(self) -> bool:
        """Whether whole lines move."""
        return not self.before

    @property
    def is_named(self) -> bool:
        """Whether words that stay name it."""
        return bool(self.heading or self.before)

    @property
    def is_possible(self) -> bool:
        """Whether it can act at all: a line that nothing names must have a class or an id."""
        return self.is_named or any(sign in step for step in self.place.split(">")[-2:] for sign in ".#")

    @property
    def anchors(self) -> int:
        """How many words are beside it that say which one it is."""
        return len(self.before) + len(self.after)

    def said(self, line: str) -> list[list[str]]:
        """Return the words that are in each gap of this kind in *line*."""
        words, _ = _cut(line)
        return [words[begin:end] for begin, end in _found(words, self)]

    def stands(self, lines: Sequence[Line]) -> bool:
        """Return whether *lines* have it, or are those of a page of which it was left out."""
        if self.is_line:
            return (self.heading or self.place) in {line[bool(self.heading)] for line in lines}
        wide = self._replace(is_number=False)
        texts = [line.text for line in lines if line.place == self.place]
        return any(self.said(text) or [] in wide.said(text) for text in texts)

    def stays(self, answers: Iterable[str], drawn: Collection[str]) -> float:
        """Return the share (0 to 1) of words that stay in the gap in all *answers*, and not by chance.

        That are words beside others that move, or in one of several gaps of this kind in the line; and
        none that other answers have *drawn*, unless it is a number.
        """
        gaps = list(zip(*map(self.said, answers), strict=False))
        found = [
            (word not in drawn or word[0].isdigit()) and all(word in words for words in others)
            for first, *others in gaps
            if len(gaps) > 1 or any(words != first for words in others)
            for word in first
            if word.isalnum()
        ]
        return float(sum(found) / max(1, len(found)))

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where each thing in *line* that is in a gap of this kind begins and ends."""
        if self.is_line:
            return [(0, len(line))]
        words, at = _cut(line)
        return [(at[begin][0], at[end - 1][1]) for begin, end in _found(words, self) if begin < end]

    def shown(self) -> str:
        """Return the words that name it as a reader would write them, and "#" for what moves.

        >>> Gap("p", ("Views", ":"), ("$",)).shown(), Gap("ul>li", heading="Who is online").shown()
        ('Views: #', 'Who is online: #')
        >>> Gap("p", ("策", "第"), ("次", "访")).shown()
        '策第#次访'
        """
        if self.is_line:
            return f"{self.heading or ' > '.join(self.place.split('>')[-2:])}: #"
        beside = (*self.before, "", *self.after)
        said = " ".join(word or "#" for word in beside if word not in (_BEGIN, _END, _ANY_NUMBER))
        said = re.sub(rf"(?<=[{UNSPACED}]) (?=[#{UNSPACED}])|(?<=#) (?=[{UNSPACED}])", "", said)
        return re.sub(r" (?=[,.:;!?)\]])|(?<=[(\[]) ", "", said)


GapSet = frozenset[Gap]


def told(gaps: Iterable[Gap]) -> list[Gap]:
    """Return those of *gaps*, in their order, that say something beside the others."""
    found = list(gaps)
    wide = {_beside(one) for one in found if not one.is_number}
    return [one for one in found if not (one.is_number and _beside(one) in wide)]


def _beside(gap: Gap) -> Gap:
    return gap._replace(before=gap.before[-1:], after=gap.after[:1], is_number=False)


def places_shown(found: Mapping[Gap, Evidence]) -> list[str]:
    """Return the places where something moves, those that did on most pages first, for readers.

    Each has the last two steps of its path, an example with what moves in brackets, and on how many
    pages that was seen.

    >>> views = Gap("div>div#foot>p", ("Views", ":"), ("$", "$"))
    >>> places_shown({views: Evidence(3, example="Views: 17")})
    ['div#foot > p “Views: [17]” (3 pages)']
    """
    places: defaultdict[str, list[Gap]] = defaultdict(list)
    for gap in sorted(found, key=lambda one: (-found[one].pages[0], -one.anchors, one)):
        places[gap.place].append(gap)
    return [
        f"{' > '.join(place.split('>')[-2:])} “{_example(gaps, found)}” "
        f"({counted(found[gaps[0]].pages[0], 'page')})"
        for place, gaps in places.items()
    ]


def left_out_of(lines: Sequence[Line], known: Mapping[Gap, Evidence]) -> dict[Gap, Evidence]:
    """Return what of all that is *known* is left out of a page of *lines*, with examples of its own.

    A page that is stored without them has no own ones.
    """
    acting = {gap: one for gap, one in known.items() if one.acts(gap)}
    out = Gaps(acting, tries=True).leave_out(lines).out
    own = {gap: next(filter(gap.spans, out.get(gap, ())), acting[gap].example) for gap in acting}
    there = (gap for gap in acting if gap in out or gap.stands(lines))
    return {gap: acting[gap]._replace(example=own[gap]) for gap in there}


def _example(gaps: Sequence[Gap], found: Mapping[Gap, Evidence]) -> str:
    """Return a line with what is in *gaps* in brackets; of a long one what is around the first.

    What is a whole line stands behind its heading, as in `Gap.shown`.
    """
    line = next(filter(None, (found[gap].example for gap in gaps)), "")
    # A whole line moves where it is the gap's own: others at the place stay.
    here = [gap for gap in gaps if not gap.is_line or found[gap].example == line]
    said, last = "", 0
    for begin, end in sorted({span for gap in here for span in gap.spans(line)}):
        if begin < end > last:
            said += f"{line[last:begin]}[" if not said or last < begin else ""
            said, last = f"{said.removesuffix(']')}{line[max(last, begin) : end]}]", end
    said = (said + line[last:]) or gaps[0].shown()
    if heading := next((gap.heading for gap in here if gap.heading and last), ""):
        said = f"{heading}: {said}"
    return _excerpt(said, said.find("["), _LONGEST_SHOWN)


def _excerpt(line: str, at: int, most: int) -> str:
    """Return at *most* so many characters of *line*, with what begins *at* one among them."""
    begin = max(0, min(at - most // 3, len(line) - most))
    if begin:
        begin = line.find(" ", begin, at) + 1 or begin
    cut = line[begin : begin + most]
    if begin + most < len(line) and (space := cut.rfind(" ")) > at - begin:
        cut = cut[: max(space, 0)]
    return f"{'…' * (begin > 0)}{cut.strip()}{'…' * (begin + len(cut) < len(line))}"


# When a page was asked for again: at once (0), four seconds later (1), twice as many (2), and so on;
# whether a gap of it had moved; and the lines that have it.
Look = tuple[int, bool, Sequence[str]]


class Evidence(NamedTuple):
    """On how many pages a gap has *moved* and *stayed*."""

    moved: float = 0
    stayed: float = 0
    crawls: int = 0  # so many crawls ago it was seen to move
    is_off: bool = False  # it never acts again
    example: str = ""  # a line with it, or what of one is around it
    is_of_site: bool = False  # see `SiteLists`
    late: int = 0  # how long it takes to move, as in a `Look`

    @property
    def seconds(self) -> int:
        """After how many seconds it tells something that it has stayed."""
        return _QUICK << self.late - 1 if self.late else 0

    @property
    def pages(self) -> tuple[int, int]:
        """On about how many pages it has moved, and stayed: what earlier crawls saw has been halved."""
        times = 2 if self.crawls else 1
        return round(self.moved * times), round(self.stayed * times)

    def with_page(self, gap: Gap, lines: Sequence[str], *, has_moved: bool) -> Evidence:
        """Return it with one page more, of which these *lines* have the *gap*."""
        if not has_moved:
            return self._replace(stayed=self.stayed + 1)
        moved = self._replace(moved=self.moved + 1, crawls=0)
        return moved.with_example(gap, lines[0]) if lines else moved

    def with_looks(self, gap: Gap, looks: Sequence[Look]) -> Evidence:
        """Return it with *looks* at as many pages more.

        What moves once in a while has not stayed where it did so for a shorter time than it takes.
        """
        found = self
        for least in (*sorted({max(late, self.late) for late, *_ in looks}), 0) if looks else ():
            found = self._replace(late=least)
            for late, has_moved, lines in looks:
                if late >= least:
                    found = found.with_page(gap, lines, has_moved=has_moved)
            if found.acts(gap):
                break
        return found

    def with_example(self, gap: Gap, line: str) -> Evidence:
        """Return it with what is around *gap* in *line*."""
        at = next((begin for begin, _ in gap.spans(line)), 0)
        return self._replace(example=_excerpt(line, at, _LONGEST_EXAMPLE))

    @property
    def chance(self) -> float:
        """How likely (0 to 1) it is to stay at the next request (Laplace's rule of succession)."""
        moved, stayed = self.pages
        return (1 + stayed) / (2 + moved + stayed)

    def acts(self, gap: Gap) -> bool:
        """Return whether *gap* is left out of pages."""
        least, share = (_LEAST, _SHARE) if gap.is_named else (_LEAST_UNNAMED, _SHARE_UNNAMED)
        if self.crawls:  # it has been halved
            least /= 2
        is_enough = self.moved >= max(least, share * (self.moved + self.stayed))
        return is_enough and gap.is_possible and not (self.is_off or self.is_of_site)


def lines_of(page: Page) -> list[Line]:
    """Return the lines of *page*, its title first; none of one whose places are not known."""
    if not page.places:
        return []
    lines = zip_longest(page.places, page.text.split("\n"), fillvalue="")
    return [Line(TITLE, page.title), *(Line(place, text) for place, text in lines)]


class Left(NamedTuple):
    """What is *left* of each line, and the lines *out* of which each gap takes something."""

    left: list[str]
    out: dict[Gap, list[str]]

    def said(self, gap: Gap) -> set[str]:
        """Return the lines that *gap* is, or the words in it."""
        lines = self.out.get(gap, [])
        if gap.is_line:
            return set(lines)
        return {word for line in lines for words in gap.said(line) for word in words}

    def moved(
        self, gap: Gap, others: Sequence[Left], drawn: Collection[str], *, is_known: bool = True
    ) -> bool | None:
        """Return whether *gap* says something else in *others*, answers, None where that is not certain.

        It has not where words in it stay: they are somebody's own, if it *is_known* what is drawn there.
        A few of many, and one of several lines, may have come again by chance, unless other answers have
        *drawn* it.
        """
        here, there = self.out.get(gap, []), [other.out.get(gap, []) for other in others]
        if all(_matched(here, one).ratio() > _SAME_LIST for one in there):
            return False
        if not gap.is_line:
            shares = (gap.stays(lines, drawn) for lines in zip(here, *there, strict=False))
            if share := max(shares, default=0):
                return False if share >= _OWN and is_known else None
        stays = set(here).intersection(*there) - set(drawn if gap.heading else ())
        # Where nothing names a line, all lines must move: others may have it as their own.
        return (None if gap.is_named else False) if stays else True


def _step_of(place: str) -> str:
    """Return the last step of a path if it has a class or an id, as in each layout, else the path."""
    last = place.rpartition(">")[2]
    return last if "." in last or "#" in last else place


class Gaps:
    """Some gaps, by their places; if one *tries* them, also those in a line that is left out.

    But not in one that is left out *whole*: two that were drawn are not one with a gap.
    Those *of_marks* are, on a page without their path, wherever its last step is, if that has a class or
    an id; where nothing else is left of a line, what names them is left out as well.
    """

    def __init__(
        self,
        gaps: Collection[Gap],
        *,
        tries: bool = False,
        whole: Container[Gap] = (),
        of_marks: bool = False,
    ) -> None:
        self._tries, self._whole, self._of_marks = tries, whole, of_marks
        self._lines: dict[tuple[str, str], Gap] = {}
        self._inside: defaultdict[str, list[Gap]] = defaultdict(list)
        self._places = {gap.place for gap in gaps}
        for gap in sorted(gaps):
            if gap.is_line:
                self._lines[gap.place, gap.heading] = gap
            else:
                self._inside[gap.place].append(gap)

    def leave_out(self, lines: Sequence[Line], moved: Container[int] | None = None) -> Left:
        """Return what is left of *lines* without what is in the gaps.

        If it is known which lines have *moved*, the others are headings, also in a gap without one.
        """
        out: defaultdict[Gap, list[str]] = defaultdict(list)
        left, heading, above = [], "", ""
        elsewhere = self._places.difference(path for path, _ in lines) if self._of_marks else ()
        steps = {_step_of(place): place for place in sorted(elsewhere)}
        for number, (path, text) in enumerate(lines):
            place = steps.get(_step_of(path), path) if steps and path not in self._places else path
            rest, gap, found, says = text, None, set[Gap](), _says(text)
            if place in self._places:
                gap = self._lines.get((place, heading)) or self._lines.get((place, ""))
                if not gap or (self._tries and gap not in self._whole):
                    rest, found = _without(text, self._inside[place], are_all=self._tries)
                if self._of_marks and found:
                    beside = {word for one in found for word in (*one.before, *one.after)}
                    rest = "" if beside.issuperset(_words(rest)) else rest
                taken = found | {gap} if gap else found
                for one in taken if says else ():
                    out[one].append(text)
            left.append("" if gap else rest)
            stays = not gap if moved is None else number not in moved
            if stays and _is_heading(text) and place != TITLE:
                heading, above = text, place
            elif gap and gap.heading and above == place:  # a cell says what the next one is
                heading = ""
        return Left(left, out)

    def masked(self, page: Page) -> tuple[Page, GapSet]:
        """Return *page* without what is in the gaps, and the gaps that it has."""
        left, out = self.leave_out(lines_of(page)) if self._places else ([], {})
        if not out:
            return page, frozenset()
        title, *texts = left
        lines = [(place, text) for place, text in zip(page.places, texts, strict=False) if text]
        places, texts = tuple(place for place, _ in lines), [text for _, text in lines]
        return replace(page, title=title, text="\n".join(texts), places=places), frozenset(out)


def _without(text: str, gaps: Sequence[Gap], *, are_all: bool) -> tuple[str, set[Gap]]:
    """Return *text* without what is in *gaps*, and those of them that it has.

    Unless *are_all* wanted, none in another one, and of those that are one and the same the one that
    says most of what is beside it.
    """
    words, at = _cut(text) if gaps and len(text) <= _LONGEST_LINE else ([], [])
    known = {*words, _ANY_NUMBER, _AGO}
    possible = (gap for gap in gaps if known.issuperset(gap.before) and known.issuperset(gap.after))
    found = [(span, gap) for gap in possible for span in _found(words, gap)]
    parts, last = [], 0
    for begin, end in sorted({span for span, _ in found}):
        if begin < end:
            parts.append(text[last : max(last, at[begin][0])])
            last = max(last, at[end - 1][1])
    rest = " ".join("".join((*parts, text[last:])).split()) if found else text
    if are_all:
        return rest, {gap for _, gap in found}
    taken: dict[tuple[int, int], Gap] = {}
    found.sort(key=lambda one: (one[0][0] - one[0][1], -one[1].anchors, one))
    for (begin, end), gap in found:
        if not any(first <= begin and end <= last for first, last in taken):
            taken[begin, end] = gap
    return rest, {*taken.values()}


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def _is_heading(text: str) -> bool:
    """Return whether *text* may say what stands below it: a price does not."""
    return any(map(str.isalpha, text))


def _words(text: str) -> list[str]:
    return [word.group() for word in _WORD.finditer(text)]


def _cut(line: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the words of *line* with those that stand for its ends, and where each begins and ends."""
    spans = [word.span() for word in _WORD.finditer(line)]
    words = [line[begin:end] for begin, end in spans]
    ends = [(len(line), len(line))] * _AROUND
    return [_BEGIN] * _AROUND + words + [_END] * _AROUND, [(0, 0)] * _AROUND + spans + ends


def _found(words: Sequence[str], gap: Gap) -> Iterator[tuple[int, int]]:
    """Yield where *gap* begins and ends among *words*, those of `_cut`: as short as can be."""
    before, after = list(gap.before), list(gap.after)
    if after == [_AGO]:
        yield from ((at, at + 1) for at, word in enumerate(words) if _is_ago(word))
        return
    if gap.is_number:
        for at in range(_AROUND, len(words) - _AROUND):
            if words[at][0].isdigit() and _is(words[at - 1], *before) and _is(words[at + 1], *after):
                yield at, at + 1
        return
    begin = None
    for at in range(len(words) - len(after) + 1):
        if words[max(0, at - len(before)) : at] == before:
            begin = at
        if begin is not None and words[at : at + len(after)] == after:
            yield begin, at
            begin = None


def _is(word: str, said: str) -> bool:
    return word[0].isdigit() if said == _ANY_NUMBER else word == said


def differences(first: Sequence[Line], second: Sequence[Line]) -> set[Gap]:
    """Return the gaps in which two answers of one address differ; none where most of it does."""
    if first == second or max(len(first), len(second)) > _MOST_LINES:
        return set()
    pairs: list[tuple[int, int]] = []  # which lines took the place of which
    changes = _changes(first, second)
    moved, also = _moved(changes)
    for begin, end, other, last in changes:
        here, there = first[begin:end], second[other:last]
        blocks = _matched([line.place for line in here], [line.place for line in there])
        for at, to, size in blocks.get_matching_blocks():
            pairs += ((begin + at + step, other + to + step) for step in range(size))
    found: set[Gap] = set()
    lines = moved - {at for at, _ in pairs}
    for at, other in pairs:
        gaps, is_line = _gaps_between(first[at], second[other])
        found |= gaps
        lines |= {at} if is_line else set()
    if 2 * sum(len(first[at].text) for at in lines) > sum(len(line.text) for line in first):
        return set()
    found |= {line_gap(first, at, moved) for at in lines}
    found |= {line_gap(second, at, also) for at in also - {at for _, at in pairs}}
    return {gap for gap in found if gap.place and gap.is_possible}


def _changes(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[int, int, int, int]]:
    codes = _matched(first, second).get_opcodes()
    return [(begin, end, at, to) for kind, begin, end, at, to in codes if kind != "equal"]


def _moved(changes: Iterable[tuple[int, int, int, int]]) -> tuple[set[int], set[int]]:
    """Return which lines of either of two answers the other one has not there."""
    spans = [(range(begin, end), range(first, last)) for begin, end, first, last in changes]
    one, other = ({*chain.from_iterable(span[side] for span in spans)} for side in (0, 1))
    return one, other


def _gaps_between(one: Line, other: Line) -> tuple[set[Gap], bool]:
    """Return the gaps in which two lines differ, and whether hardly anything of them stays."""
    if max(len(one.text), len(other.text)) > _LONGEST_LINE:
        return set(), True
    here, there = _words(one.text), _words(other.text)
    changes: list[tuple[int, int, int, int]] = []
    for begin, end, first, last in _changes(here, there):
        # Signs between two things that move are a part of a list.
        if changes and not any(map(str.isalnum, here[changes[-1][1] : begin])):
            changes[-1] = (changes[-1][0], end, changes[-1][2], last)
        else:
            changes.append((begin, end, first, last))
    stays = len(here) - sum(end - begin for begin, end, _, _ in changes)
    is_line = stays < _SAME_LINE * max(len(here), len(there))
    if is_line:
        # What stays in the middle does so by chance, and so does a single word, unless both ends do.
        (begin, _, first, _), (_, end, _, last) = changes[0], changes[-1]
        if not begin == len(here) - end == 1:
            begin, first = (0, 0) if begin == 1 else (begin, first)
            end, last = (len(here), len(there)) if end == len(here) - 1 else (end, last)
        changes = [(begin, end, first, last)]
    gaps = set[Gap]()
    for number, (begin, end, first, last) in enumerate(changes):
        before = here[changes[number - 1][1] if number else 0 : begin]
        after = here[end : changes[number + 1][0] if number + 1 < len(changes) else len(here)]
        if not (before or after):
            continue
        before = ([] if number else [_BEGIN] * _AROUND) + before
        after += [] if number + 1 < len(changes) else [_END] * _AROUND
        gaps.update(_gaps_of(one.place, before, after, (here[begin:end], there[first:last])))
    return gaps, is_line


def _gaps_of(
    place: str, before: list[str], after: list[str], moves: Iterable[list[str]]
) -> Iterator[Gap]:
    """Yield the gaps at *place* of what *moves*, in two answers, between words *before* and *after*."""
    words = [move[0] if len(move) == 1 else "" for move in moves]
    if all(map(_is_ago, words)):
        yield Gap(place, (_BEGIN,), (_AGO,), is_number=True)
        return
    left, right = _named(before[::-1])[::-1], _named(after)
    if left and right and len(left) + len(right) > _AROUND:
        yield Gap(place, tuple(left[-_AROUND:]), tuple(right[:_AROUND]))
    if before and after and all(word[:1].isdigit() for word in words):
        sides = [_ANY_NUMBER if word[0].isdigit() else word for word in (before[-1], after[0])]
        if not {_BEGIN, _END, _ANY_NUMBER}.issuperset(sides):
            yield Gap(place, (sides[0],), (sides[1],), is_number=True)


def gaps_among(place: str, lines: Iterable[str]) -> set[Gap]:
    """Return the gaps at *place* between the words that stay in all *lines*, none of long ones."""
    said = [Line(place, line) for line in dict.fromkeys(lines)]
    if any(len(line.text) > _LONGEST_LINE for line in said):
        return set()
    stays = _words(said[0].text)
    for line in said[1:]:
        blocks = _matched(stays, _words(line.text)).get_matching_blocks()
        stays = [word for begin, _, size in blocks for word in stays[begin : begin + size]]
    frame = Line(place, " ".join(stays))
    return {gap for line in said for gap in _gaps_between(line, frame)[0]}


def _named(words: list[str]) -> list[str]:
    """Return the first of *words*, before a number: numbers stay by chance."""
    return list(takewhile(lambda word: not word[0].isdigit(), words))


def line_gap(lines: Sequence[Line], at: int, moved: Container[int]) -> Gap:
    """Return the gap of the whole line *at*, named by the nearest line before it that stays."""
    place = lines[at].place
    near = (n for n in range(at - 1, 0, -1) if n not in moved and lines[n].place != place)
    heading = next((lines[before].text for before in near if _is_heading(lines[before].text)), "")
    return Gap(place, heading=heading if len(_words(heading)) <= _HEADING else "")


class Noise:
    """What is known of the noise of one site: *evidence* of earlier crawls, and pairs of this one."""

    def __init__(self, evidence: Mapping[Gap, Evidence] | None = None) -> None:
        self._before = dict(evidence or {})
        # Two answers of each address, with the lines of each that have moved.
        self._pairs: dict[str, list[tuple[list[Line], set[int] | None]]] = {}
        self._late: dict[str, int] = {}  # between these
        # The lines that were drawn in a gap: one answer had them, and the other not.
        self._drawn: defaultdict[Gap, set[str]] = defaultdict(set)
        self._met: Counter[Gap] = Counter()  # in how many pairs each gap was
        self.evidence = dict(self._before)  # on how many pages each gap has moved and stayed
        self.acting: GapSet = frozenset()  # the gaps that are left out
        self._act()

    def learn(self, first: Page, second: Page, seconds: float = 0.0) -> bool:
        """Learn from two answers of one address, so many *seconds* apart; return whether other gaps act.

        Those of the same address that were met before count no more: a clock has moved by now.
        """
        if len(self._pairs) == _MOST_PAIRS:
            self._before, self._pairs, self._late = dict(self.evidence), {}, {}
        self._late[first.url] = min(_LATEST, int(seconds / _QUICK)).bit_length()
        pair = one, other = lines_of(first), lines_of(second)
        is_long = max(map(len, pair)) > _MOST_LINES
        moved = (None, None) if is_long else _moved(_changes(one, other))
        self._pairs[first.url] = [*zip(pair, moved, strict=True)]
        known = self._before.keys() | self.evidence.keys() | differences(one, other)
        if not known:  # as on most static sites
            return False
        gaps = Gaps(known, tries=True, whole=self.acting)
        answers = [
            (gaps.leave_out(*here), gaps.leave_out(*there)) for here, there in self._pairs.values()
        ]
        self._drawn = _drawn(answers)
        self._met = Counter(gap for here, there in answers for gap in here.out.keys() | there.out.keys())
        looks = defaultdict[Gap, list[Look]](list)
        for url, (here, there) in zip(self._pairs, answers, strict=True):
            for gap in here.out.keys() | there.out.keys():
                has_moved = here.moved(gap, [there], self._drawn[gap])
                if has_moved is not None:  # or something was drawn twice, or it is their own
                    lines = sorted(here.out.get(gap, []) + there.out.get(gap, []), key=len, reverse=True)
                    looks[gap].append((self._late[url], has_moved, lines))
        found = {gap: self._before.get(gap, Evidence()).with_looks(gap, looks[gap]) for gap in known}
        best = sorted(known, key=lambda gap: (not found[gap].is_off, -found[gap].moved, gap))
        self.evidence = {gap: found[gap] for gap in best[:MOST_REMEMBERED]}
        return self._act()

    def switch_off(self, gaps: Collection[Gap]) -> bool:
        """Leave *gaps* out no more; return whether that changes anything."""
        for known in (self._before, self.evidence):
            known.update({gap: known.get(gap, Evidence())._replace(is_off=True) for gap in gaps})
        return self._act()

    def _act(self) -> bool:
        before = self.acting
        self.acting = frozenset(gap for gap, evidence in self.evidence.items() if evidence.acts(gap))
        self.gaps = Gaps(self.acting)
        self._doubtful = [
            gap
            for gap, seen in self.evidence.items()
            if seen.moved
            and gap not in self.acting
            and seen.with_page(gap, (), has_moved=True).acts(gap)
        ]
        return self.acting != before

    def is_wanted(self, page: Page) -> bool:
        """Return whether *page* has a gap that would act if it moved there, too."""
        return bool(self._doubtful and Gaps(self._doubtful, tries=True).leave_out(lines_of(page)).out)

    def audit(self, gaps: Collection[Gap], answers: Sequence[Page]) -> tuple[GapSet, GapSet]:
        """Return which of *gaps* have moved between *answers* of one address, and which have stayed.

        Of others it is not certain.
        """
        by = Gaps(self.acting.union(gaps), tries=True)
        first, *others = (by.leave_out(lines_of(page)) for page in answers)
        found: dict[bool | None, set[Gap]] = {True: set(), False: set(), None: set()}
        for gap in gaps:
            # No crawl remembers what others saw drawn.
            is_known = gap not in self._before or self._met[gap] >= _LEAST_UNNAMED
            found[first.moved(gap, others, self._drawn[gap], is_known=is_known)].add(gap)
        return frozenset(found[True]), frozenset(found[False])

    def seconds(self, gaps: Iterable[Gap]) -> int:
        """Return after how many seconds *gaps* have moved."""
        return max((self.evidence.get(gap, Evidence()).seconds for gap in gaps), default=0)

    def certain(self, stayed: GapSet, times: int) -> GapSet:
        """Return the gaps that have *stayed* so many *times* on a page, and not by chance."""
        found = ((gap, self.evidence.get(gap, Evidence()).chance) for gap in stayed)
        return frozenset(gap for gap, chance in found if chance**times < _BY_CHANCE)

    def aged(self) -> dict[Gap, Evidence]:
        """Return what the next crawl begins with: what is old is forgotten.

        Evidence halves, but stays as it is if it has been halved and no pair at hand has the gap.
        """
        found: dict[Gap, Evidence] = {}
        for gap, one in self.evidence.items():
            if one.crawls < _LAST_CRAWLS and one.moved + one.is_off >= 1:
                by = 1 if one.crawls and gap not in self._met else 2
                halved = one._replace(moved=one.moved / by, stayed=one.stayed / by)
                found[gap] = halved._replace(crawls=one.crawls + 1)
        return found


class SiteLists:
    """Lists of links that are the site's and no page's own, such as the latest news.

    Such a list has changed on nearly all pages, and was and is the same, line by line, on the pages
    beside them, under other titles.  It is left out where a page is compared with its own last version.
    """

    def __init__(self, known: Mapping[Gap, Evidence] | None = None) -> None:
        self.evidence = dict(known or {})
        # What pages say now, said before, in which lines these differ, and the texts of their links.
        self._pairs: list[tuple[list[Line], list[Line], set[Gap], Collection[str]]] = []
        self._same = 0  # pairs of the same lines
        self._now, self._before = _LastSeen(), _LastSeen()
        self._act()

    def _act(self) -> None:
        self.acting = frozenset(gap for gap, one in self.evidence.items() if not one.is_off)
        self._gaps = Gaps(self.acting)

    def wants(self, *, is_changed: bool) -> bool:
        """Return whether a page can teach anything that *is_changed*, or another one."""
        return (len(self._pairs) - self._same if is_changed else self._same) < _COMPARED[-1]

    def learn(self, now: Page, before: Page, links: Collection[str]) -> bool:
        """Learn from what a page says *now* and said *before*; return whether more lists are known.

        *links* are the texts of its links.
        """
        one, other = lines_of(now), lines_of(before)
        self._pairs.append((one, other, {gap for gap in differences(one, other) if gap.is_line}, links))
        self._same += one == other
        if one == other or len(self._pairs) - self._same not in _COMPARED:
            return False
        found = set[Gap]().union(*(pair[2] for pair in self._pairs)) - self.evidence.keys()
        gaps = Gaps(found, tries=True)
        shown = [
            _Shown(one[0].text, gaps.leave_out(one).out, gaps.leave_out(other).out, links)
            for one, other, _, links in self._pairs
        ]
        new = {gap: seen for gap in sorted(found) if (seen := _of_site(gap, shown))}
        self.evidence |= dict(islice(new.items(), MOST_REMEMBERED - len(self.evidence)))
        self._act()
        return bool(new)

    def on(self, page: Page) -> GapSet:
        """Return the lists of *page* that the last pages show as well."""
        return self._now.repeated(page, self._gaps) if self.acting else self.acting

    def own(self, page: Page, lists: GapSet) -> Page | None:
        """Return *page* with the names of *lists* in their place, None for none, or for little else."""
        if not lists:
            return None
        left = Gaps(lists).masked(page)[0]
        names = "".join(f"\n{gap}" for gap in sorted(lists))
        is_text = sum(map(str.isalnum, _words(left.text))) >= _OWN_WORDS
        return replace(left, text=left.text + names) if is_text else None

    def own_before(self, page: Page, lists: GapSet) -> Page | None:
        """Return what an earlier *page* at the address of one that has these *lists* said without them.

        That is only known of lists that the last such pages had as well.
        """
        return self.own(page, lists & self._before.repeated(page, self._gaps))


class _LastSeen:
    """The lists of the last pages, each under another title."""

    def __init__(self) -> None:
        self._last: defaultdict[Gap, dict[str, list[str]]] = defaultdict(dict)

    def repeated(self, page: Page, gaps: Gaps) -> GapSet:
        """Return which of *gaps* have the same lines as on each of the last pages, and remember them."""
        found = set[Gap]()
        for gap, lines in gaps.leave_out(lines_of(page)).out.items():
            last = self._last[gap]
            last.pop(page.title, None)
            is_last = len(last) == _LAST_PAGES and all(lines == other for other in last.values())
            found |= {gap} if is_last and len(lines) >= _LIST else set()
            last[page.title] = lines
            if len(last) > _LAST_PAGES:
                del last[next(iter(last))]
        return frozenset(found)


class _Shown(NamedTuple):
    """What is in each gap of a page, *now* and *before*, and the texts of its *links*."""

    title: str
    now: Mapping[Gap, list[str]]
    before: Mapping[Gap, list[str]]
    links: Collection[str]

    def has_links(self, gap: Gap) -> bool:
        """Return whether the lines in *gap* are a list of links, with words beside or below them."""
        lines = self.now[gap]
        of = (max((len(link) for link in self.links if link in line), default=0) for line in lines)
        return len(lines) >= _LIST and sum(of) >= _LINKED * sum(map(len, lines))


def _of_site(gap: Gap, pages: Sequence[_Shown]) -> Evidence | None:
    """Return what is known of *gap* if it is a list of the site."""
    some = [page for page in pages if gap in page.now]
    changed = shared = 0
    for at, page in enumerate(some):
        now, before = page.now[gap], page.before.get(gap)
        others = (
            [one for one in side if one.title != page.title] for side in (some[:at][::-1], some[at:])
        )
        beside = [one for side in others for one in side[:1]]
        are_same = all((one.now[gap], one.before.get(gap)) == (now, before) for one in beside)
        changed += now != before
        shared += now != before and bool(beside) and are_same and page.has_links(gap)
    if shared < max(_ALIKE, _SHARE_UNNAMED * len(some)):
        return None
    return Evidence(changed, len(some) - changed, is_of_site=True).with_example(gap, some[0].now[gap][0])


def _drawn(answers: Sequence[tuple[Left, Left]]) -> defaultdict[Gap, set[str]]:
    """Return of each gap the lines, or the words in a line, that one of two answers had alone."""
    found: defaultdict[Gap, set[str]] = defaultdict(set)
    said: defaultdict[Gap, list[set[str]]] = defaultdict(list)
    for one, other in answers:
        for gap in one.out.keys() | other.out.keys():
            here, there = one.said(gap), other.said(gap)
            found[gap] |= here ^ there
            said[gap].append(here & there)
    for gap, of_pages in said.items():
        if not gap.is_line and len(of_pages) >= _LEAST_UNNAMED:
            found[gap] |= set.intersection(*of_pages)  # what each page has there is nobody's own
    return found


_OF_TEXT = "text"  # the place of the lines of a text that had no elements
# What would take more than this share of the text (0 to 1) out of a page is not left out of it.
_MOST_SHARE = 0.5


def place_name(gaps: Sequence[Gap]) -> str:
    """Return the *gaps* of a place as a file of marks has them: one, or a list of several."""
    return json.dumps(gaps if len(gaps) > 1 else gaps[0], ensure_ascii=False)


def gaps_named(name: str) -> list[Gap]:
    """Return the gaps that `place_name` has written; raises `ConfigError` for anything else."""
    try:
        found = json.loads(name)
        gaps = [Gap._make(each) for each in (found if isinstance(found[0], list) else [found])]
        for gap in gaps:
            texts = (gap.place, gap.heading, *gap.before, *gap.after)
            if not (all(isinstance(text, str) for text in texts) and isinstance(gap.is_number, bool)):
                raise TypeError
        return [gap._replace(before=tuple(gap.before), after=tuple(gap.after)) for gap in gaps]
    except (LookupError, TypeError, ValueError, RecursionError):
        raise ConfigError(f"{name!r} is no place of a page") from None


def placed(page: Page) -> Page:
    """Return *page* with places, of which a text has but one."""
    if page.places or page.tags:
        return page
    return replace(page, places=(_OF_TEXT,) * len(page.text.split("\n")))


class MarkedPlaces:
    """The places that *exceptions* tell of; raises `ConfigError` for a bad one."""

    def __init__(self, exceptions: Exceptions) -> None:
        found = defaultdict[str, tuple[dict[Gap, str], list[Gap]]](lambda: ({}, []))
        for site, name, says in exceptions.places:
            apart, ignored = found[site]
            if says == DIFFERENT:
                apart |= dict.fromkeys(gaps_named(name), name)
            else:
                ignored += gaps_named(name)
        self._hosts = {
            site: (apart, Gaps(apart, tries=True, of_marks=True), Gaps(ignored, of_marks=True))
            for site, (apart, ignored) in found.items()
        }

    def __contains__(self, host: object) -> bool:
        """Return whether anything is said of the pages of *host*."""
        return host in self._hosts

    def obeyed(self, page: Page) -> Page:
        """Return *page* as it is judged: without what does not matter, and with what tells it apart."""
        if page.variant.startswith(MARKED):  # as other marks had it, when it was stored
            page = replace(page, variant=page.variant.split(MARKED)[1])
        host = host_of(page.url) if self._hosts and page.seen_on is None else page.seen_on
        if host not in self._hosts or page.excess:
            return page
        names, apart, ignored = self._hosts[host]
        whole = placed(page)
        masked, _ = ignored.masked(whole)
        if len(masked.text) < (1 - _MOST_SHARE) * len(page.text):
            masked = whole
        if told := self._told(names, apart, whole):
            variant = f"{MARKED}{page.variant}{MARKED}{digest(json.dumps(told).encode()).hex()}"
            masked = replace(masked, variant=variant)
        return replace(masked, places=masked.places if page.places else ())

    def said(self, page: Page, host: str) -> set[str]:
        """Return what stands in the marked places of *page*, of *host*, that tell pages apart."""
        names, apart, _ = self._hosts.get(host, ({}, Gaps(()), None))
        found = chain.from_iterable(here for *_, here in self._told(names, apart, placed(page)))
        return {one if isinstance(one, str) else " ".join(chain.from_iterable(one)) for one in found}

    @staticmethod
    def _told(names: Mapping[Gap, str], apart: Gaps, page: Page) -> list[tuple[str, Gap, list[Any]]]:
        return sorted(  # each layout has its path
            (names[gap], gap._replace(place=""), here if gap.is_line else [*map(gap.said, here)])
            for gap, here in apart.leave_out(lines_of(page)).out.items()
        )
