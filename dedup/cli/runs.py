"""``dedup runs``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.terminal import print_json
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


def _run_line(run: Run) -> str:
    began = moment(run.started)[:-3]  # without seconds it fits 40 columns
    ending = run.ending or "running"
    what = "" if run.action == "drop" else f"  ({printable(run.action)})"
    return f"{run.id:>3} {began} {printable(ending):<8} {printable(run.spider)}{what}"
