"""Processes that are forked from one which has imported what most of them need.

Importing Scrapy takes longer than most crawls of the tests.  What is forked inherits nothing from the
tests themselves.
"""

from __future__ import annotations

from multiprocessing import get_all_start_methods, get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running

HAS_SERVER = "forkserver" in get_all_start_methods()


def forking() -> ForkServerContext:
    """Return where processes are forked."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


def start() -> None:
    """Start the process that others are forked from, before the project starts one of its own."""
    if HAS_SERVER:
        forking()
        ensure_running()
