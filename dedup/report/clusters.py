"""The report on an index: clusters of a page kept and its copies, with what is lost with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from dedup.index import Index, Row
from dedup.model.errors import counted, printable
from dedup.model.urls import host_of, url_key
from dedup.model.verdict import Glance, Outcome, Reason
from dedup.prints.fingerprinter import DedupConfig
from dedup.report.explanation import EXACT, NEAR, TAKEN_BACK, UNCHANGED, WOULD_DROP, Again, kinds, loss
from dedup.report.losses import MAX_FIELD_ROWS, MAX_PAIRS, Losses, losses_of

GREEN, AMBER, RED = "green", "amber", "red"
TO_MARK = "mark the place (dedup report --serve)"
DEFAULT = DedupConfig()
_TITLE = 140  # characters


@dataclass(frozen=True)
class Report:
    """The duplicates in *index*, and their canonicals, each once (`Counts`).

    Those of one *run*, of a *domain* and its subdomains; None and "" stand for all.  A canonical may be
    of another run or domain.  What a run met as it was before is told by the run that met it first.
    *config* is that of today, with marks.
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
    def counts(self) -> Counts:
        """The numbers of all pages; what differs is counted where texts and fields are at hand."""
        counts = Counts(self.selected(), is_of_run=self.run is not None)
        near = (one for one in counts.found if one.is_near and one.lost != 0)
        by_loss = sorted(near, key=lambda one: -one.nowhere)
        stored = self.index.store.stored([(one.canonical, one.id) for one in by_loss])
        others = [(one.canonical, one.id) for one in counts.found if one.differs][:MAX_FIELD_ROWS]
        counts.measure(losses_of(self.again, stored, others))
        return counts

    @cached_property
    def beside(self) -> Losses:
        """What tells pages kept from the one that each is much like, most pages first."""
        found = losses_of(self.again, self.index.store.stored(self.counts.beside), ())
        places = (replace(one, records=frozenset()) for one in found.places)
        return replace(found, places=sorted(places, key=lambda one: -len(one.copies)))

    @property
    def losses(self) -> Losses:
        """What is lost with the duplicates, as far as texts and fields tell."""
        return self.counts.losses

    @cached_property
    def again(self) -> Again:
        """What reads and judges its pages once more."""
        return Again(self.index, self.config)

    @cached_property
    def ranked(self) -> list[tuple[int, list[int]]]:
        """The rows of the pages kept, each with those of its copies.

        First come copies that may be records, then those whose texts were compared, then the others; of
        each kind those that lose most.  Of equals the oldest come first, of clusters the largest.
        """
        records, compared = self.losses.records, self.losses.texts

        def urgency(one: Copy) -> tuple[int, ...]:
            is_shown = one.id in compared and one.nowhere > 0
            is_other, is_elsewhere = one.is_near or one.differs, one.loses == "elsewhere"
            return one.id in records, is_shown, is_other, one.nowhere, is_elsewhere

        found = defaultdict[int, list[Copy]](list)
        told = (one for one in self.counts.found if one.is_told)
        for one in sorted(told, key=urgency, reverse=True):
            found[one.canonical].append(one)
        ranked = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
        ranked.sort(key=lambda one: urgency(one[1][0]), reverse=True)
        return [(canonical, [one.id for one in copies]) for canonical, copies in ranked]

    @property
    def colour(self) -> str:
        """Green if nothing is lost, red if records may have been merged, else amber."""
        if self.losses.records:
            return RED
        return AMBER if self.counts.lose.keys() & {"words", "elsewhere"} else GREEN

    @cached_property
    def unchecked(self) -> int:
        """How many copies lose words, and are not checked for records: their texts are not compared."""
        losing = {one.id for one in self.counts.found if one.is_near and one.nowhere}
        return len(losing.difference(self.losses.texts))

    @property
    def is_alarm(self) -> bool:
        """Whether records may have been merged, or of copies that lose words nobody can tell."""
        return self.colour == RED or (self.unchecked > 0 and not self.losses.texts)

    @property
    def verdict(self) -> str:
        """The first line of a report: what is lost, and how many copies were not checked for records."""
        counts, losses = self.counts, self.losses
        places = len(losses.groups)
        if not counts.seen:
            return "There is no page: nothing was judged (the log says why), or all are forgotten."
        if self.colour == GREEN:
            none = f"There are no {'new ' * bool(counts.copies)}copies."
            said = "Nothing is lost with the copies." if counts.told else none
        elif self.colour == RED:
            copies = counted(len(losses.records), "copy differs", "copies differ")
            said = f"Records may have been merged: {copies} in numbers, codes or names. To keep them: "
            said += f"{TO_MARK}, or name {losses.key} in DEDUP_KEY_FIELDS."
        else:
            words, elsewhere = counts.lose["words"], counts.lose["elsewhere"]
            has = counted(elsewhere, "copy has its words", "copies have their words")
            lose = f"{counted(words, 'copy loses', 'copies lose')} {counts.words}{' each' * (words > 1)}"
            found = [lose] * bool(words) + [f"{has} on other kept pages"] * bool(elsewhere)
            said = f"{', '.join(found)}."
        if self.unchecked:
            why = "not all texts are stored (DEDUP_STORE_PAGES = True stores all)"
            why += f", or {MAX_PAIRS} others lose more" * (len(losses.texts) == MAX_PAIRS)
            some = counted(self.unchecked, "copy that loses words was", "copies that lose words were")
            said += f" {some} not checked for merged products or events: {why}."
        elif places and self.colour == AMBER:
            said = f"Look at {'this place' if places == 1 else f'these {places} places'}: {said}"
        return said

    def rows(self, *, everything: bool = False) -> Iterator[Row]:
        """Yield a row of each duplicate, or of each page, in the order in which they were seen."""
        counts = self.counts
        return self.index.rows_of(counts.rows if everything else [one.id for one in counts.found])

    def clusters(self, limit: int = 0, copies: int = 0) -> Iterator[tuple[int, Row, list[Row]]]:
        """Yield of *limit* clusters the size, the page kept and its first *copies*; 0 is all of them."""
        for canonical, members in self.ranked[: limit or None]:
            kept, *found = self.index.rows_of((canonical, *members[: copies or None]))
            yield len(members), kept, found

    def title(self, row: Row) -> str:
        """Return the title of a page as it is shown, or how its stored text begins, "" for neither."""
        title = row.sighting.title.strip() or (self.index.text_of(row) or "").strip()
        return printable(title.partition("\n")[0], _TITLE)

    def told_fate(self, row: Row) -> str:
        """Return what became of the page of *row* and in which run, for people."""
        state = "" if row.outcome == "confirmed" else f", {row.outcome}".replace(*TAKEN_BACK)
        fate = self.again.fate(row).replace("would_drop", WOULD_DROP)
        return f"{fate} in run {row.sighting.run}{state}"

    def told_loss(self, row: Row) -> str:
        """Return what a duplicate is, and what is lost with it: "near copy, loses 12 of 640 words"."""
        reason, words = row.verdict.reason, row.sighting.fingerprint.words
        texts = self.losses.texts.get(row.id)
        lost = "" if reason is Reason.EXACT_DUPLICATE else loss(row.verdict, words, texts)
        return reason.replace("_", " ").replace("duplicate", "copy") + f", loses {lost}" * bool(lost)

    def may_lose(self, row: Row) -> bool:
        """Return whether a page kept may lack words of *row*, its copy: then somebody should look."""
        return row.verdict.reason is not Reason.EXACT_DUPLICATE and self.lost(row) != 0

    def lost(self, row: Row) -> int | None:
        """Return how many words of *row* are not on the page kept, counted where texts are stored."""
        texts = self.losses.texts.get(row.id)
        return texts.lost if texts and not texts.is_cut else row.verdict.lost


