"""What is lost with copies: words, by their texts, other fields, and the places where they differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import chain, groupby, islice, pairwise
from typing import Any, NamedTuple

from dedup.index import Row
from dedup.index.rows import numbers
from dedup.model.errors import counted, printable
from dedup.model.marks import DIFFERENT, Said
from dedup.native._pages import IN_NO_PAIR, NUMBER, WORD, kind_of
from dedup.prints.fingerprinter import DedupConfig, fingerprint, other_pairs
from dedup.reading import noise
from dedup.reading.markup import TITLE
from dedup.reading.noise import Gap, Gaps, Line
from dedup.reading.page import Page
from dedup.reading.tokens import UNSPACED
from dedup.report.diff import (
    ADDRESS,
    BOTH,
    COPY,
    KEPT,
    Compared,
    MarkedLine,
    Span,
    compared,
    ends_of,
    pieces_of,
    units,
)
from dedup.report.explanation import Again, differing, told_fields, told_value

MAX_PAIRS = 500  # whose texts are compared, those that lose most
MAX_FIELD_ROWS = 2_000  # whose other fields are compared
EXAMPLES, _TRIED = 3, 9  # that differ, of each place, and so many pairs are looked at
_LONGEST = 200  # characters of what a place is called
_LONGEST_LABEL = 40, 8  # characters, and of one that ends as a sentence does
_LONGEST_VALUE = 9  # of a price: 12,345.00
# An address, a date and a time of day are no values.
_NO_VALUE = re.compile(rf"{ADDRESS.pattern}|\b\d{{4}}([-/.])\d\d?\1\d\d?\b|\b\d\d?(?::\d\d){{1,2}}\b")
# Lines that are drawn at each load with all that stands in them: how long ago something was, who is
# there, an advert.
_DRAWN = re.compile(
    rf"{noise.AGO}|人在[线線]|在[线線][人用]|^\s*(?:advert\w*\b|sponsored\b|[广廣]告)"
    r"|\b(?:guests?|members?|people|readers?|users?|visitors?|who is|who['’]s) (?:online|browsing)\b"
    r"|\b(?:looking at|reading|viewing|watching) (?:this|now)\b",
    re.IGNORECASE,
)
# Numbers beside such a word count what is done with a page, or say what of a list is shown.
_ACT = (
    r"(?:\b(?:click|comment|download|follow|hit|like|read|share|view|visit|vote)(?:s|d|ed|ers?|ors?)?\b|"
    r"\b(?:served|times|results?|showing|displaying|posts|replies|topics)\b|"
    "浏览|瀏覽|[阅閱][读讀]|[点點][击擊赞讚]|[访訪][问問客]|下[载載]|播放|投票|[参參]加|[評评][论論]|人[气氣]|"
    "[结結]果|[显顯]示|共)"
)
_COUNTS = r"\d[\d.,]{0,20}(?: ?(?:to|of|bis|von|[-–~/至到]) ?\d[\d.,]{0,20}){0,3}"
_COUNTER = re.compile(
    rf"{_ACT}[量数數]?(?: today| no\.?| number)?\W{{0,9}}第?{_COUNTS}"
    rf"|{_COUNTS}\W{{0,9}}[次人位条條]?{_ACT}"
    r"|\d+ ?(?:to|[-–]) ?\d+ (?:of|von) [\d.,]+",
    re.IGNORECASE,
)
# What names a record.
KEYS = re.compile(r"sku|gtin\d*|ean|isbn|mpn|asin|(?:\w+_)?id|code|number|price")
_NUMBER = re.compile(r"[\d.,]+")
# One word with a letter and a digit.
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])[\w-]{4,}")
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
_ENDS = (*".!?…。！？",)  # of a sentence
_NEARLY = 0.9  # of all (0 to 1)
# Fields that tell when an item was made, and nothing of what it is about.
_CLOCK = re.compile(r".*(?:time|date|stamp|crawled|scraped|fetched)|.*_at")
_CELL = ">"  # ends the place of a line that a label stands above: only the report knows it
_ALL_RUNS = DedupConfig(unchanged="drop")

Pairs = Sequence[tuple[int, int]]
"""Rows: each a page kept, and its copy."""


class Example(NamedTuple):
    """A copy (its row) and the page kept (its row), and a *line* in which they differ."""

    kept: int
    copy: int
    line: MarkedLine


@dataclass(frozen=True, slots=True)
class Place:
    """Where copies of *host* differ from the pages kept, the rows of these *copies*, and examples.

    *name* is that in a file of marks, "" where nobody can decide for all; *says* what somebody has said;
    *records* are those of the copies that may be records; *advice* says which field of items keeps them.
    """

    shown: str
    host: str
    copies: Sequence[int]
    examples: Sequence[Example] = ()
    name: str = ""
    says: str = ""
    records: Sequence[int] = ()
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.shown} ({self.where}){self.means}"

    @property
    def where(self) -> str:
        """How many pages differ there, and on which host."""
        return ", ".join(filter(None, (counted(len(self.copies), "page"), self.host)))

    @property
    def means(self) -> str:
        """What that may mean, or what somebody has said of it."""
        if self.says:
            return f": {'tells pages apart' if self.says == DIFFERENT else 'ignored'}, as marked"
        some = len(self.records) < len(self.copies)
        which = f"{len(self.records):,} of these" if some else "these"
        return f": {which} may be records" * bool(self.records) + self.advice

    def urgency(self) -> tuple[bool | int, ...]:
        """Return what the order of places goes by; what many copies add alike is of a frame."""
        is_added = all(span.of != KEPT for one in self.examples for span in one.line)
        is_frame = is_added and len(self.examples) == 1 and len(self.copies) > EXAMPLES
        said = [_side(one.line, COPY) for one in self.examples]
        is_counted = bool(said) and all(map(_COUNTER.search, said))
        order = bool(self.says), not self.records, not self.advice, is_counted
        return *order, is_frame, is_added, -len(self.copies)

    @property
    def mark(self) -> Said:
        """The mark of it, with what was said."""
        return Said("", "", self.says, self.host, self.name)


@dataclass(frozen=True, slots=True)
class Losses:
    """What is lost with copies: by the row of a copy the *texts* compared, and other *fields*.

    *places* come with records first, then where the page kept says something else, then with most
    copies; last come counters, frames, and those of which somebody has said something.
    """

    texts: Mapping[int, Compared]
    places: Sequence[Place]
    fields: Mapping[int, str]

    @property
    def records(self) -> dict[int, int]:
        """Rows of copies that may be records, if nobody has said anything; how many differ there."""
        places = sorted(self.places, key=lambda place: len(place.copies))
        return {row: len(one.copies) for one in places if not one.says for row in one.records}

    @property
    def groups(self) -> list[list[Place]]:
        """The places, each with those where only copies of it differ: a view for print does in several.

        Places of which somebody has said something stand alone.
        """
        found: list[tuple[set[int], list[Place]]] = []
        for place in self.places:
            copies = {*place.copies}
            within = (group for others, group in found if copies <= others and not place.says)
            if group := next(within, None):
                group.append(place)
            else:
                found.append((copies, [place]))
        return [group for _, group in found]

    def words(self, row: int, limit: int = 80) -> str:
        """Return the words lost with the copy of *row*, "" where they are not known."""
        texts = self.texts.get(row)
        return printable("; ".join(texts.lost_parts), limit) if texts else ""


def losses_of(again: Again, pairs: Pairs, others: Pairs) -> Losses:
    """Return what is lost: with *pairs* by their texts, where they are stored; with *others* in fields.

    Places that are marked are left out of the texts, as they are when pages are judged.
    """
    index, marked = again.index, noise.MarkedPlaces(again.config.exceptions)
    whole = cache(partial(again.page_of, is_whole=True))

    @cache
    def read(row: int) -> Page | None:
        page = again.page_of(row)
        return page and replace(marked.obeyed(page), variant="")

    texts, losing = {}, []
    for kept, copy in pairs:
        if (one := read(kept)) and (other := read(copy)):
            both = [page.text for page in map(whole, (kept, copy)) if page]
            found = texts[copy] = compared(one.text, other.text, *both)
            row = index.row(copy)
            if found.lost and row.verdict.nowhere != 0:
                lost = _lost_in(one, other) or _lost_with(other, found.lost_parts)
                losing.append(_Pair(row, kept, lost))
    fields, by_name = {}, defaultdict[str, dict[int, _Field]](dict)
    for kept_row, row in zip(*(index.rows_of(side) for side in zip(*others, strict=True)), strict=True):
        differs = differing(kept_row, row)
        fields[row.id] = told_fields(differs)
        for name, ours, theirs in differs:
            by_name[name][row.id] = _Field(kept_row.id, ours, theirs)
    places = [*_field_places(by_name, read), *_places(again, losing)]
    # What somebody says tells pages apart keeps these copies from now on, whatever else differs.
    apart = {row for place in places if place.says == DIFFERENT for row in place.copies}
    places = [replace(one, records=[row for row in one.records if row not in apart]) for one in places]
    return Losses(texts, sorted(places, key=Place.urgency), fields)


# Places in texts


class _Phrase(NamedTuple):
    """What a copy says in a gap and the page kept does not, and all lines of both that have it.

    *words* are without addresses.  If it *is_other* the page kept says something else there,
    and None says that the copy has other elements.
    """

    words: str
    before: Sequence[str]
    lines: Sequence[str]
    is_other: bool | None

    @property
    def own(self) -> set[str]:
        """The lines that the copy alone has."""
        return {*self.lines}.difference(self.before)


class _Pair(NamedTuple):
    """The row of a *copy* and of the page *kept*, and what is lost in each gap."""

    copy: Row
    kept: int
    found: dict[Gap, _Phrase]


def _lost_in(*pages: Page) -> dict[Gap, _Phrase]:
    """Return in which gaps a copy, the second page, says what the page kept does not say there."""
    if not all(page.places for page in pages):  # they are compared as plain texts
        pages = tuple(noise.placed(replace(page, places=(), tags=())) for page in pages)
    one, other = map(noise.lines_of, pages)
    cells = _cells(one, other)
    values = {*chain.from_iterable(cells.values())}
    one, other = ([line for line in side if line not in values] for side in (one, other))
    found = noise.differences(*([Line(at, _whole(text)) for at, text in side] for side in (one, other)))
    found |= {gap._replace(before=gap.before[-1:], after=gap.after[:1]) for gap in found}
    # What is between two of the signs beside a gap, if these are in it as well: A of "-A-B".
    parts = set()
    for gap in found:
        said = {*_said(gap, [text for at, text in (*one, *other) if at == gap.place])}
        for side in (gap.before[-1:], gap.after[:1]):
            if said.issuperset(side) and not "".join(side).isalnum():
                parts.add(Gap(gap.place, side, side))
    gaps = Gaps(found | parts, tries=True)
    here, there = gaps.leave_out(one), gaps.leave_out(other)
    lost = {
        Gap(line.place + _CELL, heading=line.text): _Phrase(cell.text, [kept.text], [cell.text], True)
        for line, (kept, cell) in cells.items()
    }
    everywhere = {text for _, text in one}
    for gap, lines in there.out.items():
        known = here.said(gap)
        own = [part for part in _said(gap, lines) if part not in known and re.search(r"\w", part)]
        if gap.is_line:  # it may be in a line of the page kept, or where none is there, be one elsewhere
            others = "\n".join(map(_in_units, known))
            own = [part for part in own if _in_units(part) not in others]
            own = own if known else [part for part in own if part not in everywhere]
        if own:
            free = own if gap.is_line else ADDRESS.sub(" ", "\n".join(lines))
            words = " ".join(part for part in own if part in free)
            lost[gap] = _Phrase(words, here.out.get(gap, []), lines, bool(known))
    return {gap: said for gap, said in lost.items() if gap.place != TITLE} or lost


def _lost_with(copy: Page, parts: Iterable[str]) -> dict[Gap, _Phrase]:
    """Return what a view loses whose elements are others: *parts* of its lines.

    A line lost as a whole goes by its first words; what has no words beside it stands anywhere.
    """
    found: dict[Gap, _Phrase] = {}
    lines = [Line(at, " ".join(text.split())) for at, text in noise.lines_of(copy)[1:]]
    for part in parts:
        is_in = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
        found_in = (line for line in lines if is_in.search(line.text))
        place, line = next(found_in, Line("", part))
        rest = is_in.sub("", line)
        stays = rest if re.search(r"\w", rest) else " ".join(_TOKEN.findall(line)[:2])
        gaps = noise.gaps_among(place, [line, stays]) if place else set()
        said = _Phrase(ADDRESS.sub(" ", part), (rest,), (line,), None)
        found |= dict.fromkeys(gaps or [Gap("", heading=re.sub(r"\d+", "#", part))], said)
    return found


def _cells(*sides: Sequence[Line]) -> dict[Line, tuple[Line, Line]]:
    """Return labels of both pages, each with the lines of its own kind below it, where these differ.

    In a table the first cell of a row says what the second one is.
    """
    counts = map(Counter, sides)
    here, there = (
        {line: value for line, value in pairwise(side) if line.place == value.place and count[line] == 1}
        for side, count in zip(sides, counts, strict=True)
    )
    both = ((label, here[label], there[label]) for label in here if label in there)
    found = ((label, a, b) for label, a, b in both if a != b and _is_label(label.text))
    return {label: (a, b) for label, a, b in found if _is_value(label.text, b.text)}


def _is_value(label: str, text: str) -> bool:
    """Return whether a *label* without numbers is needed to say what *text* is, and does."""
    return not re.search(r"\d", label) and re.search(r"\w", _COUNTER.sub("", text)) is not None


def _is_label(text: str) -> bool:
    """Return whether *text* may say what stands below it: it is short, and no sentence."""
    return len(text) <= _LONGEST_LABEL[text.endswith(_ENDS)]


def _whole(line: str) -> str:
    """Return *line* with each address as one word: a date in it is no place."""
    return ADDRESS.sub(lambda found: re.sub(r"\W+", "_", f"_{found[0]}"), line)


def _in_units(line: str) -> str:
    return f" {' '.join(unit.strip() for unit in units(line))} "


def _said(gap: Gap, lines: Iterable[str]) -> Iterable[str]:
    return lines if gap.is_line else chain.from_iterable(chain.from_iterable(map(gap.said, lines)))


def _places(again: Again, pairs: Sequence[_Pair]) -> Iterator[Place]:
    """Yield the places of *pairs*: gaps of a host in which several differ, and what is left in one."""
    marks = [(site, noise.gaps_named(name), said) for site, name, said in again.config.exceptions.places]
    says = {(site, noise.place_name(gaps)): said for site, gaps, said in marks}
    is_record = _records_in(again)
    groups: defaultdict[tuple[str, str], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        host = pair.copy.sighting.host
        for key in sorted({(host, gap.place) for gap in pair.found}):
            groups[key].append(pair)
    found = defaultdict[Any, list[tuple[str, list[Gap], list[_Pair], list[Example]]]](list)
    for (host, place), members in groups.items():
        marked = {gap: gaps for site, gaps, _ in marks if site == host for gap in gaps}
        for gaps, some in _chosen(place, members, marked):
            lines = {one.line: one for one in (_example(gaps, pair) for pair in some[:_TRIED])}
            is_one = len(some) == 1 or any(sum(gap in one.found for one in some) > 1 for gap in gaps)
            is_place = is_one and place not in ("", TITLE) and not place.endswith(_CELL)
            is_place &= all(gap.is_possible and not _is_below_own(gap) for gap in gaps)
            shown = ", ".join(gap.shown() for gap in gaps)
            if not place.endswith(_CELL):
                shown = _shown(gaps[0], [*lines], some[0].copy.sighting.title)
            # A sentence with an address goes by what is before that.
            lost = " ".join(span.text for line in lines for span in line if span.of == COPY)
            begins = re.split(rf"#|{ADDRESS.pattern}", shown)[0] if ADDRESS.search(lost) else ""
            found[host, begins or shown, is_place].append((shown, gaps, some, [*lines.values()]))
    for (host, _, is_place), same in found.items():
        gaps = [*dict.fromkeys(gap for _, some, _, _ in same for gap in some)]
        pairs = [pair for _, _, some, _ in same for pair in some]
        here = [(one, gap, said) for one in pairs for gap, said in one.found.items() if gap in gaps]
        copies = sorted({one.copy.id for one in pairs})
        # What all copies say alike, but for the time, tells none of them apart.
        told = {(*_NO_VALUE.sub("", said.words).split(),) for *_, said in here}
        tells = len(told) > 1 or any(said.is_other for *_, said in here)
        records = sorted({one.copy.id for one, gap, _ in here if tells and is_record(one, gap)})
        name = noise.place_name(_marked(gaps, pairs)) if is_place else ""
        shown, of_most = min((one[0] for one in same), key=len), 2 * len(records) >= len(copies)
        examples = [*chain(*(one[3] for one in same))][:EXAMPLES]
        yield Place(shown, host, copies, examples, name, says.get((host, name), ""), records * of_most)


def _chosen(
    place: str, pairs: Sequence[_Pair], marked: Mapping[Gap, list[Gap]]
) -> Iterator[tuple[list[Gap], list[_Pair]]]:
    """Yield gaps at *place* with the *pairs* that differ there, those that most of them have first.

    Each line of a pair comes once, and a gap with those beside it in the line that is shown, or that
    were *marked* with it.  Of what one pair alone has there comes, at the end, what says most, if it is
    a sentence or nothing else was told of the pair.  Pairs that lose what begins with the same words
    come together.
    """
    rest = {pair.copy.id: {gap for gap in pair.found if gap.place == place} for pair in pairs}
    counts, told = Counter[Gap](), defaultdict[int, set[str]](set)  # lines, by the row of their copy

    def rank(gap: Gap) -> tuple[Any, ...]:
        return gap in marked, counts[gap], gap.anchors, bool(gap.heading), gap

    while counts := Counter(chain.from_iterable(rest.values())):
        best = max(counts, key=rank)
        if counts[best] == 1 and best not in marked:
            break
        found = [pair for pair in pairs if best in rest[pair.copy.id]]
        chosen = marked.get(best) or _in_a_line(best, found)
        found = [pair for pair in pairs if not rest[pair.copy.id].isdisjoint(chosen)]
        yield chosen, found
        for pair in found:
            told[pair.copy.id].update(*(pair.found[gap].own for gap in chosen if gap in pair.found))
            met = told[pair.copy.id]
            rest[pair.copy.id] = {gap for gap in rest[pair.copy.id] if not pair.found[gap].own <= met}
    alone = defaultdict[tuple[str, ...], dict[Gap, _Pair]](dict)
    for pair in pairs:
        is_told = pair.copy.id in told
        says = ((one, pair.found[one].words) for one in rest[pair.copy.id])
        left = [one for one, said in says if not (is_told and _is_label(said)) or re.search(r"\d", said)]
        if left:
            *_, most = max((len(pair.found[gap].words), rank(gap), gap) for gap in left)
            alone[*_TOKEN.findall(pair.found[most].words)[:2]][most] = pair
    yield from (([*same], [*same.values()]) for same in alone.values())


def _in_a_line(best: Gap, pairs: Sequence[_Pair]) -> list[Gap]:
    """Return *best* and the gaps beside it: those between what stays in all lines of *pairs*."""
    sides = [(pair.found[best].before, pair.found[best].lines) for pair in pairs]
    said = [*chain(*chain(*sides))]
    among = noise.gaps_among(best.place, said) if all(said) and not best.is_line else set()
    differ = (gap for gap in among if any([*map(gap.said, a)] != [*map(gap.said, b)] for a, b in sides))
    return [best, *sorted({*differ} - {best})]


def _marked(gaps: Sequence[Gap], pairs: Sequence[_Pair]) -> Sequence[Gap]:
    """Return *gaps*, or where they are not all that differs in a line of *pairs*, all of that line.

    A path names it by a class or an id, or the gaps are all that can be marked.
    """
    whole, without = Gap(gaps[0].place), noise.Gaps(gaps, tries=True)

    def left(lines: Iterable[str]) -> list[str]:
        return without.leave_out([Line(whole.place, line) for line in lines]).left

    said = (pair.found[gap] for pair in pairs for gap in gaps if gap in pair.found)
    is_all = gaps[0].is_line or all(left(one.before) == left(one.lines) for one in said)
    return gaps if is_all or not whole.is_possible else [whole]


def _example(gaps: Sequence[Gap], pair: _Pair) -> Example:
    said = [pair.found[gap] for gap in gaps if gap in pair.found]
    sides = zip(*((one.before, one.lines) for one in said), strict=True)
    texts = compared(*("\n".join(dict.fromkeys(chain.from_iterable(side))) for side in sides))
    lines = (line for line in texts.lines if not isinstance(line, int))
    line = max(lines, key=lambda one: sum(len(s.text) for s in one if s.of == COPY), default=())
    return Example(pair.kept, pair.copy.id, line)


def _is_below_own(gap: Gap) -> bool:
    """Return whether a *gap* is below what is one page's own: a line with a date or a price."""
    return re.search(r"\d", gap.heading) is not None


