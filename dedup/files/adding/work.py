"""Fingerprints of records, in as many processes as wanted."""

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
from multiprocessing import connection
from typing import Any, Self

from dedup.files.feeds import BadRecord, Record
from dedup.reading.fields import Content, FieldRule, NoHtml
from dedup.reading.page import Page
from dedup.reading.stored import pack
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import fingerprint
from dedup.values.errors import DedupError
from dedup.values.fingerprint import Fingerprint
from dedup.values.limits import Excess
from dedup.values.urls import scope_key, url_key

# A batch is what one process gets at once, and one transaction of the index.
BATCH_RECORDS = 64
BATCH_BYTES = 2 * 1024 * 1024

Reader = Callable[[Any, FieldRule], Content | None]


@dataclass(frozen=True, slots=True)
class Seen:
    """All of a page that the index is told, see `dedup.index.Index.record`; *stored* is kept there."""

    fingerprint: Fingerprint
    url: str
    url_key: str
    scope: str
    title: str
    canonical_link: str
    stored: bytes = b""
    excess: Excess | None = None
    item_key: str = ""


# A page, or what is the matter with the record, or None where it holds nothing to judge.
# A record that is no page at all ends the work.
Answer = Seen | NoHtml | str | None


@dataclass(frozen=True, slots=True)
class Orders:
    """What all processes must know; pages are of *spider*, *secret* is that of the index."""

    rule: FieldRule
    config: DedupConfig
    spider: str
    secret: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of the feed of that number, one after the other, and who reads them.

    *ends* says that they are its last, *trouble* why it cannot be read on, if it cannot.
    """

    feed: int
    reader: Reader
    records: list[Record]
    ends: bool = False
    trouble: str = ""


def answer(payload: Any, reader: Reader, orders: Orders) -> Answer:
    """Return what there is in one record."""
    try:
        content = reader(payload, orders.rule)
        return None if content is None else _seen(content, orders)
    except NoHtml as error:
        return error
    except BadRecord as error:
        return str(error)
    except Exception as error:  # a user's own function may raise anything; the others go on
        return f"cannot be judged: {type(error).__name__}: {error}"


def _seen(content: Content, orders: Orders) -> Seen:
    page = Page.from_content(content, max_bytes=orders.config.max_bytes)
    return Seen(
        fingerprint=fingerprint(page, orders.config, secret=orders.secret),
        url=page.url,
        url_key=url_key(page.url),
        scope=scope_key(orders.config.scope, spider=orders.spider, url=page.url),
        title=page.title,
        canonical_link=page.canonical_link,
        stored=pack(page) if orders.config.store_pages else b"",
        excess=page.excess,
        item_key=page.item_key,
    )


class Workers:
    """*jobs* processes that make fingerprints; with one job it is this process.

    They are started anew rather than forked, so that threads of the caller do no harm, and end
    when the caller ends, however.
    """

    def __init__(self, jobs: int, orders: Orders) -> None:
        self._orders = orders
        # One batch for each process, one waiting for it, and one that the index is asked about.
        self._in_flight = 2 * jobs + 1
        self._pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            self._pool = ProcessPoolExecutor(jobs, _context(), _begin_work, (orders,))

    def answered(self, batches: Iterable[Batch]) -> Generator[tuple[Batch, list[Answer]], None, None]:
        """Yield each batch with the answers to its records, in their order.

        A bounded number of batches is read ahead.  Raises `DedupError` if a process was killed.
        """
        if self._pool is None:
            for batch in batches:
                yield batch, _answers(batch.reader, _payloads(batch), self._orders)
            return
        waiting: deque[tuple[Batch, Future[list[Answer]]]] = deque()
        try:
            for batch in batches:
                waiting.append((batch, self._pool.submit(_work, batch.reader, _payloads(batch))))
                if len(waiting) >= self._in_flight:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        except BrokenProcessPool as error:
            raise DedupError(
                "a process that makes fingerprints was killed, perhaps for want of memory; "
                "the same command goes on from here, with fewer --jobs if you like"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _payloads(batch: Batch) -> list[Any]:
    return [record.payload for record in batch.records]


def _answers(reader: Reader, payloads: Sequence[Any], orders: Orders) -> list[Answer]:
    return [None if payload is None else answer(payload, reader, orders) for payload in payloads]


# In the processes

_given: list[Orders] = []


def _begin_work(orders: Orders) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _given[:] = [orders]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _work(reader: Reader, payloads: Sequence[Any]) -> list[Answer]:
    return _answers(reader, payloads, _given[0])


def _context() -> Any:
    has_server = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if has_server else "spawn")
    if has_server:
        context.set_forkserver_preload(["dedup.files.adding.warm"])
    return context
