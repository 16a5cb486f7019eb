"""``dedup runs`` and ``dedup orphans``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from dedup.cli.options import index_option, opened
from dedup.index import Run
from dedup.printable import printable


@click.command()
@index_option
def runs(path: Path | None) -> None:
    """List the runs: number, spider, when it began, how it ended."""
    with opened(path) as index:
        for run in index.runs():
            click.echo(_run_line(run))


@click.command()
@index_option
def orphans(path: Path | None) -> None:
    """List the pages that were dropped for a page which is gone.

    Their canonical was kept by a run that was forgotten, or was lost on its way to storage after
    another process had dropped them. Crawl these URLs again to have them.
    """
    with opened(path) as index:
        found = index.orphans()
        for row in found:
            click.echo(printable(row.sighting.url, limit=2000) or "(no URL)")
    click.echo(f"{len(found):,} orphans", err=True)


def _run_line(run: Run) -> str:
    began = datetime.fromtimestamp(run.started).isoformat(" ", "seconds")
    ending = run.ending or "running"
    what = "" if run.action == "drop" else f"  ({printable(run.action)})"
    return f"{run.id:>5}  {began}  {printable(ending):<12}  {printable(run.spider)}{what}"