def _shown(gap: Gap, lines: Sequence[MarkedLine], title: str) -> str:
    """Return what stays in all *lines* of a place, of pages with a *title*, and "#" for what differs.

    Where no word stays it goes by a label above it, or by its elements and an example.
    """
    sides = [said for line in lines for of in (COPY, KEPT) if (said := _side(line, of))]
    stays = reduce(_common, sides, sides[0]) if sides else gap.shown()
    if not sides or re.search(rf"[^\W\d]{{2}}|[{UNSPACED}]", stays):
        return printable("#".join(map(ends_of, stays.lstrip(", ").split("#"))), _LONGEST)
    is_named = re.search(r"[^\W\d]", gap.heading) and gap.heading not in title
    if is_named and _is_label(gap.heading):
        return printable(f"{gap.heading}: #", _LONGEST)
    path = " > ".join(gap.place.split(">")[-2:])
    return printable(f"{path} “{sides[0]}”" + ", …" * (len(lines) > 1), _LONGEST)


def _side(line: MarkedLine, of: str) -> str:
    """Return what of *line* the copy says, or the page kept."""
    said = ""
    for before, span in pairwise((Span("", BOTH), *line)):
        text = span.text
        if (before.of, span.of) == (KEPT, COPY):  # it is apart from the line as what it replaces
            text = " " * before.text.startswith(" ") + text.lstrip()
        said += text if span.of in (of, BOTH) else ""
    return said.strip()


