"""``dedup runs`` and ``dedup orphans``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import click

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.terminal import print_json, row_record, working
from dedup.cli.times import moment
from dedup.index import Run
from dedup.values.printable import printable


@click.command()
@index_option
@json_option
def runs(path: Path | str | None, as_json: bool) -> None:
    """List the runs: number, when it began, how it ended, spider.

    \b
    Examples:
      dedup runs
      dedup runs --json | jq '.[-1].id'
    """
    with opened(path) as index:
        known = index.runs()
    if as_json:
        print_json([asdict(run) for run in known])
        return
    for run in known:
        click.echo(_run_line(run))


@click.command()
@index_option
@json_option
def orphans(path: Path | str | None, as_json: bool) -> None:
    """List the pages that were dropped for a page which is gone.

    The page that they repeat was kept by a run that was forgotten, or was lost on its way to storage
    after another process had dropped its copies. Crawl these URLs again to get the pages. Pages
    without URL are counted and are in the JSON.

    \b
    Examples:
      dedup orphans > again.txt; scrapy crawl urls -a file=again.txt
      dedup orphans --json
    """
    with opened(path) as index, working("looking"):
        rows = index.views.orphans()
    if as_json:
        print_json([row_record(row) for row in rows])
        return
    for row in rows:
        if row.sighting.url:
            click.echo(address(row.sighting.url))
    click.echo(f"{len(rows):,} orphans", err=True)


def address(url: str) -> str:
    """Return *url* with all that could act on a terminal percent-encoded; it can still be crawled."""
    return "".join(
        letter if letter.isprintable() and letter != " " else quote(letter, "") for letter in url
    )


def _run_line(run: Run) -> str:
    began = moment(run.started)[:-3]  # without seconds it fits 40 columns
    ending = run.ending or "running"
    what = "" if run.action == "drop" else f"  ({printable(run.action)})"
    return f"{run.id:>3} {began} {printable(ending):<8} {printable(run.spider)}{what}"
