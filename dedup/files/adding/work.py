"""Sightings of records, made in one process or several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import connection
from typing import Any, Self

from dedup.files.feeds import BadRecord, Feed, Record
from dedup.reading.fields import FieldRule, NoHtml, RawPage
from dedup.reading.page import Page
from dedup.reading.sighting import sighting_of
from dedup.reading.stored import pack
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import Fingerprinter, fingerprinter_of
from dedup.values.errors import DedupError
from dedup.values.limits import Excess
from dedup.values.sighting import Sighting

# A batch goes to one process as a whole, and is one transaction of the index.
BATCH_RECORDS = 64
BATCH_BYTES = 2 * 1024 * 1024

Reader = Callable[[Any, FieldRule], RawPage | None]


@dataclass(frozen=True, slots=True)
class Sighted:
    """A record that was read: its sighting, but for run and time, and its page as it is stored."""

    sighting: Sighting
    stored: bytes = b""
    excess: Excess | None = None


# A page, or what is wrong with the record, or None where it holds nothing to judge.
# A record that is no page at all ends the work.
Result = Sighted | NoHtml | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What every process must know; records are of *spider* and *kind*, *secret* is the index's."""

    rule: FieldRule
    config: DedupConfig
    spider: str
    kind: str
    secret: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of *feed*, which has that *number* among the feeds.

    *ends* says that they are its last, *trouble* why it cannot be read further, if it cannot.
    """

    number: int
    feed: Feed
    records: list[Record]
    ends: bool = False
    trouble: str = ""


class Sighter:
    """Makes sightings of records in one process."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._first = settings.config.store_first

    @cached_property
    def _fingerprint(self) -> Fingerprinter:
        return fingerprinter_of(self._settings.config, secret=self._settings.secret)

    def results(self, reader: Reader, payloads: Sequence[Any]) -> list[Result]:
        """Return what *reader* finds in each payload, None where that is None."""
        return [None if payload is None else self._result(reader, payload) for payload in payloads]

    def _result(self, reader: Reader, payload: Any) -> Result:
        try:
            raw = reader(payload, self._settings.rule)
            return None if raw is None else self._sighted(raw)
        except NoHtml as error:
            return error
        except BadRecord as error:
            return str(error)
        except Exception as error:  # a user's own function may raise anything; the others go on
            return f"cannot be judged: {type(error).__name__}: {error}"

    def _sighted(self, raw: RawPage) -> Sighted:
        settings, config = self._settings, self._settings.config
        page = Page.from_raw(raw, max_bytes=config.max_bytes)
        sighting = sighting_of(
            page,
            self._fingerprint(page),
            kind=settings.kind,
            scope=config.scope,
            spider=settings.spider,
        )
        return Sighted(sighting, self._stored(page), page.excess)

    def _stored(self, page: Page) -> bytes:
        """Return *page* as it may be stored, b"" if it is surely none of those that are."""
        if not self._settings.config.store_pages and not self._first:
            return b""
        self._first = max(0, self._first - 1)
        return pack(page)


class Workers:
    """*jobs* processes that make fingerprints; with one job it is this process.

    They are not forked from the caller, whose threads could do harm, and end when the caller ends,
    in whatever way.
    """

    def __init__(self, jobs: int, settings: WorkerSettings) -> None:
        self._settings = settings
        # One batch for each process, one waiting for it, and one that the index is asked about.
        self._in_flight = 2 * jobs + 1
        self._pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            self._pool = ProcessPoolExecutor(jobs, _context(), _begin_work, (settings,))

    def results(self, batches: Iterable[Batch]) -> Generator[tuple[Batch, list[Result]], None, None]:
        """Yield each batch with the results of its records, in their order.

        A bounded number of batches is read ahead.  Raises `DedupError` if a process was killed.
        """
        if self._pool is None:
            sighter = Sighter(self._settings)
            for batch in batches:
                yield batch, sighter.results(batch.feed.raw_page, _payloads(batch))
            return
        waiting: deque[tuple[Batch, Future[list[Result]]]] = deque()
        try:
            for batch in batches:
                waiting.append((batch, self._pool.submit(_work, batch.feed.raw_page, _payloads(batch))))
                if len(waiting) >= self._in_flight:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        except BrokenProcessPool as error:
            raise DedupError(
                "a process that makes fingerprints was killed, perhaps because memory ran out; "
                "the same command continues from here, with fewer --jobs if memory is short"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _payloads(batch: Batch) -> list[Any]:
    return [record.payload for record in batch.records]


# In the processes

_sighters: list[Sighter] = []


def _begin_work(settings: WorkerSettings) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the calling process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _sighters[:] = [Sighter(settings)]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _work(reader: Reader, payloads: Sequence[Any]) -> list[Result]:
    return _sighters[0].results(reader, payloads)


def _context() -> Any:
    has_server = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if has_server else "spawn")
    if has_server:
        context.set_forkserver_preload(["dedup.files.adding.warm"])
    return context