def _common(one: str, other: str) -> str:
    """Return what stays the same in two lines, and "#" for each part that does not."""
    found = ""
    for of, group in groupby(pieces_of(one, other), key=lambda piece: piece[0] == BOTH):
        said = "".join(unit for _, unit in group)
        found += said if of else " " * said.startswith(" ") + "#"
    return found.strip()


# Records


def _records_in(again: Again) -> Callable[[_Pair, Gap], bool]:
    """Return what tells whether a pair may be two records, by what differs in a gap.

    They are if a number or a size stands there, once on a page, in a place that was not seen to move: a
    price may be that of others, too.  What else names something counts only where it stands on no page
    that was kept, as it does where another list has the same lines.
    """
    index, seen = again.index, ((site.host, *each) for site in again.noise for each in site.gaps.items())
    moved = {name for host, gap, one in seen if one.moved for name in _names_of(host, gap)}

    @cache
    def in_titles(words: str, *pair: int) -> bool:
        shared = f"p.listed AND instr(p.title, ?) AND p.id NOT IN {numbers(pair)}"
        return any(index.store.rows(shared, words, limit=1))

    @cache
    def title(row: int) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", index.row(row).sighting.title))

    def stands(pair: _Pair, lines: Sequence[str]) -> bool:
        pairs = other_pairs(b"", fingerprint(Page.from_text("\n".join(lines))).traits)
        with index.store.transaction(writing=False):
            return not index.ledger.known(pair.copy.sighting, _ALL_RUNS).site().unknown(pairs).any()

    def is_record(pair: _Pair, gap: Gap) -> bool:
        said, lines = pair.found[gap].words, pair.found[gap].lines
        is_view = pair.found[gap].is_other is None
        if (
            is_view
            or any(_is_drawn(gap, line) for line in lines)
            or not moved.isdisjoint(_names_of(pair.copy.sighting.host, gap))
        ):
            return False
        if len(lines) == 1 and (gap.place.endswith(_CELL) or not gap.is_line):
            for word, kind in _words(said, _NO_VALUE):
                # A size such as XL, or a number: with more digits it is an identifier.
                if word.isupper() or (kind == NUMBER and len(word) <= _LONGEST_VALUE):
                    return True
        words = _words(_COUNTER.sub(" ", said), ADDRESS)
        # The first word of a line has a capital letter anyway, and what both titles name is their site.
        both = title(pair.kept) & title(pair.copy.id)
        has_name = any(word[0].isupper() and word not in both for word, _ in words[gap.is_line :])
        is_named = has_name or any(kind not in {WORD, IN_NO_PAIR} for _, kind in words)
        if is_named and gap.place == TITLE:  # a name of the site, or of a part of it
            return not in_titles(said, pair.kept, pair.copy.id)
        return is_named and not stands(pair, lines)

    return is_record


