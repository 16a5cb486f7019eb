"""Functions on several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

T = TypeVar("T")


class Workers:
    """Calls functions on several processes, or here if there is but one job."""

    def __init__(self, jobs: int) -> None:
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn")) if jobs > 1 else None

    def each(
        self, call: Callable[[Any], T], arguments: Sequence[Any], done: Callable[[int], None]
    ) -> list[T]:
        """Return the results of *call* in order; *done* hears of each by its number."""
        if self._pool is None:
            return list(self._here(call, arguments, done))
        futures: dict[Future[T], int] = {
            self._pool.submit(call, argument): number for number, argument in enumerate(arguments)
        }
        for future in as_completed(futures):
            future.result()
            done(futures[future])
        return [future.result() for future in futures]

    @staticmethod
    def _here(
        call: Callable[[Any], T], arguments: Sequence[Any], done: Callable[[int], None]
    ) -> Iterator[T]:
        for number, argument in enumerate(arguments):
            yield call(argument)
            done(number)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def workers(jobs: int) -> Iterator[Workers]:
    pool = Workers(jobs or os.cpu_count() or 1)
    try:
        yield pool
    finally:
        pool.close()
