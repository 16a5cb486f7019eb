"""Text on the standard output, and what shows on a terminal that something is under way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from dedup.files.outputs import replacing
from dedup.index import Row
from dedup.model.printable import printable, printable_url

LONGEST_URL = 2000
_LONGEST_PATH = 4096
_STEPS = 1000  # of a bar


def url_text(url: str) -> str:
    """Return a URL to show."""
    return printable_url(url, LONGEST_URL)


def place(row: Row) -> str:
    """Return where a row stands, for instance (row 3, run 1)."""
    return f"(row {row.id}, run {row.sighting.run})"


def named(path: Path | str) -> str:
    """Return *path*, or a line with one in it, for a message: a file name may be any bytes."""
    return printable(str(path), _LONGEST_PATH)


def title(line: str) -> None:
    """Print a *line* in bold."""
    click.secho(line, bold=True)


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
    """Return whether the standard error is a terminal."""
    return sys.stderr.isatty()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is under way."""
    is_shown = is_watched()
    click.echo(f"{what} ..." * is_shown, err=True, nl=False)
    try:
        yield
    finally:
        click.echo("\r\x1b[K" * is_shown, err=True, nl=False, color=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """Give a function that takes how much is done, of how much, and what to say of it, for a bar.

    The bar is on the standard error, on a terminal only, and has no thread: processes can be forked.
    """
    if not is_watched():
        yield lambda *_: None
        return
    with click.progressbar(
        length=_STEPS, label=what, file=sys.stderr, item_show_func=lambda said: said
    ) as bar:

        def tell(done: float, total: float, said: str = "") -> None:
            bar.update(int(_STEPS * done / (total or 1)) - bar.pos, said or f"{done:,} of {total:,}")

        yield tell
