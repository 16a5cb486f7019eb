"""Work of many tasks, shared out to processes of this machine, and what it gives, in order."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from dedup.model.errors import DedupError

FEW = 8  # so many tasks are done before other processes are started
MOST = 16  # the process that takes what they give keeps no more of them busy

Kept = TypeVar("Kept")
Task = TypeVar("Task")
Answer = TypeVar("Answer")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_batches(
    items: Iterable[Kept], size_of: Callable[[Kept], int], most: int, largest: int
) -> Iterator[list[Kept]]:
    """Yield *items*, at most so many in a batch, and none more in one of this size.

    >>> [*in_batches(["one", "two", "three", "four"], len, 2, 4)]
    [['one', 'two'], ['three'], ['four']]
    """
    batch, size = list[Kept](), 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) == most or size >= largest:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def shared_out(
    work: Callable[[Task], Answer], tasks: Iterator[tuple[Kept, Task]], jobs: int | None
) -> Generator[tuple[Kept, Answer]]:
    """Yield what stands before each task, and what *work* gives for it, in the order of the *tasks*.

    The first tasks, and with one job all, are done here, while other processes start; the rest is done
    by *jobs* of these, None for one a core, `MOST` at most.  Each has one task, and one that waits: so
    many are read ahead.  They end when this is closed, or this process ends, in whatever way.  Raises
    `DedupError` if one of them was killed.
    """
    idle, most = list[Connection](), jobs or min(cores(), MOST)
    under_way = deque[tuple[Kept, Connection]]()
    with ExitStack() as started:
        try:
            for number, (kept, task) in enumerate(tasks, 1):
                yield kept, work(task)
                if number >= FEW and len(idle) < most > 1:
                    idle.append(_start(work, started))
                elif idle and all(pipe.poll() for pipe in idle):  # each says that it has begun
                    for pipe in idle:
                        pipe.recv()
                    idle *= 2
                    break
            for kept, task in tasks:
                if idle:
                    pipe = idle.pop()
                    pipe.send(task)
                else:
                    done, pipe = under_way.popleft()
                    answer = pipe.recv()
                    pipe.send(task)
                    yield done, answer
                under_way.append((kept, pipe))
            for done, pipe in under_way:
                yield done, pipe.recv()
        except (EOFError, OSError) as error:
            why = "a process beside this one could not start or was killed, perhaps as memory ran out"
            raise DedupError(f"{why}; try fewer --jobs") from error


def _start(work: Callable[[Any], object], started: ExitStack) -> Connection:
    """Return a pipe to a new process that does *work*, until *started* is closed."""
    context = multiprocessing.get_context("spawn")  # a fork would have the locks and threads of this one
    here, there = context.Pipe()
    process = context.Process(target=_do, args=(work, there), daemon=True)
    mask = getattr(signal, "pthread_sigmask", None)  # Windows has none
    if mask:  # a new process has that of the old one: Ctrl-C is not for it
        resource_tracker.ensure_running()  # it would change the mask
        before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        if mask:
            mask(signal.SIG_SETMASK, before)
    started.callback(process.join)
    started.callback(process.kill)
    there.close()
    return here


def _do(work: Callable[[Any], object], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    tasks = SimpleQueue[Any]()

    def take() -> None:
        with suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
        os._exit(0)  # the other process has ended

    Thread(target=take, daemon=True).start()
    with suppress(OSError):
        pipe.send(True)
        while True:
            pipe.send(work(tasks.get()))
