"""The report on an index: clusters of a page kept and its copies, with what is lost with them.

Some numbers of every page are counted (a million in 100 MB), and figures are made of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dedup.index import Index, Row
from dedup.model.errors import counted, printable
from dedup.model.urls import host_of, url_key
from dedup.model.verdict import Glance, Outcome, Reason
from dedup.prints.fingerprinter import DedupConfig
from dedup.report.explanation import WOULD_DROP, Again, kinds, loss
from dedup.report.losses import MAX_FIELD_ROWS, MAX_PAIRS, Losses, losses_of

GREEN, AMBER, RED = "green", "amber", "red"
TO_MARK = "mark the place (dedup report --serve)"
DEFAULT = DedupConfig()
_TITLE = 140  # characters
WITHOUT_SITE = "(no site)"
NONE = -1  # stands for None: no value is negative
_REASONS = tuple(reason.value for reason in Reason)
_NUMBERS = ("id", "lost", "missing", "canonical", "previous", "unjudged", "page")
_ROW = np.dtype(
    [(name, "i8") for name in _NUMBERS]
    + [("run", "i4"), ("site", "i4"), ("reason", "u1"), ("copy", "?"), ("differs", "?")]
)
_ALL_WORDS = 1 << 33  # no page has half as many

Rows = NDArray[np.void]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Report:
    """The duplicates in *index*, and their canonicals, each once (`Counts`).

    Those of one *run*, of a *domain* and its subdomains; None and "" stand for all.  A canonical may be
    of another run or domain.  What a run met as it was before is told by the run that met it first.
    *config* is that of today, with marks.  Some numbers are held of each row, and what is lost with the
    copies that lose most; the rows are read when they are asked for.
    """

    index: Index
    config: DedupConfig = DEFAULT
    run: int | None = None
    domain: str = ""

    def selected(self) -> Iterator[Glance]:
        """Return glances of the rows of the run and the domain, as they were seen."""
        domain = host_of(url_key(f"http://{self.domain}/")) or self.domain.lower()
        found = self.index.store.glances(run=self.run)
        there = (one for one in found if f".{host_of(one.url_key)}".endswith(f".{domain}"))
        return there if domain else found

    @cached_property
    def _read(self) -> tuple[Counts, Losses]:
        counts = Counts(self.selected(), is_of_run=self.run is not None)
        near = np.flatnonzero(counts.is_near & (counts.rows["lost"] != 0))
        order = np.argsort(-counts.nowhere[near], kind="stable")
        others = np.flatnonzero(counts.rows["differs"])[:MAX_FIELD_ROWS]
        ids = counts.rows[["canonical", "id"]]
        near, of_fields = (ids[some].tolist() for some in (near[order], others))
        losses = losses_of(self.again, [*islice(self.index.store.stored(near), MAX_PAIRS)], of_fields)
        lost = {row: texts.lost for row, texts in losses.texts.items() if not texts.is_cut}
        counts.measure(lost, losses.fields)
        return counts, losses

    @property
    def counts(self) -> Counts:
        """The numbers of all pages; what differs is counted where texts and fields are at hand."""
        return self._read[0]

    @property
    def losses(self) -> Losses:
        """What is lost with the duplicates, as far as texts and fields tell."""
        return self._read[1]

    @cached_property
    def again(self) -> Again:
        """What reads and judges its pages once more."""
        return Again(self.index, self.config)

    @cached_property
    def ranked(self) -> list[tuple[int, list[int]]]:
        """Which clusters there are, and in which order (see `Counts.clusters`)."""
        return self.counts.clusters(self.losses.records, self.losses.texts)

    @property
    def colour(self) -> str:
        """Green if nothing is lost, red if records may have been merged, else amber."""
        if self.losses.records:
            return RED
        return AMBER if self.counts.losing or self.counts.scattered else GREEN

    @cached_property
    def unchecked(self) -> int:
        """How many copies lose words, and are not checked for records: their texts are not compared."""
        counts = self.counts
        losing = counts.rows["id"][counts.is_near & (counts.nowhere != 0)].tolist()
        return len({*losing}.difference(self.losses.texts))

    @property
    def is_alarm(self) -> bool:
        """Whether records may have been merged, or of copies that lose words nobody can tell."""
        return self.colour == RED or (self.unchecked > 0 and not self.losses.texts)

    @property
    def verdict(self) -> str:
        """The first line of a report: what is lost, and how many copies were not checked for records."""
        counts, losses = self.counts, self.losses
        places = sum(not group[0].says for group in losses.groups)
        if not counts.seen:
            return "There is no page: nothing was judged (the log says why), or all are forgotten."
        if self.colour == GREEN:
            none = "There are no new copies." if counts.copies else "There are no copies."
            said = "Nothing is lost with the copies." if counts.told else none
        elif self.colour == RED:
            copies = counted(len(losses.records), "copy differs", "copies differ")
            said = f"Records may have been merged: {copies} in numbers, codes or names. To keep them: "
            said += f"{TO_MARK}, or name a field that tells them apart in DEDUP_KEY_FIELDS."
        else:
            lost = f"{counted(counts.losing, 'copy loses', 'copies lose')} {counts.words}"
            found = [lost + " each" * (counts.losing > 1)] * bool(counts.losing)
            if counts.scattered:
                has = "copy has its words", "copies have their words"
                found.append(f"{counted(counts.scattered, *has)} on other kept pages")
            said = f"{', '.join(found)}."
        if self.unchecked:
            why = "not all texts are stored (DEDUP_STORE_PAGES = True stores all)"
            if len(losses.texts) == MAX_PAIRS:
                why = f"only the {MAX_PAIRS} that lose most are compared"
            some = counted(self.unchecked, "copy that loses words was", "copies that lose words were")
            said += f" {some} not checked for merged products or events: {why}."
        elif places and self.colour == AMBER:
            said = f"Look at {'this place' if places == 1 else f'these {places} places'}: {said}"
        return said

    def rows(self, *, everything: bool = False) -> Iterator[Row]:
        """Yield a row of each duplicate, or of each page, in the order in which they were seen."""
        found = self.counts.rows["id"]
        return self.index.rows_of((found if everything else found[self.counts.rows["copy"]]).tolist())

    def clusters(self, limit: int = 0, copies: int = 0) -> Iterator[tuple[int, Row, list[Row]]]:
        """Yield how many copies a page kept has, its row, and those of the first *copies*.

        Of *limit* clusters; 0 stands for all.
        """
        for canonical, members in self.ranked[: limit or None]:
            kept, *found = self.index.rows_of((canonical, *members[: copies or None]))
            yield len(members), kept, found

    def title(self, row: Row) -> str:
        """Return the title of a page as it is shown, or how its stored text begins, "" for neither."""
        title = row.sighting.title.strip() or (self.index.text_of(row) or "").strip()
        return printable(title.partition("\n")[0], _TITLE)

    def told_fate(self, row: Row) -> str:
        """Return what became of the page of *row* and in which run, for people."""
        state = "" if row.outcome == "confirmed" else f", {row.outcome}"
        fate = self.again.fate(row).replace("would_drop", WOULD_DROP)
        return f"{fate} in run {row.sighting.run}{state}"

    def told_loss(self, row: Row) -> str:
        """Return what a duplicate is, and what is lost with it: "near copy, loses 12 of 640 words"."""
        reason, words = row.verdict.reason, row.sighting.fingerprint.words
        texts = self.losses.texts.get(row.id)
        lost = "" if reason is Reason.EXACT_DUPLICATE else loss(row.verdict, words, texts)
        return reason.replace("_", " ").replace("duplicate", "copy") + f", loses {lost}" * bool(lost)

    def lost(self, row: Row) -> int | None:
        """Return how many words of *row* are not on the page kept, counted where texts are stored."""
        texts = self.losses.texts.get(row.id)
        return texts.lost if texts and not texts.is_cut else row.verdict.lost


class Counts:
    """The pages of a report by their numbers, in the order in which they were seen.

    Each page counts once, by what the newest run that saw it made of it; where that met the page again
    unchanged, by the row that it had before.  *rows* has the fields of `_ROW`: `site` is a place in
    *sites*, `reason` one in `_REASONS`; what is not known is `NONE`.  *forgotten* is how many rows were
    left out, *by_run* how many pages each run saw.

    Of the *seen* pages *copies* are duplicates: *exact* repeat one byte for byte, *near* in their text,
    and *unchanged* and *before* are as a run saw them that is none of these: a page kept, or a copy.
    Told are the losses of those *told*: if all *is_of_run* one, those that no earlier one has met.
    *losing* lose up to *most* *words* (about), those of *scattered* stand on other pages kept, and
    *other* differ in fields that were not judged.
    """

    def __init__(self, glances: Iterable[Glance], *, is_of_run: bool = False) -> None:
        sites: dict[str, int] = {}
        codes = {name: code for code, name in enumerate(_REASONS)}
        self.forgotten = 0

        def numbers() -> Iterator[tuple[int, ...]]:
            for one in glances:
                if one.outcome == Outcome.FORGOTTEN:
                    self.forgotten += 1
                    continue
                values = (one.lost, one.missing, one.canonical, one.previous)
                name = one.item_key or one.url_key
                yield (
                    one.id,
                    *(NONE if value is None else value for value in values),
                    hash(one.unjudged) if one.unjudged else NONE,
                    hash((one.scope, name)) if name else one.id,
                    *(one.run, sites.setdefault(site_of(one.url), len(sites)), codes[one.reason]),
                    *(not one.kept and one.canonical is not None, False),
                )

        rows = np.fromiter(numbers(), _ROW)
        kept = _places(rows["id"], rows["canonical"])
        # The page that it repeats may be of none of the runs.
        others = np.where(kept >= 0, rows["unjudged"][kept], NONE) if len(rows) else rows["unjudged"]
        rows["differs"] = rows["copy"] & (rows["unjudged"] != others)
        self.by_run = _shares(rows["run"], rows["copy"] & ~_is_own(rows))
        self.sites, self.rows = tuple(sites), rows[_once(rows)]
        rows = self.rows
        self.is_told: Booleans = rows["copy"] & ~(_is(rows, Reason.UNCHANGED) & is_of_run)
        rows["differs"] &= self.is_told
        self.seen, self.copies, self.told = len(rows), int(rows["copy"].sum()), int(self.is_told.sum())
        masks = _is(rows, Reason.EXACT_DUPLICATE), _is(rows, Reason.UNCHANGED), _is_own(rows)
        self.exact, same, self.unchanged = (int((rows["copy"] & mask).sum()) for mask in masks)
        self.before, self.near = same - self.unchanged, self.copies - self.exact - same
        self.measure({}, {})

    def measure(self, lost: Mapping[int, int], differing: Mapping[int, str]) -> None:
        """Take over how many words rows have *lost*, and what is *differing* in their fields."""
        rows = self.rows
        rows["lost"][self.places(lost)] = [*lost.values()]
        rows["differs"][self.places(differing)] = [*map(bool, differing.values())]
        others = rows["differs"] & (~self.is_near | (self.nowhere == 0)) & ~self.is_scattered
        words = self.nowhere[self.is_near & ~others & ~self.is_scattered & (self.nowhere > 0)]
        self.losing, self.most = len(words), int(words.max(initial=0))
        self.scattered, self.other = int(self.is_scattered.sum()), int(others.sum())
        least = int(words.min(initial=self.most))
        self.words = f"{least:,} to " * (least != self.most) + counted(self.most, "word")

    def __str__(self) -> str:
        """Return the sum of all pages, and what is lost with the copies."""
        of = f" (each once, of {len(self.by_run):,} runs)" if len(self.by_run) > 1 else ""
        parts = kinds(self.near, self.exact, self.before, self.unchanged)
        kept = " + ".join((f"{self.seen - self.copies:,} kept", *parts))
        told = f"{counted(self.seen, 'page')} seen{of} = {kept}."
        safe = self.told - self.losing - self.scattered - self.other
        said = [
            (safe, "loses nothing", "lose nothing"),
            (self.losing, f"loses {self.words}", f"lose {self.words}"),
            (self.scattered, "has its words on other kept pages", "have theirs on other kept pages"),
            (self.other, "differs in other fields", "differ in other fields"),
        ]
        lost = ", ".join(counted(*one) for one in said if one[0])
        which = f"The {self.told:,} new" if self.told < self.copies else f"The other {self.copies:,}"
        return f"{told} {which}: {lost}." if lost else told

    @property
    def is_near(self) -> Booleans:
        """Which pages are near copies: they repeat another page, and not word for word."""
        # Its URL showed the same before; what was a near copy then still loses what it lost.
        same = _is(self.rows, Reason.UNCHANGED) & (self.rows["lost"] == 0)
        near: Booleans = self.is_told & ~same & ~_is(self.rows, Reason.EXACT_DUPLICATE)
        return near

    @property
    def nowhere(self) -> Integers:
        """About how many words are on no page kept (see `dedup.model.verdict.Verdict`)."""
        lost, missing = self.rows["lost"], self.rows["missing"]
        return np.where(missing >= 0, np.minimum(lost, missing), lost)

    @property
    def is_scattered(self) -> Booleans:
        """Which near copies were dropped because their words stand on other pages kept."""
        missing = self.rows["missing"]
        found: Booleans = self.is_near & (missing >= 0) & (self.rows["lost"] > missing)
        return found

    @property
    def by_site(self) -> list[tuple[str, int, int]]:
        """The sites, how many pages of each were seen, and are copies; those with most copies first."""
        shares = _shares(self.rows["site"], self.rows["copy"])
        found = ((self.sites[site], pages, copies) for site, pages, copies in shares)
        return sorted(found, key=lambda share: (-share[2], -share[1], share[0]))

    def places(self, rows: Iterable[int]) -> Integers:
        """Return where the rows of these numbers stand, `NONE` for those that are not here."""
        return _places(self.rows["id"], np.array([*rows], np.int64))

    def clusters(
        self, records: Collection[int], compared: Collection[int]
    ) -> list[tuple[int, list[int]]]:
        """Return the rows of the pages kept, each with those of its copies.

        First come copies that may be *records*, then those whose texts were *compared*, then the others;
        of each kind those that lose most, and last what loses nothing.  Of equals the oldest come first,
        of clusters the largest.
        """
        rows, places = self.rows, np.flatnonzero(self.is_told)
        # What is not measured is NONE, and counts as nothing.
        urgency = np.where(self.is_near | rows["differs"], 2 * self.nowhere + 1 + self.is_scattered, -1)
        at = self.places(compared)
        urgency[at] += _ALL_WORDS * (urgency[at] > 2)
        urgency[self.places(records)] += 2 * _ALL_WORDS
        order = places[np.lexsort((rows["id"][places], -urgency[places]))]
        copies, kept, most = (one[order].tolist() for one in (rows["id"], rows["canonical"], urgency))
        urgent, found = dict(zip(copies, most, strict=True)), defaultdict[int, list[int]](list)
        for canonical, row in zip(kept, copies, strict=True):
            found[canonical].append(row)
        return sorted(found.items(), key=lambda one: (-urgent[one[1][0]], -len(one[1]), one[0]))


def _once(rows: Rows) -> Integers:
    """Return the places of those *rows* that tell of each page once."""
    pages, page = np.unique(rows["page"], return_inverse=True)
    newest = np.zeros(len(pages), np.int64)
    np.maximum.at(newest, page, rows["run"])
    last = np.flatnonzero(rows["run"] == newest[page])
    before = _places(rows["id"], rows["previous"][last])
    is_same = _is(rows, Reason.UNCHANGED)[last] & (before >= 0)
    return np.flatnonzero(np.bincount(np.where(is_same, before, last)))


def _places(known: Integers, rows: Integers) -> Integers:
    """Return where *rows* stand among the *known* ones, in order, `NONE` for those that do not."""
    known = np.append(known, np.iinfo(np.int64).max)
    at = np.searchsorted(known, rows)
    return np.where(known[at] == rows, at, NONE)


def _is(rows: Rows, reason: Reason) -> Booleans:
    return np.asarray(rows["reason"] == _REASONS.index(reason))


def _is_own(rows: Rows) -> Booleans:
    """Return which of *rows* show what their address showed before, in a row of its own."""
    return np.asarray(_is(rows, Reason.UNCHANGED) & (rows["canonical"] == rows["previous"]))


def _shares(of: Integers, is_copy: Booleans) -> list[tuple[int, int, int]]:
    """Return what the rows are *of*, how many each has, and how many of these are copies."""
    rows, copies = (Counter(one.tolist()) for one in (of, of[is_copy]))
    return [(one, count, copies[one]) for one, count in sorted(rows.items())]


def site_of(url: str) -> str:
    """Return the host of *url* as a report shows it, `WITHOUT_SITE` where there is none."""
    return printable(host_of(url)) or WITHOUT_SITE
