"""Look into an index of near-duplicates, and mend it."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from dedup import __version__
from dedup.errors import DedupError
from dedup.index import Run, SQLiteIndex
from dedup.index.postings import MAX_BLOCKS, MIN_BLOCKS
from dedup.minhash import Banding
from dedup.printable import printable
from dedup.report.clusters import clusters
from dedup.report.export import write_csv, write_jsonl, write_text

_WRITERS = {"text": write_text, "jsonl": write_jsonl, "csv": write_csv}


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class _Age(click.ParamType[float]):
    """A number and a unit, in seconds."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds in *value*, for instance 30d."""
        number, unit = str(value)[:-1], str(value)[-1:]
        if unit not in _UNITS or not number.isdecimal():
            self.fail(
                f"{value!r} must be a whole number with one of the units {', '.join(_UNITS)}", param, ctx
            )
        return float(number) * _UNITS[unit]


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
def orphans(index: Path | None) -> None:
    """List the pages that were dropped for a page which is gone.

    Their canonical was kept by a run that was forgotten, or was lost on its way to storage after
    another process had dropped them. Crawl these URLs again to have them.
    """
    with _opened(index) as opened:
        found = opened.orphans()
        for row in found:
            click.echo(printable(row.sighting.url, limit=2000) or "(no URL)")
    click.echo(f"{len(found):,} orphans", err=True)


@main.command()
@_index_option
@click.option("--run", type=int, help="Undo the run of this number, see `dedup runs`.")
@click.option("--url", help="Forget what was seen at this URL.")
@click.option(
    "--older-than", type=_Age(), help="Forget what no page has repeated for so long: 30d, 12h."
)
def forget(index: Path | None, run: int | None, url: str | None, older_than: float | None) -> None:
    """Forget pages: nothing is compared with them any more.

    What was dropped for them is marked as orphaned; `dedup orphans` lists it. Nothing is deleted:
    the rows stay in the index, as forgotten.

    \b
    Examples:
      dedup forget --run 3
      dedup forget --url https://example.com/page
      dedup forget --older-than 90d
    """
    if (run is None) + (url is None) + (older_than is None) != 2:
        raise click.UsageError("give one of --run, --url and --older-than")
    with _opened(index) as opened:
        if run is not None:
            if run not in {known.id for known in opened.runs()}:
                raise DedupError(f"there is no run {run} in {opened.name}; see `dedup runs`")
            count = opened.forget_run(run)
        elif url is not None:
            count = opened.forget_url(url)
        else:
            assert older_than is not None
            count = opened.forget_unseen_since(time.time() - older_than)
        click.echo(f"{count:,} rows are forgotten.")


@main.command()
@_index_option
@click.option(
    "--blocks",
    type=click.IntRange(MIN_BLOCKS, MAX_BLOCKS),
    help="Into how many blocks words are cut from now on.",
)
@click.option(
    "--bands",
    metavar="BANDSxROWS",
    help="Only make the lists of bands, for instance 32x3, or none.",
)
def rebuild(index: Path | None, blocks: int | None, bands: str | None) -> None:
    """Make the posting lists anew from the rows: after damage, or with other blocks.

    Fewer blocks are faster for many pages (4 from some millions on), more for few. Answers never
    depend on it. The file stays as it is until the new lists are whole.

    Lists of bands come by themselves with DEDUP_CANDIDATES, and stay until they are taken out.
    """
    with _opened(index) as opened, Progress(console=Console(stderr=True)) as bars:
        bar = bars.add_task("rebuilding", total=None)

        def progress(done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total)

        if bands is None:
            opened.rebuild(blocks, progress)
        else:
            opened.band(_banding(bands), progress)
    cut = f" and {opened.banding}" if opened.banding else ""
    click.echo(f"{opened.name} is rebuilt with {opened.blocks} blocks{cut}.")


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


def _banding(text: str) -> Banding | None:
    if text == "none":
        return None
    numbers = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    if numbers is None:
        raise click.UsageError(f"--bands {text!r} must be bands x rows, for instance 32x3, or none")
    return Banding(int(numbers[1]), int(numbers[2]))


def _run_line(run: Run) -> str:
    began = datetime.fromtimestamp(run.started).isoformat(" ", "seconds")
    ending = run.ending or "running"
    return f"{run.id:>5}  {began}  {printable(ending):<12}  {printable(run.spider)}"
