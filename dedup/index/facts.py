"""What rules ask for with every page: facts on runs, and what is on the pages of its site.

All is read from the rows, in the transaction that decides, and only if a verdict asks for it.  Of a site
only the latest rows count (`SPAN`), by their numbers, so that the same rows give the same verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from secrets import token_hex
from sys import maxsize
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.index.notes import OF_RULES, UrlRules
from dedup.index.rows import IS_PENDING, IS_WANTED_BACK, Group, Note, numbers
from dedup.index.store import IN_RANGE, Store
from dedup.model.urls import with_or_without_www
from dedup.prints.fingerprinter import Sampled, positions, sampled
from dedup.rule.match import Counted, Flags, SiteContext, is_common

# What is known goes back between SPAN and twice SPAN rows.  It takes 6 bytes for each different shingle
# that was sampled on a site, each pair of words, number and title: in a blog of pages of 450 words some
# 280 a page are new, so 34 MB at most; and at most 13 KB for a page of any size.
SPAN = 10_000

Tallies = NDArray[np.uint16]


@dataclass(slots=True)
class Shingles:
    """For each shingle that was sampled, each pair, number and title, how many of some pages have it.

    Of its parts each is at least twice as large as the next.
    """

    pages: int = 0
    _parts: list[tuple[Sampled, Tallies]] = field(default_factory=list)
    _new: list[Sampled] = field(default_factory=list)

    def add(self, told: bytes) -> None:
        """Count one more page, by what it has `told_by` it."""
        self.pages += 1
        self._new.append(sampled(told))

    def counts(self, hashes: Sampled) -> Tallies:
        """Return on how many pages each of *hashes* is."""
        self._settle()
        counts = np.zeros(len(hashes), np.uint16)
        for known, counted in self._parts:
            found = positions(hashes, known)
            counts += np.where(found >= 0, counted[found], 0).astype(np.uint16)
        return counts

    def _settle(self) -> None:
        if not self._new:
            return
        hashes = np.sort(np.concatenate(self._new))  # by itself it is much faster than with its places
        self._new.clear()
        self._parts.append(_summed(hashes, np.ones(len(hashes), np.uint16)))
        while len(self._parts) > 1 and len(self._parts[-2][0]) < 2 * len(self._parts[-1][0]):
            newer, older = self._parts.pop(), self._parts.pop()
            hashes = np.concatenate((older[0], newer[0]))
            self._parts.append(_summed(hashes, np.concatenate((older[1], newer[1]))))


def _summed(hashes: Sampled, counts: Tallies) -> tuple[Sampled, Tallies]:
    order = hashes.argsort(kind="stable")
    hashes, counts = hashes[order], counts[order]
    starts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    return hashes[starts], np.add.reduceat(counts, starts, dtype=np.uint16)


class _Pages(NamedTuple):
    run: int
    is_dry: bool
    is_new: bool
    is_kept: bool


class Sites:
    """What is known of all sites of one *store*, by its rows *before* one: while none is forgotten."""

    def __init__(self, store: Store, before: int = maxsize) -> None:
        self._store, self.before = store, before
        self._last = 0
        self.spans: dict[int, dict[tuple[Group, str], dict[_Pages, Shingles]]] = {}
        self._pending: set[int] = set()

    def renew(self) -> None:
        """Read the pages of the time since, and those that were pending then and are no more."""
        last, before = self._store.last(), self.before
        oldest = _oldest(min(last, before))
        self.spans = {number: span for number, span in self.spans.items() if number >= oldest}
        found = self._store.fetch(f"SELECT p.id FROM pages p WHERE {IS_PENDING} AND p.id < ?", (before,))
        pending = {row for (row,) in found}
        again = [row for row in self._pending - pending if _span(row) >= oldest]
        after, self._last = max(self._last, oldest * SPAN - 1), min(last, before - 1)
        self._pending = pending
        for text in takewhile(lambda one: one.id < before, self._store.kept_texts(after, again)):
            span = self.spans.setdefault(_span(text.id), {})
            host = span.setdefault((text.group, text.host), {})
            pages = _Pages(text.run, text.is_dry, text.is_new, text.is_kept)
            host.setdefault(pages, Shingles()).add(text.told)


@dataclass(slots=True)
class Site(SiteContext):
    """The site of the first of *hosts*, beside the others, by pages of *runs* and *dry_runs*.

    Without *runs* the first page of each URL counts, but for what *own* ones tell, of the page that is
    judged.  What is new is read once, with the first question.
    """

    sites: Sites
    group: Group
    hosts: tuple[str, ...]
    runs: frozenset[int] | None
    dry_runs: frozenset[int]
    own: Sequence[Sampled]  # each in order
    _renew: Callable[[], None]
    _answers: dict[tuple[bytes, str, bool], tuple[Counted, int]] = field(default_factory=dict)
    is_beside: bool = False

    is_known = True

    @property
    def pages(self) -> int:
        return sum(one.pages for of, one in self._counting(self.hosts[0]) if of.is_kept)

    def common(self, sample: bytes) -> Flags:
        flags: Flags = np.any([is_common(*self._counted(sample, host)) for host in self.hosts], axis=0)
        return flags

    def on(self, sample: bytes) -> Counted:
        return self._counted(sample, self.hosts[0])[0]

    def seen(self, told: bytes) -> Counted:
        return self._counted(told, self.hosts[0], dropped=True)[0]

    def beside(self, host: str) -> Site:
        if host in self.hosts:
            return self
        return replace(self, hosts=(*self.hosts[:1], host), is_beside=True)

    def _counting(self, host: str) -> Iterator[tuple[_Pages, Shingles]]:
        self._renew()
        for span in self.sites.spans.values():
            yield from (one for one in span.get((self.group, host), {}).items() if self._counts(one[0]))

    def _counts(self, of: _Pages) -> bool:
        if of.is_dry and of.run not in self.dry_runs:
            return False
        # Over all runs each URL counts once.
        return of.is_new if self.runs is None else of.run in self.runs

    def _counted(self, sample: bytes, host: str, *, dropped: bool = False) -> tuple[Counted, int]:
        """Return on how many pages, also *dropped* ones, each of *sample* is, and how many were kept."""
        if (asked := (sample, host, dropped)) not in self._answers:
            hashes = sampled(sample)
            counts, pages = np.zeros(len(hashes), np.int64), 0
            for of, shingles in self._counting(host):
                if of.is_kept or dropped:
                    counts += shingles.counts(hashes)
                    pages += shingles.pages if of.is_kept else 0
            for told in self.own if host == self.hosts[0] else ():
                counts -= (positions(hashes, told) >= 0) & (counts > 0)
            self._answers[asked] = counts, pages
        return self._answers[asked]


def _span(row: int) -> int:
    return row % IN_RANGE // SPAN


def _oldest(last: int) -> int:
    """Return the number of the oldest span that counts where *last* is the last row."""
    return max(0, _span(last) - 1)


FORGETTING = "forgetting"  # the note whose value changes whenever rows are forgotten


class Facts:
    """What *store* says of runs and sites."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sites, self._then = Sites(store), Sites(store, 0)
        self._sites_of: object = None  # what tells when to read them anew
        self._rules: tuple[list[Note], frozenset[str]] = [], frozenset()

    def crawl(self, run: int) -> frozenset[int]:
        """Return the runs that are one crawl with *run*; of one that is still to begin, only it."""
        text = "SELECT r.id FROM runs o JOIN runs r USING (crawl) WHERE o.id = ? AND o.crawl != ''"
        return frozenset({run, *(other for (other,) in self._store.fetch(text, (run,)))})

    def harmless(self) -> frozenset[str]:
        """See `UrlRules.harmless`."""
        notes = self._store.select(Note, prefix=OF_RULES)
        if notes != self._rules[0]:
            self._rules = notes, UrlRules(self._store).harmless()
        return self._rules[1]

    def has_restored(self) -> bool:
        """Return whether somebody wants any page back that was dropped."""
        return bool(self._store.fetch(f"SELECT 1 FROM pages p WHERE {IS_WANTED_BACK} LIMIT 1"))

    def has_visited(self, runs: Collection[int]) -> bool:
        """Return whether one of *runs* has visited any host."""
        return bool(self._store.fetch(f"SELECT 1 FROM visits WHERE run IN {numbers(runs)} LIMIT 1"))

    def is_visited(self, scope: str, host: str, runs: Collection[int]) -> bool:
        """Return whether one of *runs* was on *host* (``www.`` or not), for all pages or *scope*."""
        where = f"scope IN (?, '') AND host IN (?, ?) AND run IN {numbers(runs)} LIMIT 1"
        given = scope, *with_or_without_www(host)
        return bool(self._store.fetch(f"SELECT 1 FROM visits WHERE {where}", given))

    def sites(self, before: int | None) -> Sites:
        """Return what is known of all sites, by the rows *before* one only until it is asked again."""
        state = self._store.select(Note, name=FORGETTING), self._store.undone
        if state != self._sites_of:  # what was read then may be forgotten, or was undone
            self._sites, self._then, self._sites_of = Sites(self._store), Sites(self._store, 0), state
        if before is None:
            return self._sites
        if before < self._then.before:  # of rows that ascend each is read once
            self._then = Sites(self._store, before)
        self._then.before = before
        return self._then

    def note_forgetting(self) -> None:
        """Note that rows were forgotten: what was on their pages is no longer known."""
        self._store.put(Note(FORGETTING, token_hex()))
