"""Files of text, and progress bars."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from dedup.files.outputs import replacing
from dedup.values.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_EVERY = 100
_LONGEST_PATH = 4096


def named(path: Path | str) -> str:
    """Return *path*, or a line with one in it, for a message: a file name may be any bytes."""
    return printable(str(path), _LONGEST_PATH)


@contextmanager
def text_output(path: Path | None) -> Iterator[IO[str]]:
    """Open *path* for text as `replacing` does; None is the standard output."""
    if path is None:
        with click.open_file("-", "w", encoding="utf-8") as file:
            yield file
        return
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def is_watched() -> bool:
    """Return whether rich may take the standard error for a terminal: else it need not be loaded."""
    return sys.stderr.isatty() or not {"FORCE_COLOR", "TTY_COMPATIBLE"}.isdisjoint(os.environ)


def bars(*columns: ProgressColumn | str, has_thread: bool = True) -> Progress:
    """Return bars on the standard error, shown on a terminal only; rich's own *columns* unless given.

    Without a thread of their own they must be told to refresh.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal, auto_refresh=has_thread)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes how many rows are done, and of how many; a bar shows it on a terminal.

    What comes in batches, or with gaps in its numbers, is shown as well.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),  # it may have a name in it
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with bars(*columns) as shown:
        bar = shown.add_task(what, total=None, rate="")

        def tell(done: int, total: int) -> None:
            task = shown.tasks[0]
            if done - task.completed >= _EVERY or done == total:
                rate = f"{task.speed:,.0f}/s" if task.speed else ""
                shown.update(bar, completed=done, total=total, rate=rate)

        yield tell
