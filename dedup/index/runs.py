"""Runs: how they begin, go on and end, and what they leave beside their rows."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from dataclasses import replace

from dedup.index.ledger import Ledger
from dedup.index.notes import ANSWERS, MOST, UrlRules, answers, last_seen, read_notes
from dedup.index.rows import OF_URL, Note
from dedup.index.store import Store
from dedup.model.urls import bounded_url, url_key, valid
from dedup.model.verdict import Run, Visit

logger = logging.getLogger(__name__)


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
        with self._store.transaction(writing=True):
            self._store.put(Note(f"{_unstored(run.id)}{0:012}", _written([self._store.last()])))

    def note_stored(self, run: Run, number: int, rows: Iterable[int]) -> None:
        """Record that the pages of *rows* are stored; *number*, from 1, tells apart what is noted."""
        with self._store.transaction(writing=True, beside=True):
            self._store.put(Note(f"{_unstored(run.id)}{number:012}", _written(rows)))

    def let_go(self, run: Run) -> None:
        """Record that the fate of all files of *run* is known."""
        with self._store.transaction(writing=True):
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
        with self._store.transaction(writing=True, beside=True):
            self._store.put(Note(f"{_unaudited(run.id)}{scope}", _written(rows)))

    def visit(self, run: Run, scope: str, host: str) -> None:
        """Record that *run* is on *host*: what it keeps of that host is complete on its own."""
        with self._store.transaction(writing=True, beside=True):
            self._store.put(Visit(scope, host, run.id, self._store.last()), renew=False)

    def note_gone(self, run: Run, url: str, status: int) -> list[int]:
        """Record that *run* was answered *status*, one of `GONE`, at *url*; return what was kept there.

        Only the first such answer since a crawl of the same spider saw the page is recorded.
        """
        store, key = self._store, url_key(url)
        last = last_seen(store, key, run.spider)
        if last is None or last.sighting.run in self._ledger.facts.crawl(run.id):
            return []
        with store.transaction(writing=True, beside=True):
            found = answers(store, key)
            if not any(before > last.sighting.run for before in found.keys() - {run.id}):
                store.put(Note(ANSWERS + key, json.dumps([*found.items(), (run.id, status)])))
        return [row.id for row in store.rows(f"{OF_URL} AND p.listed", key, limit=MOST)]

    def withhold(self, run: Run, links: Iterable[str]) -> None:
        """Record *links*, canonical URLs, that *run* did not request, as they stood on a copy."""
        notes = [Note(_withheld(run.id) + bounded_url(url), "") for url in links]
        with self._store.transaction(writing=True, beside=True):
            self._store.put(*notes)

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
