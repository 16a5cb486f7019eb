"""Files of text, and progress bars."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from dedup.files.outputs import replacing
from dedup.index import Row
from dedup.model.printable import printable, printable_url
from dedup.rule.loss import words_of

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_URL = 2000


def console() -> Console:
    """Return the standard output, which never takes a text for markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_json(value: object, indent: int | None = 2) -> None:
    """Print *value* as JSON in ASCII, on one line without *indent*."""
    # DEL is ASCII, and a terminal may act on it.
    click.echo(json.dumps(value, indent=indent).replace("\x7f", "\\u007f"))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is under way."""
    from rich.console import Console

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(f"{what} ..."):
        yield


def url_text(url: str) -> str:
    """Return a URL to show."""
    return printable_url(url, LONGEST_URL)


def place(row: Row) -> str:
    """Return where a row stands, for instance (row 3, run 1)."""
    return f"(row {row.id}, run {row.sighting.run})"


def row_record(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    seen, verdict, page = row.sighting, row.verdict, row.sighting.fingerprint
    of_page = ("url", "item_key", "title", "run", "time", "kind", "scope")
    of_verdict = ("canonical_url", "content_distance", "structure_distance", "similarity", "lost")
    return {
        "row": row.id,
        **{name: getattr(seen, name) for name in of_page},
        "reason": verdict.reason.value,
        "kept": verdict.kept,
        "outcome": row.outcome.value,
        "canonical_row": verdict.canonical,
        **{name: getattr(verdict, name) for name in (*of_verdict, "missing")},
        "words": words_of(page),
        "tokens": page.tokens,
    }


_STEP = 0.002  # of a bar, as a share (0 to 1)
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


@contextmanager
def progress_bar(what: str, *, has_thread: bool = True) -> Iterator[Callable[..., None]]:
    """Give a function that takes how much is done, of how much, and what to say of it, for a bar.

    The bar is on the standard error, on a terminal only.  Without a thread of its own it is drawn when
    it is told to: other processes can be forked where there is no thread.
    """
    if not is_watched():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    told = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[said]"))
    columns = (next(told), BarColumn(), *told, TimeRemainingColumn())
    screen = Console(stderr=True)
    with Progress(
        *columns, console=screen, disable=not screen.is_terminal, auto_refresh=has_thread
    ) as shown:
        bar = shown.add_task(what, total=1.0, said="")

        def tell(done: float, total: float, said: str = "") -> None:
            share, drawn = done / (total or 1), shown.tasks[0].completed
            if said or share - drawn >= _STEP or done == total:
                said = said or f"{done:,} of {total:,}"
                shown.update(bar, completed=share, said=said, refresh=not has_thread)

        yield tell
