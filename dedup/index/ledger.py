"""The rules of an index: ask about a page, record it, settle what became of it, take it back; runs."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from dedup.index.known import Facts, Known
from dedup.index.notes import ANSWERS, MOST, UrlRules, answers, last_seen, read_notes
from dedup.index.rows import AMONG, IS_PENDING, IS_THERE, LONE, OF_URL, Note, apart, numbers, of_dry_runs
from dedup.index.store import Store
from dedup.model.errors import IndexUnavailable
from dedup.model.fingerprint import PageToRecord, Sighting
from dedup.model.marks import DIFFERENT, Exceptions
from dedup.model.urls import bounded_url, url_key, valid
from dedup.model.verdict import Outcome, Reason, Row, Run, Verdict, Visit
from dedup.prints.fingerprinter import DedupConfig, with_variant
from dedup.reading.noise import MarkedPlaces
from dedup.reading.page import UnreadablePage, unpack
from dedup.rule.decide import decide

logger = logging.getLogger(__name__)

# What tells pages apart, as the last run had it; so many rows are read again in one transaction.
_APART, _TOGETHER = "marks.apart", 200
_TRIES = 2  # so often somebody asks without a lock before others have to wait
_DROPPED = f"NOT p.kept AND p.outcome = 'confirmed' AND {of_dry_runs(())}"  # and its page stands
_ANYWHERE = DedupConfig(scope="global")  # where it does not matter by which rules a page is judged
# The open rows of a run: few rows are open.
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
        self, asked: Sequence[PageToRecord], config: DedupConfig, *, confirmed: bool = False
    ) -> list[Verdict]:
        """Judge and record the first of *asked*, on a server as many as one claim can record.

        Two callers never both hear `new`.  Pages of different kinds and scopes are never compared, nor
        are items with different keys.  Rows are confirmed at once, or else pending until `confirm` or
        `release`.
        """
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
            if self._store.set_outcome(Outcome.CONFIRMED, which, str([*rows]), was=was) == len(rows):
                return
        with self._store.transaction(writing=True):
            found = self._store.rows_of(rows)
            for row in found:
                if row.outcome is Outcome.PENDING:
                    self._set_outcome(row, Outcome.CONFIRMED)
                    self._complete(row)
        for number in set(rows).difference(row.id for row in found):
            self._store.row(number)

    def release(self, *rows: int) -> int:
        """Record that the pages of *rows* were lost after all, as if never seen; return how many."""
        is_any, count = False, 0
        with self._store.transaction(writing=True):
            which = f"p.id {AMONG} AND p.kept AND {IS_THERE}"
            for row in self._store.rows(which, str([*rows])):
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

    def _set_outcome(self, row: Row, outcome: Outcome) -> None:
        self._store.set_outcome(outcome, "p.id = ?", row.id)

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
                self._set_outcome(answered, Outcome.FORGOTTEN if is_same else Outcome.CONFIRMED)

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
                self._set_outcome(row, outcome)

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
        which, values = _of(url, run) or (f"p.id {AMONG}", (str([*rows]),))
        with self._store.transaction(writing=True):
            found = self._store.rows(f"{which} AND NOT p.kept", *values)
            dropped = [row for row in found if row.outcome.counts]
            for row in dropped:
                self._set_outcome(row, Outcome.RESTORED)
            return dropped

    def _withdraw(self, row: Row, outcome: Outcome) -> None:
        self._set_outcome(row, outcome)
        if row.listed:
            self._store.set_listed(row, listed=False)
        for canonical, of_runs in self._copies_of(row):
            where = f"p.canonical = ? AND {_DROPPED}{of_runs}"
            self._store.set_outcome(Outcome.ORPHANED, where, canonical, was=Outcome.CONFIRMED)

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


class Runs:
    """The runs of one *store*; every method is one transaction."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store, self._ledger = store, ledger

    def all(self) -> list[Run]:
        """Return all runs, the oldest first."""
        return self._store.select(Run)

    def begin(self, spider: str = "", *, job: str = "", action: str = "drop", crawl: str = "") -> Run:
        """Return a new run, or the unfinished one of the same *job* and spider, which goes on."""
        spider, job, crawl = map(valid, (spider, job, crawl))
        with self._store.transaction(writing=True):
            runs = self.all()
            number = 1 + max((one.id for one in runs), default=0)
            began = 1 + max((one.began for one in runs), default=0)
            run = _resumable(runs, spider, job) or Run(number, spider, job, time.time())
            run = replace(run, ended=None, ending="", action=action, crawl=crawl, began=began)
            self._store.put(run)
            self._store.leases.take(run.id)
        _say_beside(run, [other for other in runs if other.id != run.id])
        return run

    def end(self, run: Run, ending: str) -> None:
        """Record that *run* is over; its pending rows are released."""
        with self._store.transaction(writing=True):
            (now,) = self._store.select(Run, id=run.id)
            # Else others have ended it, as they had not heard of its process, or even gone on with it.
            if now.ended is None and now.began == run.began:
                self._end(run.id, ending)
        self._store.leases.release(run.id)

    def _end(self, number: int, ending: str) -> None:
        self._take_back_unstored(number)
        name = _unaudited(number)
        self._ledger.restore(_read(self._store.select(Note, prefix=name)))
        self._store.delete(Note, prefix=name)
        self._ledger.close_run(number)
        (run,) = self._store.select(Run, id=number)
        self._store.put(replace(run, ended=time.time(), ending=ending))

    def end_dead_runs(self) -> None:
        """End the runs whose process is gone: nobody holds them any more."""
        for run in filter(self._is_dead, [run.id for run in self.all() if run.ended is None]):
            with self._store.transaction(writing=True):
                if self._is_dead(run):  # or somebody else has gone on with it meanwhile
                    self._end(run, "died")

    def _is_dead(self, number: int) -> bool:
        (run,) = self._store.select(Run, id=number)
        return run.ended is None and not self._store.leases.is_held(number)

    def forget(self, run: int) -> int:
        """Undo *run*: forget its rows, its visits and what it says of rules; return how many rows."""
        with self._store.transaction(writing=True):
            UrlRules(self._store).forget_run(run)
            self._store.delete(Visit, run=run)
            return self._ledger.forget(run=run)

    # Feeds that are stored when they are closed

    def hold(self, run: Run) -> None:
        """Record that what *run* keeps from now on is lost, but for `note_stored`, until `let_go`."""
        self._store.put(Note(f"{_unstored(run.id)}{0:012}", _written([self._store.last()])))

    def note_stored(self, run: Run, number: int, rows: Iterable[int]) -> None:
        """Record that the pages of *rows* are stored; *number*, from 1, tells apart what is noted."""
        self._store.put(Note(f"{_unstored(run.id)}{number:012}", _written(rows)), beside=True)

    def let_go(self, run: Run) -> None:
        """Record that the fate of all files of *run* is known."""
        self._store.delete(Note, prefix=_unstored(run.id))

    def lost(self, run: int) -> int:
        """Return how many pages of *run* were in files that were not stored when its process died."""
        return sum(_read(self._store.select(Note, name=_lost(run))))

    def _take_back_unstored(self, run: int) -> None:
        notes = self._store.select(Note, prefix=_unstored(run))
        if not notes:
            return
        stored, after = _read(notes[1:]), sum(_read(notes[:1]))
        kept = "p.run = ? AND p.id > ? AND p.kept AND p.outcome = 'confirmed'"
        rows = [row.id for row in self._store.rows(kept, run, after)]
        lost = self._ledger.release(*(row for row in rows if row not in stored))
        self._store.delete(Note, prefix=_unstored(run))
        if lost:
            self._store.put(Note(_lost(run), _written([self.lost(run) + lost])))
            logger.warning(
                "Run %d ended before its feeds were stored: %d pages that it had kept are lost with "
                "them, and the next crawl delivers them; one that goes on with its JOBDIR does not ask "
                "for them",
                *(run, lost),
            )

    def note_unaudited(self, run: Run, scope: str, rows: Iterable[int]) -> None:
        """Record that *rows* of *run*, in place of those of *scope*, are restored unless audited."""
        self._store.put(Note(f"{_unaudited(run.id)}{scope}", _written(rows)), beside=True)

    def visit(self, run: Run, scope: str, host: str) -> None:
        """Record that *run* is on *host*: what it keeps of that host is complete on its own."""
        self._store.put(Visit(scope, host, run.id, self._store.last()), renew=False, beside=True)

    def note_gone(self, run: Run, url: str, status: int) -> list[int]:
        """Record that *run* was answered *status*, one of `GONE`, at *url*; return what was kept there.

        Only the first such answer since a crawl of the same spider saw the page is recorded.
        """
        store, key = self._store, url_key(url)
        last = last_seen(store, key, run.spider)
        if last is None or last.sighting.run in self._ledger.facts.crawl(run.id):
            return []
        with store.transaction(writing=True, beside=True):
            found = answers(store, key).get(key, {})
            if not any(before > last.sighting.run for before in found.keys() - {run.id}):
                store.put(Note(ANSWERS + key, json.dumps([*found.items(), (run.id, status)])))
        return [row.id for row in store.rows(f"{OF_URL} AND p.listed", key, limit=MOST)]

    def withhold(self, run: Run, links: Iterable[str]) -> None:
        """Record *links*, canonical URLs, that *run* did not request, as they stood on a copy."""
        notes = [Note(_withheld(run.id) + bounded_url(url), "") for url in links]
        self._store.put(*notes, beside=True)

    def never_met(self, run: int | None = None) -> list[str]:
        """Return the links that were withheld, by *run* or by all, and that no run has met since."""
        notes = self._store.select(Note, prefix=WITHHELD if run is None else _withheld(run))
        met = f"{OF_URL} AND p.run >= CAST(? AS INTEGER)"
        links = [note.name.removeprefix(WITHHELD).partition(".") for note in notes]
        return [url for of, _, url in links if not any(self._store.rows(met, url, of, limit=1))]


