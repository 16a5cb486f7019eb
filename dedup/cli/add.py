"""``dedup add``."""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

import click

from dedup.cli.options import Given, index_place, is_watched, progress_bar, settings_for
from dedup.files.adding import Adding, check_output, find_feeds
from dedup.index import Index, Run
from dedup.index.index import open_index
from dedup.model.errors import DedupError, printable
from dedup.reading.markup import Excess
from dedup.report.text import summary

_MAX_PROBLEMS = 20
_COUNTS = (
    *("records", "seen", "kept", "dropped", "new", "near_duplicate", "exact_duplicate"),
    *("unchanged", "updated", "not_judged", "bad", "dropped_for_earlier_run"),
)


def add(
    *,
    files: tuple[Path, ...],
    index: str | None,
    output: Path | None,
    form: str | None,
    spider: str,
    jobs: int | None,
    as_json: bool,
    settings: Given,
) -> None:
    place = index_place(index, settings)
    chosen = settings_for(place, settings)
    inputs = find_feeds(files, chosen.fields, form or "")
    if output:  # before anything is opened or made
        check_output(output, inputs, place)
    with open_index(place) as opened:

        def tell(problem: str) -> None:
            number = counts["bad"]
            if number <= _MAX_PROBLEMS:
                bar = "\r\x1b[K" * is_watched()  # it is drawn again
                click.echo(bar + printable(problem, limit=500), err=True, color=True)
            if number == _MAX_PROBLEMS:
                click.echo("further problems are only counted", err=True)

        adding = Adding(opened, inputs, chosen, spider=spider, jobs=jobs, output=output, tell=tell)
        counts = adding.counts
        gc.freeze()  # the modules: each full collection would go through them again
        begin = time.perf_counter()
        try:
            with progress_bar("judging") as show:

                def progress() -> None:
                    done = counts["records"]
                    rate = done / (time.perf_counter() - begin)
                    show(adding.share, 1.0, f"{done:,} records, {rate:,.0f}/s")

                run = adding.work(progress)
        except KeyboardInterrupt:
            raise DedupError(f"interrupted after {counts['records']:,} records") from None
        for trouble in inputs.troubles:
            click.echo(printable(trouble, limit=500), err=True)
        (_print_figures if as_json else _sum_up)(adding, run, opened, time.perf_counter() - begin)
    if inputs.troubles or 0 < counts["seen"] == counts["not_judged"]:
        sys.exit(1)


def _print_figures(adding: Adding, run: Run, index: Index, seconds: float) -> None:
    counts, inputs = adding.counts, adding.inputs
    figures = {
        "run": run.id,
        "index": index.name,
        **{name: counts[name] for name in _COUNTS},
        "over_limit": sum(counts[f"over_limit/{excess}"] for excess in Excess),
        "unreadable": len(inputs.troubles),
        "left_out": inputs.left_out,
        "seconds": round(seconds, 3),
        "records_per_second": round(counts["records"] / seconds, 1),
    }
    click.echo(json.dumps(figures))


def _sum_up(adding: Adding, run: Run, index: Index, seconds: float) -> None:
    counts, inputs, fields = adding.counts, adding.inputs, ", ".join(adding.settings.text_fields)
    unjudged = f"no record has anything in the fields that were named ({fields})" if fields else ""
    others = (
        (
            counts["beside"],
            "kept though much like another page. Files are read once, so nobody learns what changes at "
            "each load: name it in DEDUP_IGNORE (a CSS selector); `dedup explain` shows the words",
        ),
        (counts["bad"], "records could not be read, and were kept where they are whole"),
        (len(inputs.troubles), "files or folders could not be read to their end"),
        (inputs.left_out, "files of no known name, or links to folders, were left out"),
        (round(counts["records"] / seconds), f"records a second, {seconds:,.1f} seconds"),
    )
    said = [f"{number:,} {text}" for number, text in others if number]
    click.echo(summary(counts, index, run, unjudged=unjudged, said=said))