def _is_drawn(gap: Gap, line: str) -> bool:
    """Return whether *line* is drawn at each load, or counts in *gap* what is done with a page."""
    spans = [] if gap.is_line else gap.spans(line)
    found = [count.span() for count in _COUNTER.finditer(line)]
    counted = any(first < end and begin < last for first, last in found for begin, end in spans)
    return counted or _DRAWN.search(line) is not None


def _names_of(host: str, gap: Gap) -> Iterator[tuple[str, ...]]:
    """Yield by what a gap of *host* is known again: its place, or anywhere the words on both sides."""
    before, after = gap.before[-1:], gap.after[:1]
    yield host, gap.place, *before, "#", *after
    if "".join(before).isalpha() and "".join(after).isalpha():
        yield host, *before, "#", *after


def _words(said: str, without: re.Pattern[str]) -> list[tuple[str, int]]:
    words = re.findall(r"\w[\w.,:/-]*", without.sub(" ", said))
    return [(word, kind_of(word.lower().strip(".,:/-"))) for word in words]


# Fields of items


class _Field(NamedTuple):
    """What a copy says in a field, *ours*, and what the page *kept*, a row, says there."""

    kept: int
    ours: str
    theirs: str


_Fields = Mapping[int, _Field]  # by the rows of copies


def _field_places(fields: Mapping[str, _Fields], read: Callable[[int], Page | None]) -> Iterator[Place]:
    """Yield the fields, by their names, in which copies of one text differ, with what keeps records.

    That is a field that names a record, nearly each page kept having another value, and no price; or two
    that are no numbers, as a colour and a size.
    """
    records = {name: _merged(name, said, read) for name, said in fields.items()}
    merged = {*chain.from_iterable(records.values())}
    keeps, choices = dict[tuple[str, ...], int](), list[str]()
    for name, said in sorted(fields.items()):
        kept = {one.kept: one.theirs for one in said.values() if one.theirs != "none"}
        is_named = KEYS.fullmatch(name.lower()) or all(map(_CODE.fullmatch, kept.values()))
        if is_named and len({*kept.values()}) >= _NEARLY * len(kept) > 0 and name.lower() != "price":
            keeps[name,] = len(merged.intersection(said))
        is_number = any(_NUMBER.fullmatch(one.ours) for one in said.values())
        choices += [name] * (bool(records[name]) and not is_number)
    if len(choices) == 2:
        keeps[*choices] = len(merged.intersection(chain(*map(fields.__getitem__, choices))))
    keys = max(keeps, key=lambda names: (keeps[names], -len(names)), default=())
    named = ", ".join(f'"{printable(name)}"' for name in keys)
    how = f"; DEDUP_KEY_FIELDS = [{named}] keeps {keeps.get(keys, 0):,} of {len(merged):,}"
    for name, said in fields.items():
        first = next(iter(said.values()))
        ours, theirs = told_value(first.ours), told_value(first.theirs)
        shown = printable(f"field {name}: {ours} for {theirs}", _LONGEST)
        advice = f"{how}, and all that differ in it" * (name in keys[:1] and keeps[keys] > 0)
        yield Place(shown, "", sorted(said), records=records[name], advice=advice)