WITHHELD = "withheld."
_withheld = f"{WITHHELD}{{:012}}.".format
_unstored, _unaudited, _lost = "unstored.{}.".format, "unaudited.{}.".format, "lost.{}".format


def _written(rows: Iterable[int]) -> str:
    return json.dumps(sorted(rows), separators=(",", ":"))


def _read(notes: Iterable[Note]) -> set[int]:
    """Return the numbers that `_written` has written into *notes*; one that is damaged has none."""
    found = read_notes(notes, lambda numbers: [*map(int, numbers)])
    return {one for _, numbers in found for one in numbers if one < 1 << 63}  # or SQLite takes none


def _say_beside(run: Run, others: list[Run]) -> None:
    """Log what other runs mean for *run*: those beside it, and those of its crawl that have ended."""
    named = [other for other in others if run.crawl and other.crawl == run.crawl]
    living = [other for other in others if other.ended is None]
    if apart := [other.id for other in living if other.spider == run.spider and other not in named]:
        logger.warning(
            "Run %d of this spider is under way: it is another crawl, and what both meet is kept twice; "
            "workers of one crawl have one DEDUP_CRAWL",
            apart[-1],
        )
    has_ended = any(other.ending == "finished" for other in named)
    if has_ended and all(other.ended is not None for other in named):
        logger.warning(
            "DEDUP_CRAWL (%r) names a crawl that has ended: what its runs have kept is not kept again; "
            "each crawl needs a name of its own",
            run.crawl,
        )


def _resumable(runs: list[Run], spider: str, job: str) -> Run | None:
    """Return the last run of *spider* and *job* that has ended and was not finished, if one has."""
    own = [run for run in runs if job and (run.job, run.spider) == (job, spider) and not run.is_imported]
    over = [run for run in own if run.ended is not None and run.ending != "finished"]
    return over[-1] if over else None