class Copy(NamedTuple):
    """A duplicate: its row, that of the page kept, and what its verdict says; *kind* is one of `KINDS`.

    What is lost with it is told if it *is_told*; if it *differs*, so do fields that were not judged.
    """

    id: int
    canonical: int
    kind: str
    lost: int | None
    missing: int | None
    is_told: bool
    differs: bool

    @property
    def is_near(self) -> bool:
        """Whether words may be lost with it: also as a near copy that its URL showed before."""
        return self.is_told and self.kind != EXACT and (self.kind == NEAR or self.lost != 0)

    @property
    def nowhere(self) -> int:
        """About how many words are on no page kept (see `dedup.model.verdict.Verdict`)."""
        lost = self.lost or 0
        return lost if self.missing is None else min(lost, self.missing)

    @property
    def loses(self) -> str:
        """What is lost: words that stand on other pages kept, words, other fields, or nothing."""
        if self.is_near and self.missing is not None and (self.lost or 0) > self.missing:
            return "elsewhere"
        return "words" if self.is_near and self.nowhere else "fields" * self.differs


class Counts:
    """The pages of a report by their numbers.

    Each page counts once, by what the newest run that saw it made of it; where that met the page again
    unchanged, by the row that it had before.  *rows* are those, in order, *found* the duplicates among
    them, and *beside* kept ones, each behind the page that it is like.  So many are of each kind, and so
    many *lose* each of what `Copy.loses` names: of *words* up to *most*, about.  What is lost is told of
    *told* copies: if all *is_of_run* one, of those that no earlier one has met.
    """

    def __init__(self, glances: Iterable[Glance], *, is_of_run: bool = False) -> None:
        known, copies, fields, near = set[int](), dict[int, Copy](), dict[int, int](), dict[int, int]()
        pages, by_run = dict[int, list[int]](), defaultdict[int, list[int]](lambda: [0, 0])
        for one in glances:
            if one.outcome == Outcome.FORGOTTEN:
                continue
            is_same = one.reason == Reason.UNCHANGED
            before = one.previous if is_same and one.previous in known else one.id
            known.add(one.id)
            if one.unjudged:
                fields[one.id] = hash(one.unjudged)
            if one.kept and one.nearest:
                near[one.id] = one.nearest
            is_copy = one.canonical is not None and not one.kept
            is_own = is_same and one.canonical == one.previous
            if one.canonical and is_copy and before == one.id:
                kind = EXACT if one.reason == Reason.EXACT_DUPLICATE else NEAR
                kind = UNCHANGED if is_same else kind
                told = not (is_same and is_of_run)
                # The page that it repeats may be of none of the runs.
                differs = told and fields.get(one.id) != fields.get(one.canonical)
                copies[one.id] = Copy(one.id, one.canonical, kind, one.lost, one.missing, told, differs)
            by_run[one.run][0] += 1
            by_run[one.run][1] += is_copy and not is_own
            name = one.item_key or one.url_key
            # The newest run that saw the page, and the rows that tell of it there.
            found = pages.setdefault(hash((one.scope, name)) if name else -one.id, [one.run])
            if one.run > found[0]:
                found[:] = [one.run]
            if one.run == found[0]:
                found.append(before)
        self.rows = sorted({row for _, *rows in pages.values() for row in rows})
        self.found = [copies[row] for row in self.rows if row in copies]
        self.beside = [(near[row], row) for row in self.rows if row in near]
        self.by_run = [(run, *counts) for run, counts in sorted(by_run.items())]
        self.seen, self.copies = len(self.rows), len(self.found)
        self.kinds = Counter(one.kind for one in self.found)

    def measure(self, losses: Losses) -> None:
        """Take over what is lost with copies where *losses* tell it."""
        self.losses = losses
        for at, one in enumerate(self.found):
            if (texts := losses.texts.get(one.id)) and not texts.is_cut:
                self.found[at] = one._replace(lost=texts.lost)
            if one.id in losses.fields:
                self.found[at] = self.found[at]._replace(differs=bool(losses.fields[one.id]))
        told = [one for one in self.found if one.is_told]
        words = [one.nowhere for one in told if one.loses == "words"]
        self.told, self.lose = len(told), Counter(one.loses for one in told)
        least, self.most = min(words, default=0), max(words, default=0)
        self.words = f"{least:,} to " * (least != self.most) + counted(self.most, "word")

    def __str__(self) -> str:
        """Return the sum of all pages, and what is lost with the copies."""
        of = f" (each once, of {len(self.by_run):,} runs)" if len(self.by_run) > 1 else ""
        kept = " + ".join((f"{self.seen - self.copies:,} kept", *kinds(self.kinds)))
        told = f"{counted(self.seen, 'page')} seen{of} = {kept}."
        said = {
            "": ("loses nothing", "lose nothing"),
            "words": (f"loses {self.words}", f"lose {self.words} each"),
            "elsewhere": ("has its words on other kept pages", "have theirs on other kept pages"),
            "fields": ("differs in other fields", "differ in other fields"),
        }
        lost = ", ".join(counted(self.lose[name], *one) for name, one in said.items() if self.lose[name])
        new = "new " * (self.told < self.copies)
        return f"{told} Of {counted(self.told, f'{new}copy', f'{new}copies')}, {lost}." if lost else told
