"""``dedup report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dedup.cli.options import index_option, opened
from dedup.report.clusters import KEEPS, report_of
from dedup.report.export import write_csv, write_jsonl, write_text

_WRITERS = {"text": write_text, "jsonl": write_jsonl, "csv": write_csv}


@click.command()
@click.argument("argument", metavar="[INDEX]", required=False, type=click.Path(path_type=Path))
@index_option
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
    "--keep",
    type=click.Choice(list(KEEPS)),
    default="first",
    show_default=True,
    help="Name the best page of each cluster by this rule; a crawl keeps the first it sees.",
)
@click.option(
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Where to [default: the terminal].",
)
def report(  # noqa: PLR0917
    argument: Path | None, path: Path | None, run: int | None, form: str, keep: str, output: Any
) -> None:
    """Print the clusters: each page kept, and the pages dropped for it, the largest first.

    A crawl keeps the first page that it sees of several copies, because it cannot know what comes
    later. --keep names the one to have instead: the newest, the longest text, the shortest URL,
    one by https, or the one that the pages name as their rel=canonical.

    \b
    Examples:
      dedup report
      dedup report pages.db --run 3
      dedup report pages.db --format csv --output dropped.csv
      dedup report --keep longest
    """
    with opened(argument or path) as index:
        _WRITERS[form](report_of(index, run, keep=keep), output)
