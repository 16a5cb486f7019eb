"""``dedup report --format html``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dedup.config import DedupConfig
from dedup.index import Glance, SQLiteIndex
from dedup.report.html import HtmlReport, Track

T = TypeVar("T")


def write_html(
    index: SQLiteIndex,
    output: IO[str],
    *,
    config: DedupConfig,
    keep: str,
    max_pages: int,
    glances: Iterable[Glance] | None = None,
) -> None:
    """Write the HTML report on *glances*, all rows unless given, with a bar on the standard error."""
    if output.isatty():
        raise click.UsageError("--format html needs --output FILE, it is nothing for a terminal")
    with index.unmapped(), _watched() as track:
        HtmlReport(
            index=index,
            config=config,
            name=index.path.name,
            glances=glances,
            keep=keep,
            max_pages=max_pages,
            track=track,
        ).write(output)


@contextmanager
def _watched() -> Iterator[Track]:
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bars:

        def track(values: Iterable[T], description: str, total: int) -> Iterator[T]:
            task = bars.add_task(description, total=total, rate="")
            done = 0
            for done, value in enumerate(values, 1):
                yield value
                if done % 256 == 0:
                    speed = bars.tasks[task].speed
                    bars.update(task, completed=done, rate=f"{speed:,.0f}/s" if speed else "")
            bars.update(task, completed=done)

        yield track
