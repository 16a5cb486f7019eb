"""Look into an index of near-duplicates, and mend it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from dedup import __version__
from dedup.errors import DedupError
from dedup.index import Run, SQLiteIndex
from dedup.printable import printable
from dedup.report.clusters import clusters
from dedup.report.export import write_csv, write_jsonl, write_text

_WRITERS = {"text": write_text, "jsonl": write_jsonl, "csv": write_csv}


class _Group(click.Group):
    """Turns the errors that this package raises on purpose into one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DedupError as error:
            raise click.ClickException(printable(str(error), limit=2000)) from error


@click.group(cls=_Group)
@click.version_option(__version__, prog_name="dedup")
def main() -> None:
    """See what a crawl dropped as near-duplicates, against which page and why.

    Inside a Scrapy project every command finds the project's index by itself; elsewhere name it
    with --index.
    """


def _index_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--index", type=click.Path(path_type=Path), help="The index file [default: the project's]."
    )(function)


@main.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@_index_option
@click.option("--run", type=int, help="Only what this run dropped.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_WRITERS)),
    default="text",
    show_default=True,
    help="For a person, or one record for each page dropped.",
)
@click.option(
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Where to [default: the terminal].",
)
def report(path: Path | None, index: Path | None, run: int | None, form: str, output: Any) -> None:
    """Print the clusters: each page kept, and the pages dropped for it, the largest first.

    \b
    Examples:
      dedup report
      dedup report pages.db --run 3
      dedup report pages.db --format csv --output dropped.csv
    """
    with _opened(path or index) as opened:
        _WRITERS[form](clusters(opened, run), output)


@main.command()
@_index_option
def runs(index: Path | None) -> None:
    """List the runs: number, spider, when it began, how it ended."""
    with _opened(index) as opened:
        for run in opened.runs():
            click.echo(_run_line(run))


@main.command()
@_index_option
@click.option("--run", type=int, required=True, help="The number of the run, see `dedup runs`.")
def forget(index: Path | None, run: int) -> None:
    """Undo a run: nothing is compared with its pages any more.

    What other runs dropped for its pages is marked as orphaned; crawl it again to have it.
    """
    with _opened(index) as opened:
        if run not in {known.id for known in opened.runs()}:
            raise DedupError(f"there is no run {run} in {opened.name}; see `dedup runs`")
        count = opened.forget_run(run)
        click.echo(f"Run {run} is forgotten: {count:,} rows.")


@main.command()
@_index_option
def check(index: Path | None) -> None:
    """Test whether the file is sound; the exit code is 1 if it is not."""
    with _opened(index) as opened:
        problems = opened.verify()
        for problem in problems:
            click.echo(problem)
        if problems:
            sys.exit(1)
        click.echo(f"{opened.name} is sound.")


def _opened(path: Path | None) -> SQLiteIndex:
    if path is None:
        from dedup.plugin.project import project_index

        found = project_index()
        if found is None:
            raise DedupError("there is no Scrapy project here; name an index with --index")
        path = Path(found)
    return SQLiteIndex(path, create=False)


def _run_line(run: Run) -> str:
    began = datetime.fromtimestamp(run.started).isoformat(" ", "seconds")
    ending = run.ending or "running"
    return f"{run.id:>5}  {began}  {printable(ending):<12}  {printable(run.spider)}"
