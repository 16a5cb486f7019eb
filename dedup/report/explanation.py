"""Why one page repeats another one, or does not: the numbers, and what the rule says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from dedup.index import Index, Row, Run
from dedup.index.notes import all_noise
from dedup.model.errors import counted, printable
from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import FATES, Match, Reason, Verdict
from dedup.prints.fingerprinter import DedupConfig, fingerprint
from dedup.reading.fields import held
from dedup.reading.noise import Gaps, Line, MarkedPlaces, left_out_of, places_shown
from dedup.reading.page import Page, UnreadablePage
from dedup.report.diff import Compared, compared
from dedup.rule import match as rule
from dedup.rule.decide import STRANGER

# What the crawl decided is on record; what the rule says today of two pages alone may differ.
_OTHERWISE = "Its crawl decided otherwise: it knew their site, and not all that is left out today."
_DIGEST = re.compile(r"~[0-9a-f]{32}\Z")
WOULD_DROP = "let through"
# Why a crawl kept or dropped a page, by what was found of it or else by the reason.
_DECIDED: dict[str, str] = {
    Reason.NEW: "of the pages kept by then the crawl found none like it",
    Reason.UPDATED: "in the last run this URL had another text",
    Reason.NOT_JUDGED: "there was nothing in it to judge",
    Reason.EXACT_DUPLICATE: "all its bytes are those of a page that was kept",
    Reason.NEAR_DUPLICATE: "its text is nearly that of a page that was kept",
    rule.ELSEWHERE: "it is like a page that was kept, and its other words stand on others",
    rule.VIEW: "it shows in another frame what a page that was kept does",
    STRANGER: "the file of marks says that the two are different",
    Verdict.RESTORED: "that it had been dropped was taken back, by `dedup restore` or to be safe: no "
    "second request confirmed that what had been left out of it changes at each load",
}
KINDS = NEAR, EXACT, UNCHANGED = "near copy", "exact copy", "unchanged"  # what copies are in a run
ESTIMATED = "(By runs of four words: a changed word may count as four.)"


class Again:
    """Reads and judges the pages of *index* once more, by today's *config*.

    Without what is known by now to change at each load, but by what was known of their site then.
    """

    def __init__(self, index: Index, config: DedupConfig) -> None:
        self.index, self.config = index, config
        self.noise, self._marked = all_noise(index.store), MarkedPlaces(config.exceptions)
        acting = ((one[:2], [gap for gap, it in one.gaps.items() if it.acts(gap)]) for one in self.noise)
        self._gaps = {site: Gaps(gaps) for site, gaps in acting if gaps}
        self.hosts = {host for _, host in self._gaps}  # where something is known to change at each load

    @cached_property
    def runs(self) -> dict[int, Run]:
        """The runs of the index, by their numbers."""
        return {run.id: run for run in self.index.runs.all()}

    def action(self, row: Row) -> str:
        """Return what its run did with duplicates (see `dedup.index.Run`)."""
        run = self.runs.get(row.sighting.run)
        return run.action if run else "drop"

    def fate(self, row: Row) -> str:
        """Return what became of the page of *row*: `kept`, `dropped`, `marked` or `would_drop`."""
        return "kept" if row.verdict.kept else FATES.get(self.action(row), "dropped")

    def page_of(self, number: int, *, is_whole: bool = False) -> Page | None:
        """Return the stored page of a row, or of that where it was the same; None for none to read.

        Unless it *is_whole*, what is known by now to change at each load is left out, and marks on
        places are obeyed, as when pages are judged.
        """
        row = self.index.row(number)
        try:
            page = self.index.page_of(row) or self.index.page_of(self.index.row(row.origin))
        except UnreadablePage:
            return None
        if page is None or is_whole:
            return page
        scope, host = row.sighting.scope, row.sighting.host
        gaps = self._gaps.get((scope, host)) or self._gaps.get(("", host))
        return self._marked.obeyed(gaps.masked(page)[0] if gaps else page)

    def print_of(self, row: Row) -> Fingerprint:
        """Return the fingerprint of the page of *row*, made anew where its text is stored."""
        page = self.page_of(row.id) if row.sighting.host in self.hosts else None
        return fingerprint(page, self.config) if page else row.sighting.fingerprint

    def compared(self, kept: Row, row: Row) -> Compared | None:
        """Return the texts of the pages of two rows compared, None where one is not stored."""
        pages = [self.page_of(one.id, is_whole=whole) for whole in (False, True) for one in (kept, row)]
        texts = [page.text for page in pages if page]
        return compared(*texts) if len(texts) == len(pages) else None

    def beside(self, row: Row) -> Callable[[Row], Match]:
        """Return what judges the page of *row* beside that of another row, which was kept before."""
        page = replace(self.print_of(row), left_out=row.sighting.host in self.hosts)
        site = self.index.ledger.known(row.sighting, self.config).site(row.id)

        def judged(kept: Row) -> Match:
            with self.index.store.transaction(writing=False):
                beside = site.beside(kept.sighting.host)
                return rule.match(self.print_of(kept), page, self.config, beside)

        return judged

    def left_out(self, host: str, lines: Sequence[Line]) -> list[str]:
        """Return what is left out of the *lines* of a page of *host*, with examples."""
        known = dict(chain(*(site.gaps.items() for site in self.noise if site.host == host)))
        return places_shown(left_out_of(lines, known))

    def others(self, own: Row, found: Iterable[Row]) -> list[Row]:
        """Return those *found* that its *own* row is compared with: none of its versions."""
        group, name = own.sighting.group, own.sighting.identity
        return [row for row in found if row.sighting.group == group and row.sighting.identity != name]

    def decided(self, row: Row) -> str:
        """Return what the crawl decided about *row*, and why."""
        verdict, fate = row.verdict, self.fate(row).replace("would_drop", WOULD_DROP)
        is_update = verdict.reason is Reason.UPDATED and verdict.previous is not None
        if verdict.nearest is not None and repeated(row) is None and not is_update:
            return self._kept_beside(row, self.index.row(verdict.nearest))
        # That of an update is of the page that it was compared with.
        found = "" if is_update and not verdict.is_restored else verdict.finding
        why = _DECIDED.get(found) or _DECIDED.get(verdict.reason)
        if verdict.represents:
            why = "it takes the place of a page that it repeats, not met by its crawl until then"
        elif verdict.reason is Reason.UNCHANGED:
            run = self.index.row(row.origin).sighting.run
            then = "a copy, too" if verdict.repeats_another else "kept"
            why = f"its text is that of run {run}, when it was {then}"
        return f"It was {fate}: {why}."

    def _kept_beside(self, row: Row, nearest: Row) -> str:
        """Return why the crawl kept the page of *row* beside the *nearest* of those that it had kept."""
        finding, kept = row.verdict.finding, nearest.sighting
        why, now = _DECIDED.get(finding), self.beside(row)(nearest)
        if not why and now.is_duplicate:
            why = "settings were others, or it was not known then what of them changes at each load"
        told = f": {why}." if why else f". {now.sentence}"
        return f"It was kept beside {printable(kept.url) or 'an item without URL'}{told}"


def repeated(row: Row) -> int | None:
    """Return the number of the other page that *row* repeats, None if it repeats none."""
    return row.verdict.represents if row.is_own else row.verdict.canonical


def judged_again(
    canonical: Fingerprint, page: Fingerprint, config: DedupConfig, row: Row | None = None
) -> tuple[Match, str]:
    """Return how *page* stands to *canonical* by today's rule and the two alone, and why.

    *row* is that of *page* where it was kept, or dropped for *canonical*.
    """
    found = rule.match(canonical, page, config)
    end = "So it is a copy." if found.is_duplicate else "So it is no copy."
    is_other = row and found.is_duplicate is (row.verdict.kept and not row.verdict.represents)
    return found, f"{found.sentence} {end}{f' {_OTHERWISE}' * bool(is_other)}"


def loss(found: Match | Verdict, words: int, texts: Compared | None = None) -> str:
    """Return what is lost of so many *words*: "about 12 of 640 words"; "" where none tells.

    They are counted where *texts* are compared.
    """
    counted = texts.told if texts else ""
    if found.lost is None:
        return counted
    nowhere = found.nowhere if isinstance(found, Verdict) else found.lost
    told = counted or rule.loses(found.lost, words)
    # How many of a few words stand elsewhere is too rough an estimate.
    is_few = counted and texts and texts.lost <= rule.FEW_WORDS
    return told if is_few else told + rule.elsewhere(found.lost, nowhere)


def differing(kept: Row, row: Row) -> list[tuple[str, str, str]]:
    """Return the fields that were not judged and differ: name, value, value of the page *kept*.

    What is the title of a page was judged with it.
    """
    ours, theirs = (json.loads(one.sighting.unjudged or "{}") for one in (row, kept))
    titles = tuple(held(one.sighting.title) for one in (row, kept))
    found = ((name, ours.get(name, "none"), theirs.get(name, "none")) for name in sorted(ours | theirs))
    return [(name, str(a), str(b)) for name, a, b in found if a != b and (str(a), str(b)) != titles]


def told_fields(fields: Iterable[tuple[str, str, str]]) -> str:
    """Return fields as `differing` has them, each as "price 85.00 for 80.00"."""
    return ", ".join(f"{printable(name)} {told_value(a)} for {told_value(b)}" for name, a, b in fields)


def told_value(value: str) -> str:
    """Return a *value* as `differing` has it, without the digest of a long one."""
    return printable(_DIGEST.sub("…", value))


def kinds(counts: Mapping[str, int]) -> list[str]:
    """Return how many copies there are of each kind; what is none is not named."""
    return [
        counted(counts[kind], kind, kind.replace("copy", "copies")) for kind in KINDS if counts[kind]
    ]
