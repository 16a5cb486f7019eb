"""Why one page repeats another one, or does not: the numbers, and what the rule says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dedup.index import Row
from dedup.model.errors import counted, printable
from dedup.model.verdict import Match, Reason, Verdict
from dedup.prints.fingerprinter import DedupConfig
from dedup.replay import MOST_NAMED, Replay, repeated, still_repeats
from dedup.report.diff import Compared, compared
from dedup.rule import match as rule
from dedup.rule.decide import SAID, STRANGER

_DIGEST = re.compile(r"~[0-9a-f]{32}\Z")
WOULD_DROP, TAKEN_BACK = "let through", ("restored", "taken back")  # it may not be by somebody
# Why a crawl kept or dropped a page, by what was found of it or else by the reason.
_DECIDED: dict[str, str] = {
    Reason.NEW: "of the pages kept by then the crawl found none like it",
    Reason.UPDATED: "when it was last met before, this URL had another text",
    Reason.NOT_JUDGED: "there was nothing in it to judge",
    Reason.EXACT_DUPLICATE: "all its bytes are those of a page that was kept",
    Reason.NEAR_DUPLICATE: "its text is nearly that of a page that was kept",
    rule.ELSEWHERE: "it is like a page that was kept, and its other words stand on others",
    rule.VIEW: "it shows in another frame what a page that was kept does",
    SAID: "the file of marks says that it is a copy of a page that was kept",
    STRANGER: "the file of marks says that the two are different",
    rule.NOT_ALIKE: "they are too little alike",
    rule.LOST: "too many of its words are not there",
    rule.MUCH: "much of what it alone says is not there",
    rule.SERIES: "they are parts of a series",
    rule.NEW_PAIRS: "some of its neighbouring words tell it from that page",
    rule.NO_CANDIDATE: "their fingerprints are too far apart",
    "other_title": "it has only a title, and another one",
    "other_record": "they name different records by their ids",
    "other_place": "a place that is marked tells them apart",
    "other_variant": "they are for different languages or regions",
    Verdict.RESTORED: "that it had been dropped was taken back, by `dedup restore` or to be safe: no "
    "second request confirmed that what had been left out of it changes at each load",
}
_STILL = "it differs from its last visit, when it was a copy, by no more than a copy may"
_UNKNOWN = "what is left out of it by now was not yet known to change at each load"
KINDS = NEAR, EXACT, UNCHANGED = "near copy", "exact copy", "unchanged"  # what copies are in a run
ESTIMATED = "(By runs of four words: a changed word may count as four.)"


class Again(Replay):
    """Tells why the pages of an index were kept or dropped, by what is judged once more."""

    def compared(self, kept: Row, row: Row) -> Compared | None:
        """Return the texts of the pages of two rows compared, None where one is not stored."""
        texts = [page.text for page in map(self.page_of, (kept.id, row.id)) if page]
        return compared(*texts, *self.whole(kept, row)) if len(texts) == 2 else None

    def decided(self, row: Row, *, at_length: bool = False) -> str:
        """Return what the crawl decided about *row*, and why; *at_length* with what the rule said."""
        verdict, fate = row.verdict, self.fate(row).replace("would_drop", WOULD_DROP)
        is_update = self.updates(row) is not None
        if verdict.nearest is not None and repeated(row) is None and not is_update:
            return self._kept_beside(row, self.index.row(verdict.nearest), at_length=at_length)
        # That of an update is of the page that it was compared with.
        found = "" if is_update and not verdict.is_restored else verdict.finding
        why = _DECIDED.get(found) or _DECIDED.get(verdict.reason)
        if verdict.represents:
            why = "it takes the place of a page that it repeats, not met by its crawl until then"
        elif verdict.reason is Reason.UNCHANGED:
            run = self.index.row(row.origin).sighting.run
            then = "a copy, too" if verdict.repeats_another else "kept"
            why = f"its text is that of run {run}, when it was {then}"
        elif still_repeats(verdict):
            why = _STILL
        return f"It was {fate}: {why}."

    def _kept_beside(self, row: Row, nearest: Row, *, at_length: bool) -> str:
        """Return why the crawl kept the page of *row* beside the *nearest* of those that it had kept."""
        finding, why = row.verdict.finding, _DECIDED.get(row.verdict.finding, "")
        if at_length and finding != STRANGER and (found := self.replayed(row, nearest)):
            why = inside(self._at_length(found, row, nearest))
        return f"It was kept beside {printable(nearest.sighting.url) or 'an item without URL'}: {why}."

    def _at_length(self, found: Match, row: Row, kept: Row) -> str:
        """Return what was *found* of the page of *row* beside that *kept*, with words of both."""
        pairs = ""
        if found.finding == rule.NEW_PAIRS:
            pairs = self.named_pairs(row, kept, int(found.sentence.split()[0].replace(",", "")))
        marked = self.marked_values(row, kept) if found.finding == "other_place" else ""
        return f"{found.sentence.removesuffix('.')}{pairs or marked}"

    def marked_values(self, row: Row, kept: Row) -> str:
        """Return what only *row* says in places that are marked, and what only that *kept* does."""
        found = [
            self.marked.said(page, row.sighting.host) if page else set()
            for page in (self.page_of(one.id, is_whole=True) for one in (row, kept))
        ]
        here, there = (", ".join(f"“{one}”" for one in sorted(a - b)) for a, b in (found, found[::-1]))
        told = f": {printable(here or 'nothing')} here, {printable(there or 'nothing')} there"
        return told * any(found)

    def told_rule(self, row: Row, kept: Row) -> str:
        """Return what the rule said of the page of *row*, which repeats *kept*.

        And what it would say today, if settings or marks are others.
        """
        verdict, now = row.verdict, self.beside(row)(kept)
        found = None if still_repeats(verdict) else self.replayed(row, kept)
        lost = rule.loses(verdict.lost, row.sighting.fingerprint.words).capitalize()
        noted = f"{lost} would be lost{rule.elsewhere(verdict.lost, verdict.nowhere)}."
        said = found.sentence if found else noted
        if now.is_duplicate:
            return said
        usual = Again(self.index, DedupConfig(exceptions=self.config.exceptions))
        by = "marks" if now.finding == "other_place" else "settings"
        if by == "settings" and not usual.beside(row)(kept).is_duplicate:
            return said
        return f"{said} By the {by} of today it would be kept: {inside(now.sentence)}."

    def between(self, one: Row, other: Row) -> Match:
        """Return how the page of the *other* row, met later, stands to that of *one* by its crawl."""
        now = self.beside(other)(one)
        if repeated(other) == one.id:
            noted = other.verdict
            reason = Reason.NEAR_DUPLICATE if noted.represents else noted.reason
            told = self.told_rule(other, one)
            return now._replace(reason=reason, lost=noted.lost, missing=noted.missing, sentence=told)
        if not other.verdict.kept:  # for another page
            return now
        if found := self.replayed(other, one):
            return found._replace(sentence=f"{self._at_length(found, other, one)}.")
        return now._replace(sentence=f"{now.sentence} {self.kept_all_the_same(other, one)}.")

    def differing_words(self, before: Row, row: Row) -> tuple[str, list[str]] | None:
        """Return in what alone two pages differ, and some of its words; None where they do in more."""
        both = [self.compared(before, row), self.compared(row, before)]
        if not all(texts and texts.told == "nothing" for texts in both):
            return None
        pages = [self.page_of(one.id, is_whole=True) for one in (before, row)]
        old, new = (page.text if page else "" for page in pages)
        sides = (compared(new, old).lost_parts, "{{-{}-}}"), (compared(old, new).lost_parts, "{{+{}+}}")
        words = [shown.format(part) for parts, shown in sides for part in parts[:MOST_NAMED]]
        return ("what is left out by now" if words else "the order of words"), words

    def kept_all_the_same(self, row: Row, kept: Row) -> str:
        """Return why the page of *row* was kept, though today it would be a copy of that *kept*."""
        because = "it was wanted back" if row.verdict.is_restored else "its URL had shown another text"
        if not row.verdict.is_restored and row.verdict.reason is not Reason.UPDATED:
            is_learned = row.sighting.host in self.hosts and self.replayed(row, kept)
            because = _UNKNOWN if is_learned else "its crawl knew less, or had other settings or rules"
        return f"It was kept, as {because}"


def inside(sentence: str) -> str:
    """Return *sentence* as a part of another one."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


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
