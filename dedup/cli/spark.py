"""``dedup spark``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dedup.cli.options import (
    Place,
    PlainText,
    Setting,
    given_config,
    index_place,
    opened,
    settings_for,
    settings_option,
)
from dedup.cli.output import named
from dedup.cli.project import settings_of
from dedup.files.outputs import check_target
from dedup.front.names import RECIPE
from dedup.front.reading import read_recipe
from dedup.front.settings import DedupSettings
from dedup.values.errors import ConfigError, DedupError
from dedup.values.printable import printable

if TYPE_CHECKING:
    from dedup.archives.job import Summary

_SCHEME = "://"
_FORMATS = ("jsonl", "parquet", "warc")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="The folder to write.")
@click.option(
    "-i",
    "--index",
    "--like",
    "like",
    type=Place(),
    metavar="INDEX",
    help="Judge by the recipe of this index.",
)
@click.option("--format", "form", type=click.Choice(_FORMATS), help="The format of all files.")
@click.option("--spider", default="", type=PlainText(), help="The spider whose pages they are.")
@click.option(
    "--conf",
    "options",
    type=Setting(),
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of Spark, for instance spark.master=yarn; may be repeated.",
)
@click.option("--overwrite", is_flag=True, help="Delete what an earlier job has left in the folder.")
@settings_option
def spark(
    *,
    files: tuple[str, ...],
    output: str,
    like: Path | str | None,
    form: str | None,
    spider: str,
    options: tuple[tuple[str, str], ...],
    overwrite: bool,
    settings: tuple[tuple[str, str], ...],
) -> None:
    """Deduplicate archives of any size on Apache Spark.

    INPUT are files of one format, or folders: web archives (.warc, .wet), Parquet or JSON Lines
    (.jsonl), also compressed (.gz). They are paths that every worker can read, or addresses that Spark
    can (s3a://, hdfs://).

    FOLDER gets Parquet: `verdicts` for all pages, `kept` with the records that are no copies, and
    `context` with what is known of sites (for `dedup add --context`).
    Pages are compared in the order of the input, and a page is dropped only for an earlier one that is
    kept, by the same rule as in `dedup add`. Bands find candidates, as with the recipe `minhash`.

    If the command is interrupted, the same command goes on after the last stage that was finished.
    The exit code is 1 if a file could not be read to its end.

    \b
    Examples:
      dedup spark crawl/*.warc.gz --output unique
      dedup spark s3a://crawls/2026/ --output s3a://crawls/unique --conf spark.master=yarn
      dedup spark pages.parquet --output unique --like crawl.db
      dedup add unique/kept --index crawl.db
    """
    chosen = _settings(like, settings)
    _check_output(output, files)
    from dedup.archives.session import spark_session

    conf = dict(options)
    session = spark_session(conf.pop("spark.master", ""), conf)
    from dedup.archives.job import run_job, suited
    from dedup.files.adding.work import WorkerSettings

    begin = time.perf_counter()
    worker = WorkerSettings(
        rule=chosen.fields,
        config=suited(chosen.config),
        spider=spider,
        kind="item" if chosen.source == "item" else "page",
    )
    try:
        summary = run_job(
            session, files, output, worker, form=form or "", overwrite=overwrite, tell=_tell
        )
    finally:
        session.stop()
    _sum_up(summary, output, time.perf_counter() - begin)
    if summary.unreadable:
        sys.exit(1)


def _settings(like: Path | str | None, given: tuple[tuple[str, str], ...]) -> DedupSettings:
    named_recipe = dict(given).get(RECIPE)
    candidates = read_recipe(named_recipe).get("candidates", "minhash") if named_recipe else "minhash"
    if candidates != "minhash":
        raise ConfigError(f"candidates ({candidates}) must be minhash on Spark; `dedup add` has others")
    if like is None:
        given_config(given)
        return settings_of(dict(given), {})
    with opened(index_place(like)) as index:
        return settings_for(index, given)


def _check_output(output: str, files: tuple[str, ...]) -> None:
    """Raise `DedupError` for a folder of this machine that is a file, or is among what is read."""
    if _SCHEME in output:
        return
    folder = Path(output)
    check_target(folder, [Path(file) for file in files if _SCHEME not in file], is_folder=True)
    if folder.exists() and not folder.is_dir():
        raise DedupError(f"{output} must be a folder, or none yet")


def _tell(stage: str, rows: int, seconds: float) -> None:
    click.echo(f"{stage}: {rows:,} rows, {seconds:,.1f} s", err=True)


def _sum_up(summary: Summary, output: str, seconds: float) -> None:
    for problem in summary.problems:
        click.echo(printable(problem, 500), err=True)
    rate = summary.pages / seconds if seconds else 0.0
    for count, what in (
        (summary.bad, "records could not be read"),
        (summary.damaged, "records are damaged, and left out"),
        (summary.unreadable, "files could not be read to their end"),
    ):
        if count:
            click.echo(f"{count:,} {what}", err=True)
    click.echo(
        f"{summary.pages:,} pages judged, {summary.dropped:,} of them copies; the others are in "
        f"{named(output)}/kept.\n  {rate:,.0f} pages a second, {seconds:,.1f} seconds"
    )
