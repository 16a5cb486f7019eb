"""A function on several processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import track

A = TypeVar("A")
T = TypeVar("T")


def each(call: Callable[[A], T], arguments: Sequence[A], jobs: int, doing: str) -> list[T]:
    """Return the results of *call* in order, on so many processes, or here if it is one."""
    progress, total = Console(stderr=True), len(arguments)
    if jobs == 1:
        return [call(one) for one in track(arguments, doing, total, console=progress)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        return list(track(pool.map(call, arguments), doing, total, console=progress))
