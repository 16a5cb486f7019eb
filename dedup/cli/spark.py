"""``dedup spark``."""

from __future__ import annotations

import os
import shutil
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import click

from dedup.cli.options import Given, pairs_option, settings_of, settings_option
from dedup.cli.output import named
from dedup.files.outputs import check_target
from dedup.model.errors import DedupError
from dedup.model.printable import printable

# One machine reaches itself, and nobody else does.
_HERE = {
    "spark.master": "local[*]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="The folder to write.")
@click.option(
    "--format", "form", type=click.Choice(("jsonl", "parquet", "warc")), help="The format of all files."
)
@pairs_option(
    "--conf", "options", told="A setting of Spark, for instance spark.master=yarn; may be repeated."
)
@click.option("--overwrite", is_flag=True, help="Delete what an earlier job has left in the folder.")
@settings_option
def spark(
    *,
    files: tuple[str, ...],
    output: str,
    form: str | None,
    options: Given,
    overwrite: bool,
    settings: Given,
) -> None:
    """Deduplicate archives of any size on Apache Spark.

    INPUT are files of one format, or folders: web archives (.warc, .wet), Parquet or JSON Lines
    (.jsonl), also compressed (.gz). They are paths that every worker can read, or addresses that Spark
    can (s3a://, hdfs://).

    FOLDER gets Parquet: `verdicts` for all pages, `kept` with the records that are no copies, and
    `files` with the numbers of the files. Pages are compared in the order of the names of files, and a
    page is dropped only for an earlier one that is kept, by the same rule as in `dedup add`.

    If the command is interrupted, the same command goes on after the last stage that was finished.
    The exit code is 1 if a file could not be read to its end.

    \b
    Examples:
      dedup spark crawl/*.warc.gz --output unique
      dedup spark s3a://crawls/2026/ --output s3a://crawls/unique --conf spark.master=yarn
    """
    chosen = settings_of(dict(settings))
    if "://" not in output:
        check_target(Path(output), [Path(file) for file in files if "://" not in file], is_folder=True)
        if Path(output).exists() and not Path(output).is_dir():
            raise DedupError(f"{output} must be a folder, or none yet")
    session = spark_session(dict(options))
    from dedup.files.work import WorkerSettings
    from dedup.spark_job import run_job

    begin = time.perf_counter()
    kind = "item" if chosen.source == "item" else "page"
    worker = WorkerSettings(rule=chosen.fields, config=chosen.config, kind=kind)
    try:
        done = run_job(session, files, output, worker, form=form or "", overwrite=overwrite, tell=_tell)
    finally:
        session.stop()
    for problem in done.few:
        click.echo(printable(problem, 500), err=True)
    if done.problems:
        click.echo(f"{done.problems:,} records or files could not be read (to their end)", err=True)
    seconds = time.perf_counter() - begin
    click.echo(
        f"{done.pages:,} pages judged, {done.dropped:,} of them copies; the others are in "
        f"{named(output)}/kept.\n  {done.pages / seconds:,.0f} pages a second, {seconds:,.1f} seconds"
    )
    if done.unreadable:
        sys.exit(1)


def _tell(stage: str, rows: int, seconds: float) -> None:
    click.echo(f"{stage}: {rows:,} rows, {seconds:,.1f} s", err=True)


def spark_session(options: dict[str, Any]) -> Any:
    """Return a session with these *options*; else on what spark-submit says, or all cores here.

    Raises `DedupError` where pyspark or Java is missing.
    """
    try:
        import pandas  # noqa: F401 - Spark asks for it before it gives Arrow to a function
        import pyarrow  # noqa: F401
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise DedupError(
            f'archives on Spark need {error.name}; install it with: pip install "scrapy-dedup[spark]"'
        ) from error
    if not has_java():
        raise DedupError(
            "Spark needs Java 17 or newer: install a JRE (Debian: default-jre-headless) or set JAVA_HOME"
        )
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._active_spark_context
    if not is_submitted and options.get("spark.master", "local").startswith("local"):
        # Workers of another Python would not have this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        options = {**_HERE, **options}
    # Of a pandas that is newer than what it was tested with; only Arrow is used here.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    try:
        options = {"spark.ui.showConsoleProgress": "false", **options}
        session = SparkSession.builder.config(map=options).appName("dedup").getOrCreate()
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DedupError(f"Spark does not start: {first}") from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def has_java() -> bool:
    """Return whether there is a Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    return bool(shutil.which(os.path.join(home, "bin", "java") if home else "java"))
