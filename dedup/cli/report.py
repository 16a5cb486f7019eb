"""``dedup report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dedup.cli.options import index_option, opened, settings_for, settings_option
from dedup.index import SQLiteIndex
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
    type=click.Choice([*_WRITERS, "html"]),
    default="text",
    show_default=True,
    help="For a person (text, or a page to look at in a browser), or one record for each page dropped.",
)
@click.option(
    "--keep",
    type=click.Choice(list(KEEPS)),
    default="first",
    show_default=True,
    help="Name the best page of each cluster by this rule; a crawl keeps the first it sees.",
)
@click.option(
    "--max-pages",
    type=click.IntRange(2),
    default=100_000,
    show_default=True,
    help="List at most so many pages in an HTML file, the largest clusters; figures count all.",
)
@settings_option
@click.option(
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Where to [default: the terminal].",
)
def report(
    *,
    argument: Path | None,
    path: Path | None,
    run: int | None,
    form: str,
    keep: str,
    max_pages: int,
    settings: tuple[tuple[str, str], ...],
    output: Any,
) -> None:
    """Print the clusters: each page kept, and the pages dropped for it, the largest first.

    A crawl keeps the first page that it sees of several copies, because it cannot know what comes
    later. --keep names the one to have instead: the newest, the longest text, the shortest URL,
    one by https, or the one that the pages name as their rel=canonical.

    --format html is for looking: shares by site and run, distances with the thresholds drawn in,
    clusters with the texts of their pages side by side (where DEDUP_STORE_PAGES keeps them), pairs on
    the edge, templates. One file, which loads nothing and can be sent to anybody; it needs the extra
    scrapy-dedup[report]. -s tells it other thresholds than the project's to draw.

    \b
    Examples:
      dedup report
      dedup report pages.db --run 3
      dedup report pages.db --format csv --output dropped.csv
      dedup report --format html --output report.html
      dedup report --keep longest
    """
    with opened(argument or path) as index:
        if form == "html":
            _write_html(index, run, keep, max_pages, settings, output)
        else:
            _WRITERS[form](report_of(index, run, keep=keep), output)


def _write_html(  # noqa: PLR0917
    index: SQLiteIndex,
    run: int | None,
    keep: str,
    max_pages: int,
    settings: tuple[tuple[str, str], ...],
    output: Any,
) -> None:
    from dedup.cli.html import write_html

    config = settings_for(index, settings).config
    seen = None if run is None else (glance for glance in index.glances() if glance.run == run)
    write_html(index, output, config=config, keep=keep, max_pages=max_pages, glances=seen)