def _merged(name: str, said: _Fields, read: Callable[[int], Page | None]) -> list[int]:
    """Return the rows of copies that may be records, by what they say in a field.

    More or fewer of the same words are none, nor is a number that their HTML does not say: it counts
    something.  If most copies are none, the field is no sign of records.
    """
    if _CLOCK.fullmatch(name.lower()):
        return []
    found = {row: one for row, one in said.items() if one.ours != "none"}
    if KEYS.fullmatch(name.lower()):
        return [*found]
    words = {row: (_tokens(one.ours), _tokens(one.theirs)) for row, one in found.items()}
    numbers = [row for row, one in found.items() if _NUMBER.fullmatch(one.ours)]
    pages = ((read(row), read(found[row].kept), words[row][0]) for row in numbers)
    both = ((page.text, kept.text, ours) for page, kept, ours in pages if page and kept and page.tags)
    tells = [ours <= _tokens(a) and not ours <= _tokens(b) for a, b, ours in islice(both, _TRIED)]
    counts = {*numbers} if 2 * sum(tells) < len(tells) else set()
    other = (row for row, (ours, theirs) in words.items() if not (ours <= theirs or theirs <= ours))
    records = [row for row in other if row not in counts]
    return records if 2 * len(records) >= len(said) else []


def _tokens(said: str) -> set[str]:
    return set(_TOKEN.findall(ADDRESS.sub(" ", said)))
