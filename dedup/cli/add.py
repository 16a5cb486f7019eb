"""``dedup add``."""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dedup.cli.options import (
    Given,
    Place,
    check_output,
    index_place,
    json_option,
    named_index_option,
    settings_for,
    settings_option,
    text,
)
from dedup.cli.output import print_json, progress_bar
from dedup.index import Index
from dedup.index.index import open_index
from dedup.model.errors import DedupError
from dedup.model.limits import Excess
from dedup.model.printable import printable, printable_url
from dedup.report.summary import summary

if TYPE_CHECKING:
    from dedup.files.adding import Adding
    from dedup.files.finding import Inputs
    from dedup.model.verdict import Verdict

_FORMATS = ("jsonl", "csv", "html", "warc", "parquet")
_MAX_PROBLEMS = 20


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FILES..."
)
@named_index_option()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write the kept records, in the format of the input: a file, or a folder for HTML.",
)
@click.option("--judge", is_flag=True, help="Only compare with the index; record nothing.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="The format of all FILES, whatever their names.",
)
@click.option(
    "--spider",
    default="",
    type=text,
    help="Compare with the pages of this spider, and record as its pages.",
)
@click.option("--jobs", type=click.IntRange(1), help="How many processes [default: one for each core].")
@json_option
@settings_option
def add(
    *,
    files: tuple[Path, ...],
    path: Place | None,
    output: Path | None,
    judge: bool,
    form: str | None,
    spider: str,
    jobs: int | None,
    as_json: bool,
    settings: Given,
) -> None:
    """Add the pages of FILES to the index, and say which ones are copies.

    FILES are JSON Lines (.jsonl), CSV with a header, web archives (.warc, .wet), Parquet, files of
    HTML, and folders of all these; also compressed (.gz). --output writes the records that are kept
    as they stand in the input.

    The page of a record is its `html` field, or else a `body` with markup, as for the items of a
    crawl. Other fields are named by a setting: -s DEDUP_TEXT_FIELDS=title,text.

    DEDUP_SCOPE says what a page is compared with. By default these are the pages of one spider,
    without --spider those of the spider without a name: added pages are compared with each other, but
    not with those of a crawl. --spider compares with the pages of that spider. Any other DEDUP_SCOPE
    compares with pages that were recorded under the same scope. Only items are compared with, or, if
    DEDUP_SOURCE is `response`, only responses.

    A record that cannot be read is reported and counted. It is kept if it is whole; a damaged record
    of a web archive is left out. If the command is interrupted there is no output, and the same command
    begins anew. The exit code is 1 if a file could not be read to its end.

    \b
    Examples:
      dedup add pages.jsonl --output unique.jsonl
      dedup add --index archive.db crawl.warc.gz --output unique.warc.gz
      dedup add html/ --output unique/ -s DEDUP_MAX_LOST_WORDS=15
      dedup add new.csv --judge --spider news
    """
    check_output(output, path, settings, files)
    with open_index(index_place(path), read_only=judge) as index:
        from dedup.files.adding import Adding
        from dedup.files.adding import check_output as check_format
        from dedup.files.finding import find_feeds
        from dedup.files.work import WorkerSettings

        chosen = settings_for(index, settings)
        inputs = find_feeds(files, chosen.fields, form or "")
        if output:
            check_format(output, inputs)
        kind = "item" if chosen.source == "item" else "page"
        worker = WorkerSettings(rule=chosen.fields, config=chosen.config, spider=spider, kind=kind)
        adding = Adding(
            index,
            inputs,
            worker,
            jobs=jobs or os.cpu_count() or 1,
            record=not judge,
            output=output,
            tell=_Problems().tell,
            tell_copy=_print_copy if as_json else _show_copy,
        )
        for trouble in inputs.troubles:
            click.echo(printable(trouble, limit=500), err=True)
        gc.freeze()  # the modules: each full collection would go through them again
        seconds = _judge(adding)
        _sum_up(adding, index, inputs, seconds, as_json=as_json)
    if adding.counts["unreadable"] or inputs.troubles:
        sys.exit(1)


def _judge(adding: Adding) -> float:
    """Judge all records, with a progress bar; return the seconds that it took."""
    begin = time.perf_counter()
    try:
        with progress_bar("judging", has_thread=False) as show, closing(adding.work()) as steps:
            for _ in steps:
                rate = adding.records / (time.perf_counter() - begin)
                show(adding.share, 1.0, f"{adding.records:,} records, {rate:,.0f}/s")
    except KeyboardInterrupt:
        raise DedupError(f"interrupted after {adding.records:,} records") from None
    return time.perf_counter() - begin


class _Problems:
    """Shows the first problems on the standard error."""

    def __init__(self) -> None:
        self._count = 0

    def tell(self, problem: str) -> None:
        self._count += 1
        if self._count <= _MAX_PROBLEMS:
            click.echo(printable(problem, limit=500), err=True)
        if self._count == _MAX_PROBLEMS:
            click.echo("further problems are only counted", err=True)


def _print_copy(record: str, url: str, verdict: Verdict) -> None:
    names = ("canonical_url", "content_distance", "structure_distance", "similarity", "lost", "words")
    measures = {name: getattr(verdict, name) for name in (*names, "canonical_run")}
    print_json({"record": record, "url": url, "reason": verdict.reason.value, **measures}, indent=None)


def _show_copy(record: str, url: str, verdict: Verdict) -> None:
    canonical = printable_url(verdict.canonical_url, 2000)
    click.echo(f"{verdict.reason}  {printable(url or record, 2000)}  of {canonical}")


def _sum_up(adding: Adding, index: Index, inputs: Inputs, seconds: float, *, as_json: bool) -> None:
    counts = adding.counts
    rate = adding.records / seconds if seconds else 0.0
    troubles = counts["unreadable"] + len(inputs.troubles)
    if as_json:
        values: dict[str, Any] = {
            "run": adding.run.id if adding.run else None,
            "index": index.name,
            "records": adding.records,
            **{name: counts[name] for name in _COUNTS},
            "over_limit": sum(counts[f"over_limit/{excess}"] for excess in Excess),
            "unreadable": troubles,
            "left_out": inputs.left_out,
            "seconds": round(seconds, 3),
            "records_per_second": round(rate, 1),
        }
        print_json(values, indent=None)
        return
    if adding.run:
        rule = inputs.rule.text_fields
        named = (
            f"no record has anything in the fields that were named ({', '.join(rule)})" if rule else ""
        )
        click.echo(summary(counts, index, adding.run, unjudged=named))
    else:
        judged = f"{counts['seen']:,} pages judged, {counts['dropped']:,} of them copies"
        click.echo(f"{judged}; nothing is recorded.")
    for count, said in (
        (counts["bad"], "records could not be read, and were kept where they are whole"),
        (counts["revisits"], "revisits of dropped records were left out of the output"),
        (troubles, "files or folders could not be read to their end"),
        (inputs.left_out, "files in folders were left out: their names do not tell a format"),
    ):
        if count:
            click.echo(f"  {count:,} {said}")
    click.echo(f"  {rate:,.0f} records a second, {seconds:,.1f} seconds")


_COUNTS = (
    *("seen", "kept", "dropped", "new", "near_duplicate", "exact_duplicate"),
    *("unchanged", "updated", "not_judged", "bad", "revisits", "dropped_for_earlier_run"),
)
