"""Processes that are forked from one which has imported what most of them need: Scrapy takes long.

Where nothing can be forked, as on Windows, each is started anew.  None inherits anything of the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_all_start_methods, get_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

HAS_SERVER = "forkserver" in get_all_start_methods()
SECONDS = 300.0


def forking() -> ForkServerContext | SpawnContext:
    if not HAS_SERVER:
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.support.preloaded"])
    return context


def start() -> None:
    """Start the process that others are forked from, before the project starts one of its own."""
    if HAS_SERVER:
        from multiprocessing.forkserver import ensure_running

        forking()
        ensure_running()


def all_at_once(count: int, work: Callable[..., None], *given: Any) -> None:
    """Do *work* in *count* processes, with the number of each and a barrier for all; none may fail."""
    context = forking()
    given = (context.Barrier(count, timeout=SECONDS), *given)
    started = [context.Process(target=work, args=(n, *given), daemon=True) for n in range(count)]
    for process in started:
        process.start()
    for process in started:
        process.join(SECONDS)
    assert [process.exitcode for process in started] == [0] * count
