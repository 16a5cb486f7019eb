"""The rules of an index: ask about a page, record it, settle what became of it, take it back."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

from dedup.index.facts import Facts
from dedup.index.known import Known, PageToRecord
from dedup.index.notes import read_notes
from dedup.index.rows import AMONG, IS_PENDING, IS_THERE, LONE, OF_URL, Note, apart, numbers, of_dry_runs
from dedup.index.store import Store
from dedup.model.errors import IndexUnavailable
from dedup.model.fingerprint import Sighting
from dedup.model.marks import DIFFERENT, Exceptions
from dedup.model.urls import url_key
from dedup.model.verdict import Outcome, Reason, Row, Verdict
from dedup.prints.fingerprinter import DedupConfig, with_variant
from dedup.reading.noise import MarkedPlaces
from dedup.reading.page import UnreadablePage, unpack
from dedup.rule.decide import decide

# What tells pages apart, as the last run had it; so many rows are read again in one transaction.
_APART, _TOGETHER = "marks.apart", 200
_TRIES = 2  # so often somebody asks without a lock before others have to wait
_DROPPED = f"NOT p.kept AND p.outcome = 'confirmed' AND {of_dry_runs(())}"  # and its page stands
_ANYWHERE = DedupConfig(scope="global")  # where it does not matter by which rules a page is judged
# The open rows of a run, of which few rows are open, and all its rows.
PENDING_OF_RUN = f"{IS_PENDING} AND +p.run = ?"
_UNSEEN = (
    "p.time < ? AND NOT EXISTS (SELECT 1 FROM pages r WHERE r.canonical = p.id AND r.time >= ? "
    "AND r.outcome != 'forgotten')"
)

_Judged = tuple[Verdict, Row | None, bytes]  # with the row to add, unless it waits, and the page


class Ledger:
    """What was decided about the pages of one *store*; every method is one transaction.

    A row is listed if its page was kept and repeats nothing: copies are compared with such rows only.
    """

    def __init__(self, store: Store) -> None:
        self._store, self.facts = store, Facts(store)
        self.doubts: list[Sighting] = []  # asked to be added: until there is an answer nobody knows

    # Asking

    def judge(self, sighting: Sighting, config: DedupConfig) -> Verdict:
        """Return the verdict on *sighting* and record nothing."""
        with self._store.transaction(writing=False):
            return self._verdict(PageToRecord(sighting.bounded()), config)[0]

    def _settle_doubts(self) -> None:
        """Take back what was added though the answer was lost: whoever asks again was not told of it."""
        while self.doubts:
            seen = self.doubts.pop()
            which = OF_URL if seen.url_key else "p.body_digest = ?"
            added = f"{which} AND p.run = ? AND p.time = ?"
            of_it = seen.url_key or seen.fingerprint.body_digest
            try:  # what cannot be asked for cannot have been written
                with suppress(ValueError), self._store.transaction(writing=True):
                    found = self._store.rows(added, of_it, seen.run, seen.time)
                    self.release(*(row.id for row in found))
            except IndexUnavailable:
                self.doubts.append(seen)
                raise

    def find_or_add(
        self, sighting: Sighting, config: DedupConfig, *, confirmed: bool = True, **how: Any
    ) -> Verdict:
        """Judge *sighting*, *how* the fields of `PageToRecord` say, and record it, in one transaction.

        Two callers never both hear `new`.  Pages of different kinds and scopes are never compared, nor
        are items with different keys.  The row is confirmed at once, or else pending until `confirm` or
        `release`.
        """
        return self.find_or_add_first([PageToRecord(sighting, **how)], config, confirmed=confirmed)[0]

    def find_or_add_first(
        self, asked: Sequence[PageToRecord], config: DedupConfig, *, confirmed: bool = False
    ) -> list[Verdict]:
        """Call `find_or_add` for the first of *asked*, on a server as many as one claim can record."""
        self._settle_doubts()
        asked = [one._replace(sighting=one.sighting.bounded()) for one in asked]
        store, judge = self._store, partial(self._judged, config=config, confirmed=confirmed)
        for _ in range(_TRIES if store.is_shared else 0):
            with store.transaction(writing=False):
                seen = store.position()
                judged = judge(asked[: apart([one.sighting for one in asked])])
            if not judged:
                break
            if found := self._claimed(judged, seen):
                return found
        first = asked[0]
        self.doubts.append(first.sighting)
        with store.transaction(writing=True):
            verdict, _ = self._verdict(first, config)
            if not _waits(verdict, first.wait_for):
                row = store.add(_row(first.sighting, verdict, confirmed=confirmed), first.page)
                if confirmed:
                    self._complete(row)
                verdict = replace(verdict, row=row.id)
        self.doubts.clear()
        return [verdict]

    def _claimed(self, judged: Sequence[_Judged], seen: Hashable) -> list[Verdict]:
        """Return the first of the verdicts *judged*, as many as the rows of which could be added."""
        rows = [row for _, row, _ in judged if row]
        pages = [page for _, row, page in judged if row]
        self.doubts += (row.sighting for row in rows)
        added = self._store.claim(rows, seen, pages) if rows else []
        self.doubts.clear()
        found, claimed = [], iter(added)
        for verdict, row, _ in judged:
            number = next(claimed, None) if row else None
            if row and number is None:
                break
            found.append(replace(verdict, row=number))
        return found

    def _judged(
        self, asked: Sequence[PageToRecord], config: DedupConfig, *, confirmed: bool
    ) -> list[_Judged]:
        """Return the verdicts on the first of *asked* that can be claimed, with the rows to add.

        The next one is left for later if what is recorded of these may change what is known of its site.
        """
        judged: list[_Judged] = []
        hosts: set[str] = set()
        for one in asked:
            key, said = one.sighting.url_key, config.exceptions
            others = {*said.originals(key), *said.strangers(key)}
            if any(row and row.sighting.url_key in others for _, row, _ in judged):
                break
            try:
                verdict, known = self._verdict(one, config)
            except Exception:
                if judged:  # that is of this page, which comes first the next time
                    break
                raise
            if known.asks_site and one.sighting.host in hosts:
                break
            if _waits(verdict, one.wait_for):
                judged.append((verdict, None, b""))
                continue
            row = _row(one.sighting, verdict, confirmed=confirmed)
            is_settled = row.outcome is not Outcome.PENDING
            changes_others = is_settled and (verdict.replaces or self.facts.has_restored())
            if verdict.represents or changes_others:  # to record it means more than to add one row
                break
            judged.append((verdict, row, one.page))
            if is_settled:  # of others nothing is known until they are confirmed
                hosts.add(one.sighting.host)
        return judged

    def add_copy(self, row: Row, config: DedupConfig) -> Verdict:
        """Judge the page of *row*, which another index took for a copy, and record it.

        Its item is nowhere, so it becomes nobody's canonical: where it repeats nothing here, it is
        recorded with the verdict of *row*, as an orphan.  One that somebody wants back stays so.
        """
        self._settle_doubts()
        with self._store.transaction(writing=True):
            verdict, outcome = self._verdict(PageToRecord(row.sighting), config)[0], Outcome.CONFIRMED
            if verdict.is_canonical:
                verdict, outcome = row.verdict, Outcome.ORPHANED
            if row.outcome is Outcome.RESTORED:
                outcome = row.outcome
            dropped = replace(row, verdict=replace(verdict, kept=False), outcome=outcome, listed=False)
            added = self._store.add(dropped)
            return replace(added.verdict, row=added.id)

    def known(self, sighting: Sighting, config: DedupConfig = _ANYWHERE) -> Known:
        """Return what is known about the page of *sighting*."""
        return Known(self._store, self.facts, PageToRecord(sighting), config)

    def _verdict(self, asked: PageToRecord, config: DedupConfig) -> tuple[Verdict, Known]:
        known = Known(self._store, self.facts, asked, config)
        return decide(asked.sighting.fingerprint, known, config), known

    # Settling

    def confirm(self, *rows: int) -> None:
        """Record that pending *rows* were kept to the end; raises `NoSuchRow` after all others are."""
        with self._store.transaction(writing=True, beside=True):
            which, was = f"p.id {AMONG} AND {LONE}", Outcome.PENDING  # nearly all
            if self._store.settle(Outcome.CONFIRMED, which, json.dumps(rows), was=was) == len(rows):
                return
        with self._store.transaction(writing=True):
            found = self._store.rows_of(rows)
            for row in found:
                if row.outcome is Outcome.PENDING:
                    self._settle(row, Outcome.CONFIRMED)
                    self._complete(row)
        for number in set(rows).difference(row.id for row in found):
            self._store.row(number)

    def release(self, *rows: int) -> int:
        """Record that the pages of *rows* were lost after all, as if never seen; return how many."""
        is_any, count = False, 0
        with self._store.transaction(writing=True):
            which = f"p.id {AMONG} AND p.kept AND {IS_THERE}"
            for row in self._store.rows(which, json.dumps(rows)):
                count += 1
                self._withdraw(row, Outcome.RELEASED)
                if row.outcome is Outcome.CONFIRMED:
                    is_any = True
                    self._reinstate(row)
            if is_any:
                self.facts.note_forgetting()
        return count

    def close_run(self, run: int) -> None:
        """Settle what is open when *run* ends: what is pending, and what was to be met later."""
        with self._store.transaction(writing=True):
            for row in self._store.rows(PENDING_OF_RUN, run):
                self._withdraw(row, Outcome.RELEASED)
            self._miss(run)

    def _settle(self, row: Row, outcome: Outcome) -> None:
        self._store.settle(outcome, "p.id = ?", row.id)

    def _complete(self, row: Row) -> None:
        """Do what follows from the confirmation of *row*, unless it is of a dry run."""
        if row.sighting.is_dry:
            return
        if row.verdict.replaces is not None:  # an own version, unless this crawl met it again
            old, known = self._store.row(row.verdict.replaces), self.known(row.sighting)
            is_of_it = old.sighting.run in known.crawl
            if old.listed and (is_of_it or not known.met(old.id, known.crawl)):
                self._store.set_listed(old, listed=False)
        has_restored = row.verdict.kept and self.facts.has_restored()
        if has_restored and (wanted := self.known(row.sighting).restored()):
            # What it brings back of that; an earlier crawl has dropped it all the same.
            crawl, page = self.facts.crawl(row.sighting.run), row.sighting.fingerprint
            shown = [one for one in wanted if one.as_version(one).shows(page)]
            first = wanted[:1] if row.verdict.reason is not Reason.UNCHANGED else []
            for answered in shown or first:
                is_same = answered.sighting.run in crawl
                self._settle(answered, Outcome.FORGOTTEN if is_same else Outcome.CONFIRMED)

    def _miss(self, run: int) -> None:
        """Make orphans of what *run* dropped for pages that its crawl was to meet later, and did not.

        So with runs of its crawl that ended before: they could not know which hosts this one visits.
        """
        crawl = self.facts.crawl(run)
        ended = f"id = ? OR (ended NOT NULL AND id IN {numbers(crawl)}) ORDER BY id"
        # The copies of a page of a host which the crawl had not visited.
        elsewhere = "p.run = ? AND p.is_elsewhere AND p.outcome IN ('confirmed', 'orphaned')"
        elsewhere += f" AND {of_dry_runs(())}"
        runs = self._store.fetch(f"SELECT id FROM runs WHERE {ended}", (run,))
        for row in chain.from_iterable(self._store.rows(elsewhere, *one) for one in runs):
            canonical = self._store.row(row.verdict.canonical or 0)
            if not self.facts.is_visited(row.sighting.scope, canonical.sighting.host, crawl):
                continue
            standing = self.known(row.sighting).standing(canonical.as_canonical())
            stands = standing is not None and standing.is_kept and canonical.listed
            outcome = Outcome.CONFIRMED if stands else Outcome.ORPHANED
            if outcome is not row.outcome:
                self._settle(row, outcome)

    def obey(self, exceptions: Exceptions) -> None:
        """Give listed rows with a stored page what tells it apart by *exceptions*, if these are new.

        What was read by other marks, or before all of them, would differ from each copy of it.
        """
        store = self._store
        told = [[site, place] for site, place, says in exceptions.places if says == DIFFERENT]
        before = next((told for _, told in read_notes(store.select(Note, name=_APART), list)), [])
        marked, of_site = MarkedPlaces(exceptions), "p.listed AND (instr(p.url, ?) OR p.seen_on = ?)"
        for site in sorted({str(site) for site, *_ in (*told, *before)} if told != before else ()):
            rows = (row for row in store.rows(of_site, site, site) if row.sighting.host == site)
            while some := {row.id: row.sighting for row in islice(rows, _TOGETHER)}:
                with store.transaction(writing=True):
                    for row, page in store.pages([*some]).items():
                        self._read_again(row, some[row], page, marked)
        if told != before:
            with store.transaction(writing=True):
                store.put(Note(_APART, json.dumps(told)))

    def _read_again(self, row: int, seen: Sighting, stored: bytes, marked: MarkedPlaces) -> None:
        with suppress(UnreadablePage):
            page = replace(unpack(stored, url=seen.url), seen_on=seen.seen_on)
            traits = with_variant(seen.fingerprint.traits, marked.obeyed(page).variant)
            if traits != seen.fingerprint.traits:
                self._store.reprint(row, replace(seen.fingerprint, traits=traits))

    # Taking back

    def forget(self, *, url: str | None = None, run: int | None = None, unseen_since: float = 0) -> int:
        """Mark rows as forgotten, remove their stored pages, and let stand again what they replaced.

        They are those of *url* in canonical form, those of *run* but what somebody wants back, or those
        before *unseen_since* (seconds since 1970) that no later page repeats.  Returns how many.
        """
        which, values = _of(url, run) or (_UNSEEN, (unseen_since, unseen_since))
        wanted = "" if run is None else f" AND p.outcome != '{Outcome.RESTORED}'"
        forgotten: list[int] = []
        with self._store.transaction(writing=True):
            for row in self._store.rows(f"{which} AND p.outcome != 'forgotten'{wanted}", *values):
                self._withdraw(row, Outcome.FORGOTTEN)
                self._reinstate(row)
                forgotten.append(row.id)
            self._store.remove_pages(forgotten)
            self.facts.note_forgetting()
        return len(forgotten)

    def restore(
        self, rows: Iterable[int] = (), *, url: str | None = None, run: int | None = None
    ) -> list[Row]:
        """Let the next crawl that meets them, even this one, keep what was dropped; return the rows.

        Those are all of *url* in canonical form, of *run*, or *rows*, in their order.
        """
        which, values = _of(url, run) or (f"p.id {AMONG}", (json.dumps([*rows]),))
        with self._store.transaction(writing=True):
            found = self._store.rows(f"{which} AND NOT p.kept", *values)
            dropped = [row for row in found if row.outcome.counts]
            for row in dropped:
                self._settle(row, Outcome.RESTORED)
            return dropped

    def _withdraw(self, row: Row, outcome: Outcome) -> None:
        self._settle(row, outcome)
        if row.listed:
            self._store.set_listed(row, listed=False)
        for canonical, of_runs in self._copies_of(row):
            where = f"p.canonical = ? AND {_DROPPED}{of_runs}"
            self._store.settle(Outcome.ORPHANED, where, canonical, was=Outcome.CONFIRMED)

    def _copies_of(self, row: Row) -> Iterator[tuple[int, str]]:
        """Yield for which row those were dropped that *row* stands for, and a condition on their run."""
        if not row.is_met_again:
            yield row.id, ""
            return
        assert row.verdict.canonical is not None
        known, canonical = self.known(row.sighting), self._store.row(row.verdict.canonical)
        if canonical.sighting.run not in known.crawl and not known.met(canonical.id, known.crawl):
            yield canonical.id, f" AND +p.run IN {numbers(known.crawl)}"

    def _reinstate(self, row: Row) -> None:
        if row.verdict.replaces is None:
            return
        old = self._store.row(row.verdict.replaces)
        if old.outcome is Outcome.CONFIRMED and not old.listed:
            self._store.set_listed(old, listed=True)


def _of(url: str | None, run: int | None) -> tuple[str, tuple[str | int, ...]] | None:
    """Return the condition on rows of *url* or *run*, and what it takes; None for neither."""
    if url is not None:
        return OF_URL, (url_key(url),)
    return None if run is None else ("p.run = ?", (run,))


def _row(sighting: Sighting, verdict: Verdict, *, confirmed: bool) -> Row:
    outcome = Outcome.CONFIRMED if confirmed or not verdict.kept else Outcome.PENDING
    return Row(0, sighting, verdict, outcome, verdict.is_canonical)


def _waits(verdict: Verdict, runs: Collection[int]) -> bool:
    """Whether what *verdict* repeats is a row of one of *runs* that may still be lost."""
    standing = verdict.standing
    return standing is not None and standing.is_pending and standing.run in runs
