"""What is lost with copies: words, by their texts, other fields, and the places where they differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

from dedup.index import Row
from dedup.model.errors import counted, printable
from dedup.model.marks import DIFFERENT, Said
from dedup.native._pages import IN_NO_PAIR, NUMBER, WORD, kind_of
from dedup.prints.fingerprinter import DedupConfig, fingerprint, other_pairs
from dedup.reading import noise
from dedup.reading.noise import Gap, Line
from dedup.reading.page import Page
from dedup.reading.tokens import UNSPACED
from dedup.replay import differing
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
    side,
)
from dedup.report.explanation import Again, told_fields, told_value

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
_IS_KEY = re.compile(r"sku|gtin\d*|ean|isbn|mpn|asin|([a-z]+_)?id|code", re.IGNORECASE)
_NAMES_RECORD = re.compile(rf"{_IS_KEY.pattern}|number|price", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,]+")
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
_ENDS = (*".!?…。！？",)  # of a sentence
# Fields that tell when an item was made, and nothing of what it is about.
_CLOCK = re.compile(r".*(?:time|date|stamp|crawled|scraped|fetched)|.*_at")
_ALL_RUNS = DedupConfig(unchanged="drop")
Pairs = Sequence[tuple[int, int]]  # rows: each a page kept, and its copy


class LostLine(NamedTuple):
    """A *line* of a *copy*, a row, that says what the page *kept*, another row, does not.

    *whole* is the gap of the line as a whole: below its label, if it *is_value*.  *sides* are what the
    page kept says there, "" for nothing, and the copy, each address as one word; *gaps* those between
    what stays in both.  It goes with others by *keys*.  It tells records apart unless it is *no_record*,
    as where the copy has other elements.
    """

    copy: Row
    kept: Row
    line: MarkedLine
    sides: tuple[str, str]
    whole: Gap
    gaps: set[Gap]
    keys: set[Gap]
    is_value: bool
    no_record: bool

    @property
    def said(self) -> str:
        """What is lost."""
        return " ".join(span.text.strip() for span in self.line if span.is_lost)

    def differs(self, gap: Gap) -> bool:
        """Return whether something stands in *gap*, and something else on the page kept."""
        if gap.is_line or gap.place != self.whole.place:
            return gap == self.whole
        kept, copy = map(gap.said, self.sides)
        return any(copy) and kept != copy


@dataclass(frozen=True, slots=True)
class Place:
    """Where copies of *host* differ from the pages kept, the rows of these *copies*, and examples.

    *name* is that in a file of marks, "" where nobody can decide for all; *records* are those of the
    copies that may be records.
    """

    shown: str
    host: str
    copies: frozenset[int]
    examples: Sequence[LostLine] = ()
    name: str = ""
    records: frozenset[int] = frozenset()

    @property
    def where(self) -> str:
        """How many pages differ there, and on which host."""
        return ", ".join(filter(None, (counted(len(self.copies), "page"), self.host)))

    @property
    def means(self) -> str:
        """What that may mean."""
        which = "these" if self.records >= self.copies else f"{len(self.records):,} of these"
        return f": {which} may be records" * bool(self.records)

    def urgency(self) -> tuple[bool | int, ...]:
        """Return what the order of places goes by; what many copies add alike is of a frame."""
        sides = [one.sides for one in self.examples]
        is_counted = bool(sides) and all(_COUNTER.search(copy) for _, copy in sides)
        is_added = not any(kept for kept, _ in sides)
        is_frame = is_added and len(sides) == 1 and len(self.copies) > EXAMPLES
        return not self.records, is_counted, is_frame, is_added, -len(self.copies)

    @property
    def mark(self) -> Said:
        """The mark of it, when nobody has said anything."""
        return Said("", "", "", self.host, self.name)


@dataclass(frozen=True, slots=True)
class Losses:
    """What is lost with copies: by the row of a copy the *texts* compared, and other *fields*.

    *places* come with records first, then where the page kept says something else, then with most
    copies; last come counters and frames.
    """

    texts: Mapping[int, Compared]
    places: Sequence[Place]
    fields: Mapping[int, str]

    @property
    def records(self) -> set[int]:
        """Rows of copies that may be records."""
        return {row for one in self.places for row in one.records}

    @property
    def groups(self) -> list[list[Place]]:
        """The places, each with those where only its copies differ, as a view for print does."""
        found: list[list[Place]] = []
        for place in self.places:
            within = (one for one in found if place.copies <= one[0].copies)
            if (group := next(within, None)) is None:
                found.append(group := [])
            group.append(place)
        return found

    @property
    def key(self) -> str:
        """The field of items that names records that may have been merged, or words for it."""
        places = (one.examples[0].whole.place for one in self.places if one.records)
        fields = (place.removeprefix("field ") for place in places)
        return next(filter(_IS_KEY.fullmatch, fields), "a field that tells them apart")

    def words(self, row: int, limit: int = 80) -> str:
        """Return the words lost with the copy of *row*, "" where they are not known."""
        texts = self.texts.get(row)
        return printable("; ".join(texts.lost_parts), limit) if texts else ""


def losses_of(again: Again, pairs: Iterable[tuple[int, int]], others: Pairs) -> Losses:
    """Return what is lost with the first *pairs* by their texts, if stored; with *others* in fields."""
    index, read = again.index, again.page_of
    texts, lost = {}, list[LostLine]()
    for kept, copy in islice(pairs, MAX_PAIRS):
        if (one := read(kept)) and (other := read(copy)):
            before, row = index.row(kept), index.row(copy)
            found = texts[copy] = compared(one.text, other.text, *again.whole(before, row))
            if row.verdict.nowhere != 0:
                lost += _lost_lines(found.losing, before, row, one, other)
    fields = {}
    for kept_row, row in zip(*map(index.rows_of, zip(*others, strict=True)), strict=True):
        fields[row.id] = told_fields(differing(kept_row, row))
        lost += _lost_fields(kept_row, row, read)
    return Losses(texts, sorted(_places(again, lost), key=Place.urgency), fields)


# Places in texts


def _lost_lines(
    losing: Mapping[int, MarkedLine], kept: Row, copy: Row, *pages: Page
) -> Iterator[LostLine]:
    """Yield the lines *losing* something of a *copy*, which is the second page.

    In a table the first cell of a row says what the second one is.
    """
    if not all(page.places for page in pages):  # they are compared as plain texts
        pages = tuple(noise.placed(replace(page, places=(), tags=())) for page in pages)
    one, other = (Counter(page.places) for page in pages)
    is_of_view = 2 * (one & other).total() < other.total()
    there, lines = map(noise.lines_of, pages)
    known, differ = {(at, " ".join(text.split())) for at, text in there}, {at + 1 for at in losing}
    for number, shown in losing.items():
        (above, label), (place, _) = lines[number : number + 2]
        kept_said, said = (_as_words(side(shown, of)) for of in (KEPT, COPY))
        is_other = (place, side(shown, KEPT)) in known
        stays = sum(len(span.text.strip()) for span in shown if span.of == BOTH)
        is_added = not is_other and 2 * stays < len(said)
        line = tuple(span for span in shown if not (is_added and span.of == KEPT))
        sides = "" if is_added else kept_said, said
        is_value = is_other and above == place and number not in differ and _is_label(label)
        if is_value and re.search(r"\w", _COUNTER.sub("", said)):
            whole = Gap(place, heading=label)
            yield LostLine(copy, kept, line, sides, whole, set(), {whole}, True, is_of_view)
            continue
        gaps = noise.gaps_among(place, sides)
        # By one word on each side it may be that of others, too.
        gaps |= {gap._replace(before=gap.before[-1:], after=gap.after[:1]) for gap in gaps}
        whole = noise.line_gap(lines, number + 1, differ)
        keys = gaps or ({whole} if whole.is_possible else set())
        keys = {*keys, Gap("", heading=re.sub(r"\d+", "#", _first_words(said)))}
        yield LostLine(copy, kept, line, sides, whole, gaps, keys, False, is_of_view)


def _as_words(line: str) -> str:
    """Return *line* with each address as one word."""
    return ADDRESS.sub(lambda found: re.sub(r"\W+", "_", f"_{found[0]}"), line)


def _first_words(line: str) -> str:
    return " ".join(_TOKEN.findall(line)[:2])


def _is_label(text: str) -> bool:
    """Return whether *text* may say what stands below it: it is short, and neither sentence nor date."""
    return len(text) <= _LONGEST_LABEL[text.endswith(_ENDS)] and not re.search(r"\d", text)


def _places(again: Again, lost: Sequence[LostLine]) -> Iterator[Place]:
    """Yield the places of *lost* lines: each line goes with those that most copies of its host have."""
    hosts, is_record = defaultdict[str, list[LostLine]](list), _records_in(again)
    marks = defaultdict[str, list[Gap]](list)
    for host, name, says in again.config.exceptions.places:
        marks[host] += noise.gaps_named(name) if says == DIFFERENT else []
    # What somebody says tells pages apart keeps these copies from now on, whatever else differs.
    apart = {one.copy.id for one in lost if any(map(one.differs, marks[one.copy.sighting.host]))}
    for one in lost:
        is_field = one.whole.place.startswith("field ")
        hosts["" if is_field else one.copy.sighting.host] += [one] * (one.copy.id not in apart)
    for host, found in hosts.items():
        for (shown, _), some in _grouped(found).items():
            # What all copies say alike, but for the time, tells none of them apart.
            tells = len({(*_NO_VALUE.sub("", one.said).split(),) for one in some}) > 1
            tells |= any(span.of == KEPT for one in some for span in one.line)
            times = Counter((one.copy.id, one.whole.place) for one in some)
            may_be = (one for one in some if tells and is_record(one, times))
            copies, records = (frozenset(one.copy.id for one in lines) for lines in (some, may_be))
            examples = [*{one.line: one for one in some}.values()][:EXAMPLES]
            yield Place(shown, host, copies, examples, _name_of(some), records)


def _grouped(lost: Sequence[LostLine]) -> dict[tuple[str, str], list[LostLine]]:
    """Return *lost* lines of a host by how a place of them is shown, and its element."""
    having = defaultdict[Gap, list[int]](list)
    for one in lost:
        for key in one.keys:
            having[key].append(one.copy.id)
    counts = {key: (len({*copies}), len(copies)) for key, copies in having.items()}

    def rank(whole: Gap, key: Gap) -> tuple[Any, ...]:
        copies, lines = counts[key]
        return key == whole and copies > 1, copies, lines, bool(key.place), key.anchors, key

    groups = defaultdict[Gap, list[LostLine]](list)
    for one in lost:
        groups[max(one.keys, key=partial(rank, one.whole))].append(one)
    found = defaultdict[tuple[str, str], list[LostLine]](list)
    for some in groups.values():  # layouts may have another path to the same element
        found[_shown(some), some[0].whole.place.rpartition(">")[2]] += some
    return found


def _name_of(lost: Sequence[LostLine]) -> str:
    """Return the name of a place: all gaps in which *lost* lines differ; "" where a mark has none."""
    by_place = attrgetter("whole.place")
    places = groupby(sorted(lost, key=by_place), by_place)
    gaps = [gap for place, some in places for gap in _gaps_at(place, [*some])]
    # Below a date or a price stands what is one page's own; a field of items is no place.
    can_be = all(gap.is_possible and not re.search(r"\d", gap.heading) for gap in gaps)
    is_named = not lost[0].is_value or all(gap.heading and " " not in gap.place for gap in gaps)
    return noise.place_name(gaps) if can_be and is_named else ""


def _gaps_at(place: str, lost: Sequence[LostLine]) -> list[Gap]:
    """Return the gaps between what stays in all *lost* lines, or where these are not all, the line."""
    headings = {one.whole.heading for one in lost}
    whole = Gap(place, heading=headings.pop() if len(headings) == 1 else "")
    said = [said for one in lost for said in one.sides if said]
    if is_added := not all(one.sides[0] for one in lost):
        said.append(_first_words(said[0]))
    among = noise.gaps_among(place, said) or set.intersection(*(one.gaps for one in lost))
    gaps = sorted(gap for gap in among if any(one.differs(gap) for one in lost))
    left = noise.Gaps(gaps, tries=True).leave_out
    both = ([left([Line(place, said)]).left for said in one.sides] for one in lost)
    is_all = gaps and not is_added and all(kept == copy for kept, copy in both)
    return gaps if not lost[0].is_value and (is_all or (gaps and not whole.is_possible)) else [whole]


def _shown(lost: Sequence[LostLine]) -> str:
    """Return what stays in all *lost* lines, and "#" for what differs.

    Where no word stays it goes by a label above it, or by its elements and an example.
    """
    whole, lines = lost[0].whole, [*{one.line: one for one in lost}.values()][:_TRIED]
    sides = [side(one.line, of) for one in lines for of in ((COPY, KEPT)[: 1 + bool(one.sides[0])])]
    stays = "" if lost[0].is_value else reduce(_common, filter(None, sides))
    if re.search(rf"[^\W\d]{{2}}|[{UNSPACED}]", stays):
        return printable("#".join(map(ends_of, stays.lstrip(", ").split("#"))), _LONGEST)
    is_named = re.search(r"[^\W\d]", whole.heading) and whole.heading not in lost[0].copy.sighting.title
    if lost[0].is_value or (is_named and _is_label(whole.heading)):
        return printable(f"{whole.heading}: #", _LONGEST)
    path = " > ".join(whole.place.split(">")[-2:])
    return printable(f"{path} “{sides[0]}”" + ", …" * (len(lines) > 1), _LONGEST)


def _common(one: str, other: str) -> str:
    """Return what stays the same in two lines, and "#" for each part that does not."""
    found = ""
    for of, group in groupby(pieces_of(one, other), key=lambda piece: piece[0] == BOTH):
        said = "".join(unit for _, unit in group)
        found += said if of else " " * said.startswith(" ") + "#"
    return found.strip()


# Records


def _records_in(again: Again) -> Callable[[LostLine, Mapping[tuple[int, str], int]], bool]:
    """Return what tells whether a copy may be another record, by a line and how many it has at a place.

    It is if a number or a size stands there, once on a page, in a place that was not seen to move, or in
    a table or a list of terms another value of a label: a price may be that of others, too.  What else
    names something counts only where it stands on no page that was kept, as it does where another list
    has the same lines.
    """
    index, seen = again.index, ((site.host, *each) for site in again.noise for each in site.gaps.items())
    moved = {name for host, gap, one in seen if one.moved for name in _names_of(host, gap)}

    def stands(one: LostLine) -> bool:
        pairs = other_pairs(b"", fingerprint(Page.from_text(side(one.line, COPY))).traits)
        with index.store.transaction(writing=False):
            return not index.ledger.known(one.copy.sighting, _ALL_RUNS).site().unknown(pairs).any()

    def is_record(one: LostLine, times: Mapping[tuple[int, str], int]) -> bool:
        host, is_once = one.copy.sighting.host, times[one.copy.id, one.whole.place] == 1
        names = (name for gap in {*one.gaps, one.whole} for name in _names_of(host, gap))
        kept, copy = (_COUNTER.sub("", said) for said in one.sides)
        if one.no_record or _DRAWN.search(one.sides[1]) or kept == copy or not moved.isdisjoint(names):
            return False
        if is_once and (one.is_value or one.gaps):
            for word, kind in _words(one.said, _NO_VALUE):
                # A size such as XL, or a number: with more digits it is an identifier.
                if word.isupper() or (kind == NUMBER and len(word) <= _LONGEST_VALUE):
                    return True
        is_cell = re.match(r"(?:dd|td|field)\b", one.whole.place.rpartition(">")[2]) is not None
        has_label = one.is_value or _is_label(one.whole.heading)
        if is_once and is_cell and not one.gaps and one.sides[0] and has_label:
            return True
        words = _words(_COUNTER.sub(" ", one.said), ADDRESS)
        # The first word of a line has a capital letter anyway, and what both titles name is their site.
        first = next(span for span in one.line if span.of != KEPT)
        titles = (row.sighting.title for row in (one.kept, one.copy))
        both = set.intersection(*({*re.findall(r"\w+", title)} for title in titles))
        own = (word for word, _ in words[not one.gaps and first.is_lost :] if word not in both)
        has_code = any(kind not in {WORD, IN_NO_PAIR} for _, kind in words)
        return (has_code or any(word[0].isupper() for word in own)) and not stands(one)

    return is_record


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


def _lost_fields(kept: Row, copy: Row, read: Callable[[int], Page | None]) -> Iterator[LostLine]:
    """Yield the fields of a *copy* that say something else than those of the page *kept*, as values.

    A field that names a record always tells records apart.  Of others a time does not, nor do more or
    fewer of the same words, nor a number that the HTML does not say: it counts something.
    """
    for name, ours, theirs in differing(kept, copy):
        words, others = (set(_TOKEN.findall(ADDRESS.sub(" ", value))) for value in (ours, theirs))
        is_same = bool(_CLOCK.fullmatch(name.lower())) or words <= others or others <= words
        if not is_same and _NUMBER.fullmatch(ours) and (page := read(copy.id)) and page.tags:
            is_same = not words.issubset(_TOKEN.findall(page.text))
        no_record = ours == "none" or (is_same and not _NAMES_RECORD.fullmatch(name))
        whole = Gap(f"field {name}", heading=f"field {name}")
        line = Span(told_value(theirs), KEPT), Span(f" {told_value(ours)}", COPY)
        yield LostLine(copy, kept, line, (theirs, ours), whole, set(), {whole}, True, no_record)
