"""Sightings of records, made in one process or several."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any

from dedup.files.formats import BadRecord, Feed, Record
from dedup.model.errors import DedupError
from dedup.model.fingerprint import Sighting
from dedup.model.limits import Excess
from dedup.model.urls import host_of
from dedup.prints.config import DedupConfig
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.fields import FieldRule, NoHtml
from dedup.reading.marked import MarkedPlaces
from dedup.reading.page import Page, pack, sighting_of

# A batch goes to one process as a whole, and is one transaction of the index.
BATCH_RECORDS = 64
# Smaller ones keep processes busy until the end, larger ones cost fewer messages and commits.
BATCH_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Sighted:
    """A record that was read: its sighting, and its page as it is stored."""

    sighting: Sighting
    stored: bytes = b""
    excess: Excess | None = None


# A page, or what is wrong with the record, or None where it holds nothing to judge.
# A record that is no page at all ends the work.
Result = Sighted | NoHtml | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What every process must know: records are of *spider*, *kind* and *run*, 0 for none."""

    rule: FieldRule = field(default_factory=FieldRule)
    config: DedupConfig = field(default_factory=DedupConfig)
    spider: str = ""
    kind: str = "item"
    run: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of *feed*, which has that *number* among the feeds, read at that *time*.

    *stores* says that the index may keep the texts of pages, *trouble* why the feed cannot be read
    further, if it cannot.
    """

    number: int
    feed: Feed
    records: list[Record]
    time: float
    stores: bool = False
    trouble: str = ""


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
            page = Page.of_raw(raw, with_places=stores or host in marked).of_record(raw)
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
        except Exception as error:  # a user's own function may raise anything; the others go on
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


# In the processes


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
