"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

Other processes make sightings; the index is asked about them batch by batch, and what is kept is
written as it was read.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple

from dedup.files.finding import FORMATS, Inputs, format_of
from dedup.files.formats import BadRecord, Feed, FeedError, Record, Write, is_compressed
from dedup.files.outputs import check_target, replacing
from dedup.index import Index, Run
from dedup.index.detector import Texts
from dedup.model.errors import DedupError
from dedup.model.fingerprint import Sighting
from dedup.model.urls import host_of
from dedup.prints.config import DedupConfig
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.fields import FieldRule, NoHtml
from dedup.reading.markup import Excess
from dedup.reading.noise import MarkedPlaces
from dedup.reading.page import Page, judged_part, pack, sighting_of

# A batch goes to one process as a whole, and is one transaction of the index.
BATCH_RECORDS = 64
# Smaller ones keep processes busy until the end, larger ones cost fewer messages and commits.
BATCH_BYTES = 512 * 1024
MOST_JOBS = 61  # Windows waits for no more processes at once; verdicts are made in one


class Sighted(NamedTuple):
    """A record that was read: its sighting, and its page as it is stored."""

    sighting: Sighting
    stored: bytes
    excess: Excess | None


# A page, or what is wrong with the record, or None where it holds nothing to judge.
# A record that is no page at all ends the work.
Result = Sighted | NoHtml | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What every process must know: records are of *spider*, *kind* and *run*, 0 for none."""

    rule: FieldRule = field(default_factory=FieldRule)
    config: DedupConfig = field(default_factory=DedupConfig)
    ignore: str = ""
    spider: str = ""
    kind: str = "item"
    run: int = 0


class Batch(NamedTuple):
    """Consecutive records of *feed*, which has that *number*, read at that *time*.

    *stores* says that the index may keep the texts of its pages.
    """

    number: int
    feed: Feed
    records: list[Record]
    time: float
    stores: bool


class Adding:
    """One pass of the *inputs* through *index*; what is kept is written to *output*, if there is one.

    *tell* is called with problems; why a file could not be read to its end is added to the troubles of
    the inputs.  *counts* are by verdict, with `seen`, `kept`, `dropped`, `dropped_for_earlier_run`,
    `bad` (records that cannot be read, kept) and `over_limit/...` as the stats of a crawl.  *share*
    (0 to 1) is how much has been read.
    """

    def __init__(
        self,
        index: Index,
        inputs: Inputs,
        settings: WorkerSettings,
        *,
        jobs: int = 1,
        output: Path | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._texts = Texts(index, settings.config)
        self._index, self._inputs, self._settings = index, inputs, settings
        self._jobs, self._output, self._tell = jobs, output, tell
        self.counts: Counter[str] = Counter()
        self.records = 0
        self.share = 0.0
        self.run: Run

    def work(self) -> Generator[None]:
        """Go through all records; yields after each batch, and must be closed.

        The output appears when it is complete; only then what it has counts in the index.  Raises
        `DedupError` if it cannot be written.
        """
        runs = self._index.runs
        self._index.prepare()
        run: Run | None = None
        try:
            with ExitStack() as opened:
                write: Write = bool  # writes nothing
                if output := self._output:
                    first = self._inputs.feeds[0]
                    part = opened.enter_context(replacing(output, is_folder=first.form == "html"))
                    sink = first.sink(part, compressed=is_compressed(output))
                    write = opened.enter_context(sink)
                self.run = run = runs.begin(self._settings.spider)
                if output:
                    runs.hold(run)
                self._settings = replace(self._settings, run=run.id)
                yield from self._work(write)
        except BaseException as error:
            is_stopped = isinstance(error, KeyboardInterrupt | GeneratorExit)
            if run:
                runs.end(run, "interrupted" if is_stopped else "failed")
            raise
        with self._index.batch():
            runs.let_go(run)
            runs.end(run, "finished")

    def _work(self, write: Write) -> Iterator[None]:
        with closing(sighted(self._batches(), self._jobs, self._settings)) as judged:
            for batch, results in judged:
                for record, is_read in self._settle(batch, results):
                    try:
                        write(record.source)
                    except FeedError as error:
                        if is_read:  # others were reported when they were judged
                            raise DedupError(f"{error}: {self._output} would lack it") from error
                self.share = (batch.number + batch.feed.share) / len(self._inputs.feeds)
                yield

    def _batches(self) -> Iterator[Batch]:
        for number, feed in enumerate(self._inputs.feeds):
            records: list[Record] = []
            size = 0
            try:
                for record in feed.records():
                    records.append(record)
                    size += record.size
                    if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
                        yield Batch(number, feed, records, time.time(), self._texts.are_kept())
                        records, size = [], 0
            except FeedError as error:
                self._inputs.troubles.append(str(error))
            yield Batch(number, feed, records, time.time(), self._texts.are_kept())

    def _settle(self, batch: Batch, results: Sequence[Result]) -> list[tuple[Record, bool]]:
        """Judge *batch* in one transaction; return the records to write, and whether each was read."""
        kept: list[tuple[Record, bool]] = []
        problems: list[str] = []  # told when the index is free for others again
        with self._index.batch():
            for record, result in zip(batch.records, results, strict=True):
                problem = record.problem or (result if isinstance(result, str) else "")
                if problem:
                    problems.append(f"{record.name}: {problem}")
                is_page = batch.feed.has_pages_only or result is not None
                is_judged = bool(problem) or (record.payload is not None and is_page)
                if record.source is not None and not (is_judged and self._is_copy(record, result)):
                    kept.append((record, not problem))
        self.counts["bad"] += len(problems)
        self.records += len(results)
        for problem in problems:
            self._tell(problem)
        return kept

    def _is_copy(self, record: Record, result: Result) -> bool:
        counts = self.counts
        counts["seen"] += 1
        if isinstance(result, NoHtml) and counts["seen"] == counts["not_judged"] + 1:
            # Nothing seen so far was a page; one record among pages is kept.
            names = ", ".join(result.record) or "none"
            raise DedupError(
                f"{record.name} is no page: {result} (its fields are {names}). Name the fields to "
                "judge it by, -s DEDUP_TEXT_FIELDS=title,text, and with "
                "-s DEDUP_KEY_FIELDS=... what tells records apart; nothing has been judged without"
            )
        if not isinstance(result, Sighted):
            counts.update(("kept", "not_judged"))
            return False
        if result.excess:
            counts[f"over_limit/{result.excess}"] += 1
        page = self._texts.kept(lambda: result.stored)
        verdict = self._index.ledger.find_or_add(result.sighting, self._settings.config, page=page)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        counts["beside"] += verdict.nearest is not None
        if not verdict.kept:
            counts["dropped_for_earlier_run"] += verdict.canonical_run != self._settings.run
        return not verdict.kept


def check_output(output: Path, inputs: Inputs) -> None:
    """Raise `DedupError` if the records of *inputs* cannot all be written to *output*.

    They must be of one format and have the same header or schema.  *output* must be of this format by
    its name, and must not be one of the input files.
    """
    feeds = inputs.feeds
    forms = sorted({feed.form for feed in feeds})
    if len(forms) != 1:
        raise DedupError(
            f"--output takes one format, and the input has {', '.join(forms) or 'no file of any'}"
        )
    (form,), (first, *others) = forms, feeds
    check_target(output, [*inputs.paths, *(feed.path for feed in feeds)], is_folder=form == "html")
    alike, is_folder = first.likeness(), form == "html"
    is_never_packed = is_compressed(output) and not FORMATS[form].may_be_compressed
    if format_of(output) not in ("", "" if is_folder else form) or is_never_packed:
        wanted = "a folder, as the input is html" if is_folder else f"of the input's format, {form}"
        raise DedupError(f"{output} must be {wanted}")
    if is_folder:
        return
    for other in others:
        if other.likeness() != alike:
            raise DedupError(
                f"{first.name} and {other.name} differ in their columns, so they cannot be written "
                "to one file; add them one by one"
            )


# Sightings, made in one process or several


def results_of(
    settings: WorkerSettings, feed: type[Feed], payloads: list[Any], time: float, stores: bool
) -> list[Result]:
    """Return what is in each payload of a *feed* of that kind, which was read at that *time*.

    With *stores* the pages are given as they are stored, too.
    """
    config = settings.config
    marked = MarkedPlaces(config.exceptions)

    def result(payload: Any) -> Result:
        try:
            raw = feed.raw_page(payload, settings.rule)
            if raw is None:
                return None
            host = host_of(raw.url) if raw.seen_on is None else raw.seen_on
            page = Page.of_raw(raw, with_places=stores or host in marked)
            page = judged_part(page, settings.ignore, lambda: raw.markup).of_record(raw)
            page = marked.obeyed(page)
            sighting = sighting_of(
                page,
                fingerprint(page, config),
                kind=settings.kind,
                scope=config.scope,
                spider=settings.spider,
                run=settings.run,
                time=time,
            )
            return Sighted(sighting, pack(page) if stores else b"", page.excess)
        except NoHtml as error:
            return error
        except BadRecord as error:
            return str(error)
        except Exception as error:  # no page may stop the others
            return f"cannot be judged: {type(error).__name__}: {error}"

    return [None if payload is None else result(payload) for payload in payloads]


def sighted(
    batches: Iterable[Batch], jobs: int, settings: WorkerSettings
) -> Generator[tuple[Batch, list[Result]], None, None]:
    """Yield each batch with the results of its records, in their order; it must be closed.

    The results come from *jobs* processes, those of the first batch and with one job from this one.
    Other processes end when the caller ends, in whatever way.  A bounded number of batches is read
    ahead.  Raises `DedupError` if a process was killed.
    """
    pool: ProcessPoolExecutor | None = None
    waiting: deque[tuple[Batch, Future[list[Result]]]] = deque()
    try:
        for number, batch in enumerate(batches):
            payloads = [record.payload for record in batch.records]
            task = settings, type(batch.feed), payloads, batch.time, batch.stores
            if number == 0 or jobs == 1:  # what it loads is shared after a fork
                yield batch, results_of(*task)
                continue
            pool = pool or ProcessPoolExecutor(jobs, _context(), _begin_work)
            waiting.append((batch, _submitted(pool, *task)))
            # One batch for each process, one waiting for it, and one that the index is asked about.
            if len(waiting) > 2 * jobs:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()
    except BrokenProcessPool as error:
        raise DedupError(
            "a process that makes fingerprints was killed, perhaps because memory ran out; "
            "try fewer --jobs"
        ) from error
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _begin_work() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the calling process
    gc.freeze()  # else the first collection would copy the memory that is shared after a fork
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _submitted(pool: ProcessPoolExecutor, *task: Any) -> Future[list[Result]]:
    """Submit a task, and let Ctrl-C wait: it may start a process, which would end in a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has none
        return pool.submit(results_of, *task)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(results_of, *task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> Any:
    """Return how processes are made: by a fork, which is fast, where no other thread could hold a lock.

    Arrow, which reads Parquet, has such threads.
    """
    is_alone = threading.active_count() == 1 and "pyarrow" not in sys.modules
    can_fork = sys.platform == "linux" and is_alone
    return multiprocessing.get_context("fork" if can_fork else "spawn")
