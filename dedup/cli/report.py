"""``dedup report``."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from dedup.cli.options import (
    Given,
    Place,
    check_output,
    check_run,
    index_option,
    index_place,
    json_option,
    named_index_option,
    nearest,
    opened,
    pairs_option,
    settings_for,
    settings_option,
    text,
)
from dedup.cli.output import named as shown
from dedup.cli.output import progress_bar, text_output, working
from dedup.files.marks_file import marks_of, read_marks, write_marks
from dedup.index import Index
from dedup.index.address import short_name, shown_place
from dedup.index.index import open_index
from dedup.model.errors import DedupError
from dedup.model.printable import printable
from dedup.model.row import DRY_RUN
from dedup.model.urls import host_of
from dedup.prints.config import DedupConfig
from dedup.report.changes import changes, lines_of
from dedup.report.clusters import Report, Selection
from dedup.report.export import write_csv, write_json, write_jsonl
from dedup.report.html import write_report
from dedup.report.replay import replayed
from dedup.report.text import CLUSTERS, HEADING, LOSS, QUIET, TITLE, Line, lines

_RECORDS = {"jsonl": write_jsonl, "csv": write_csv}
_STYLES: dict[str, dict[str, Any]] = {
    HEADING: {"bold": True},
    TITLE: {"bold": True, "fg": "cyan"},
    LOSS: {"fg": "yellow"},
    QUIET: {"dim": True},
}


@click.command()
@index_option
@named_index_option("named")
@click.option("--run", type=int, help="Only what this run saw.")
@click.option(
    "--domain",
    default="",
    type=text,
    help="Only pages of this host or domain and its subdomains.",
)
@settings_option
@pairs_option("--what-if", "tried", told="Judge again by this setting; may be repeated.")
@click.option(
    "--format",
    "form",
    type=click.Choice((*_RECORDS, "html")),
    help="A record for each dropped page (csv, jsonl), or a page for a browser (html).",
)
@json_option
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="As text all clusters and copies; as records also each kept page.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="The file to write [default: the terminal].",
)
@click.option("--changes", "is_of_changes", is_flag=True, help="What the last crawl, or --run, changed.")
@click.option("--serve", "is_served", is_flag=True, help="Show the HTML report in a browser, live.")
def report(
    *,
    path: Place | None,
    named: Place | None,
    run: int | None,
    domain: str,
    settings: Given,
    tried: Given,
    form: str | None,
    as_json: bool,
    everything: bool,
    output: Path | None,
    is_of_changes: bool,
    is_served: bool,
) -> None:
    """Print the runs and the clusters: each page kept, and the pages dropped for it.

    The copies that lose most words come first. Words are lost with a copy if they are not on the page
    kept. Exact copies lose none.

    --what-if shows what other settings would have dropped, for instance looser or stricter thresholds:
    all pages are judged again from their stored fingerprints. The index stays as it is. With a million
    pages this takes some minutes.

    --format html writes one file to look at in a browser: shares by site and run, a review
    of the copies that lose most, clusters with the texts of their pages side by side (where
    DEDUP_STORE_PAGES keeps them). It lists the clusters that lose most, up to 2,000 pages; its figures
    count all. It loads nothing else and can be sent to anybody. It needs scrapy-dedup[report].

    --serve shows the same report on 127.0.0.1, for this machine only, made anew each time that the page
    is loaded: while a crawl runs, it shows what that has dropped so far. Here the review has buttons:
    marks are written to a file beside the index, which the next crawl obeys; the index is only read.

    \b
    Examples:
      dedup report
      dedup report pages.db --run 3 --domain example.com
      dedup report pages.db --format csv --output dropped.csv
      dedup report pages.db --what-if DEDUP_MAX_LOST_WORDS=15
      dedup report --format html --output report.html
      dedup report --all > clusters.txt
      dedup report --serve
      dedup report --changes --json > changes.jsonl
    """
    output = None if output == Path("-") else output
    for is_wrong, told in (
        (path and named, "the index is named twice: give INDEX or --index"),
        (
            is_of_changes and (form or everything or is_served or tried or domain),
            "--changes goes with --run, --json and --output only",
        ),
        (
            is_served and (form or as_json or output or everything),
            "--serve goes without --format, --json, --output and --all",
        ),
        (form and as_json, "give --format or --json"),
        (form == "html" and output is None, "--format html needs --output"),
        (everything and (as_json or form == "html"), "--all goes with text, jsonl and csv"),
    ):
        if is_wrong:
            raise click.UsageError(told)
    path = path or named
    check_output(output, path, settings)
    selection = Selection(run, domain)
    if is_of_changes:
        _tell_changes(path, run, output, as_json=as_json)
        return
    if is_served:
        _serve(path, settings, tried, selection)
        return
    with opened(path) as index, _report(index, settings, tried, selection) as (read, config):
        if output and form == "html":
            write_html(read, config, output, index)
            size = output.stat().st_size / 1e6
            click.echo(f"{shown(output)}: {size:,.1f} MB, to be opened in a browser", err=True)
        elif form or as_json:
            with working("reading") if output else nullcontext():
                _write(read, form, output, _facts(index), everything=everything)
        else:
            _tell(read, output, limit=0 if everything else CLUSTERS)


@contextmanager
def _report(
    index: Index, settings: Given, tried: Given, selection: Selection
) -> Iterator[tuple[Report, DedupConfig]]:
    """Give the report on *index* by *settings*, judged again where something is *tried*."""
    check_run(index, selection.run)
    if selection.domain and next(Selection(domain=selection.domain).rows(index), None) is None:
        hosts = sorted({host_of(row.sighting.url_key) for row in index.rows()})
        there = f"there is no page of {printable(selection.domain)} in {index.name}"
        raise DedupError(there + nearest(selection.domain, hosts))
    config = settings_for(index, settings).config
    if not tried:
        yield Report(index, selection, None, config.exceptions), config
        return
    other = settings_for(index, (*settings, *tried)).config
    with progress_bar("judging again") as progress, replayed(index, other, progress) as replay:
        yield Report(replay.index, selection, replay, config.exceptions), other


def _facts(index: Index) -> dict[str, Any]:
    """Return how large an index is, and what it is made of."""
    facts = {"name": index.name, **asdict(index.store.statistics()), "recipe": dict(index.recipe())}
    return {"index": facts}


def _tell(report: Report, output: Path | None, *, limit: int) -> None:
    """Print the clusters, page by page on a terminal."""
    told = lines(report, limit)
    with working("reading"):
        first = next(told)  # before it, all is read
    if output is None and sys.stdout.isatty():
        _page(chain((first,), told))
        return
    with text_output(output) as file:
        file.writelines(f"{line}\n" for _, line in chain((first,), told))


def _page(told: Iterator[Line]) -> None:
    """Print lines in colours, by a pager if they are more than the terminal shows."""
    styled = (f"{click.style(line, **_STYLES.get(kind, {}))}\n" for kind, line in told)
    head = list(islice(styled, shutil.get_terminal_size().lines))
    if len(head) < shutil.get_terminal_size().lines:
        click.echo("".join(head), nl=False)
    else:
        click.echo_via_pager(chain(head, styled))


def _write(
    report: Report, form: str | None, output: Path | None, facts: dict[str, Any], *, everything: bool
) -> None:
    if report.replay and form:
        click.echo(report.replay, err=True)
    with text_output(output) as file:
        if form:
            _RECORDS[form](report, file, everything=everything)
        else:
            write_json(report, file, facts)


def _tell_changes(path: Place | None, run: int | None, output: Path | None, *, as_json: bool) -> None:
    """Print what *run*, or the last crawl, has changed."""
    with opened(path, read_only=True) as index, text_output(output) as file:
        check_run(index, run)
        runs = [one.id for one in index.runs.all() if one.action != DRY_RUN]
        if run is None and not runs:
            raise DedupError(f"there is no crawl in {index.name}")
        for record in changes(index, runs[-1] if run is None else run):
            told = [json.dumps(record)] if as_json else lines_of(record)
            file.writelines(f"{line}\n" for line in told)


# In a browser


def is_installed() -> bool:
    """Return whether the extra ``report`` is there."""
    return find_spec("jinja2") is not None


def write_html(report: Report, config: DedupConfig, output: Path, index: Index, token: str = "") -> None:
    """Write *report*, which is about *index*, for a browser; with a *token* it has buttons for marks."""
    with working("reading"), text_output(output) as out:
        name, marks = short_name(index.name), marks_of(index.name).name
        write_report(report, out, config, name, marks=marks, token=token)


def _serve(path: Place | None, settings: Given, tried: Given, selection: Selection) -> None:
    """Serve the HTML report; the index is opened to read only, anew for each.  Marks go to a file."""
    from dedup.cli.serving import serve

    if not is_installed():
        raise DedupError('the HTML report needs pip install "scrapy-dedup[report]"')
    place = index_place(path)
    file = marks_of(place)

    def write(output: Path, token: str) -> None:
        with (
            open_index(place, read_only=True) as index,
            _report(index, settings, tried, selection) as (read, config),
        ):
            write_html(read, config, output, index, token)

    def mark(cells: Mapping[str, str]) -> None:
        write_marks(file, read_marks(file).with_mark(cells))

    with open_index(place, read_only=True) as index:
        check_run(index, selection.run)
        settings_for(index, settings)
    serve(write, mark, shown_place(place))
