"""``dedup report`` and ``dedup try``."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from dedup.cli import options
from dedup.files.marks_file import marks_of, read_marks, write_marks
from dedup.files.outputs import check_target
from dedup.index import Index
from dedup.index.index import open_index
from dedup.model.address import shown_place
from dedup.model.errors import DedupError, printable
from dedup.model.verdict import DRY_RUN
from dedup.prints.fingerprinter import DedupConfig
from dedup.report.changes import Changes
from dedup.report.clusters import Report
from dedup.report.export import write_csv, write_jsonl
from dedup.report.html import page_of
from dedup.report.text import CLUSTERS, HEADING, full_name, lines
from dedup.settings import read_settings, setting_of

_RECORDS = {"jsonl": write_jsonl, "csv": write_csv}
_FORMS = {".jsonl": "jsonl", ".csv": "csv", ".html": "html", ".htm": "html"}
_OTHER_FORMS = (".json", ".ods", ".pdf", ".xls", ".xlsx")


def report(
    *,
    index: str | None,
    other_name: str | None,
    run: int | None,
    domain: str,
    form: str | None,
    everything: bool,
    output: Path | None,
    is_of_changes: bool,
    is_served: bool,
) -> None:
    output = None if output == Path("-") else output
    ending = output.suffix.lower() if output else ""
    form = form or _FORMS.get(ending)
    for told, is_wrong in {
        "the index is named twice: give INDEX or --index": index and other_name,
        "--changes goes with --run, --format jsonl and --output only": is_of_changes
        and (form not in (None, "jsonl") or everything or is_served or domain),
        "--serve goes without --format, --output and --all": is_served
        and (form or output or everything),
        f"--output {ending}: name it .html, .csv, .jsonl or .txt, or give --format": not form
        and ending in _OTHER_FORMS,
        "--format html needs --output": form == "html" and output is None,
        "--all goes with text, jsonl and csv": everything and form == "html",
    }.items():
        if is_wrong:
            raise click.UsageError(told)
    place = options.index_place(index or other_name)
    if output:
        check_target(output, (), place)
    if is_served:
        _serve(place, run, domain)
        return
    with options.opened(str(place), read_only=is_of_changes) as there:
        options.check_run(there, run)
        if is_of_changes:
            _tell_changes(there, run, output, as_json=form is not None)
            return
        read = _report(there, run, domain)
        if form is None:
            end = f"To decide: dedup report {shlex.quote(full_name(there))} --serve"
            _tell(read, output, 0 if everything else CLUSTERS, end=end * bool(read.losses.places))
            return
        with options.text_output(output) as file:
            if form == "html":
                file.write(page_of(read))
            else:
                _RECORDS[form](read, file, everything=everything)
    if output and form == "html":
        size = f"{output.stat().st_size / 1000:,.0f} KB"
        click.echo(f"{options.named(output)}: {size}, to be opened in a browser", err=True)


def _report(index: Index, run: int | None, domain: str) -> Report:
    report = Report(index, options.settings_for(index.name).config, run, domain)
    with options.working("reading"):
        seen = report.counts.seen
    if domain and not seen:
        where = index.name if run is None else f"run {run} of {index.name}"
        raise DedupError(f"there is no page of {printable(domain)} in {where}")
    return report


def _tell(report: Report, output: Path | None, *limit: Any, end: str = "") -> None:
    told = chain(lines(report, *limit), [(HEADING, end)] * bool(end))
    styled = (click.style(line, **style) for style, line in told)
    with options.text_output(output) as file:
        while some := list(islice(styled, 1_000)):
            click.echo("\n".join(some), file)


def _tell_changes(index: Index, run: int | None, output: Path | None, *, as_json: bool) -> None:
    runs = [one.id for one in index.runs.all() if one.action != DRY_RUN]
    if run is None and not runs:
        raise DedupError(f"there is no crawl in {index.name}")
    changes = Changes(index, runs[-1] if run is None else run)
    with options.text_output(output) as file:
        told = map(json.dumps, changes) if as_json else changes.told()
        file.writelines(f"{line}\n" for line in told)


def _serve(place: Path | str, run: int | None, domain: str) -> None:
    """Serve the HTML report; the index is opened to read only, anew for each.  Marks go to a file."""
    from dedup.cli.serving import serve

    file = marks_of(place)

    def write(token: str) -> str:
        with open_index(place, read_only=True) as index:
            return page_of(_report(index, run, domain), token=token)

    def mark(cells: Mapping[str, str]) -> None:
        write_marks(file, read_marks(file)[0].with_mark(cells))

    with open_index(place, read_only=True) as index:
        options.check_run(index, run)
        options.settings_for(index.name)
    serve(write, mark, shown_place(place))


_CLUSTERS_TRIED = 5  # in the terminal; the report in the browser has all


def try_(*, url: str, pages: int, output: Path | None, settings: options.Given) -> None:
    address = address_of(url)
    read_settings(dict(settings))  # a bad one is an error before the crawl
    known = {setting_of(field.name) for field in fields(DedupConfig)}
    if others := sorted(dict(settings).keys() - known):
        raise click.UsageError(f"{others[0]} cannot be tried: pages are judged by their HTML")
    # A crawl takes a relative index for one in its project.
    folder = output.absolute() if output else Path(tempfile.mkdtemp(prefix="dedup-try-"))
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{options.named(folder)} is not empty: name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    index, report = folder / "pages.db", folder / "report.html"
    if not (trial := options.plugin("command")):
        raise DedupError("Scrapy is not installed; get it by: pip install scrapy-dedup")
    with options.progress_bar("crawling") as progress:
        told = trial.try_site(address, index, pages, dict(settings), lambda done: progress(done, pages))
    if not told["pages"]:
        reasons = ", ".join(reason for reason in told if reason != "pages")
        other = "" if "://" in url else f"; did you mean http://{options.named(url)}?"
        why = reasons or "robots.txt forbids it"
        raise DedupError(f"no page of {options.named(address)} was read: {why}{other}")
    with open_index(index, read_only=True) as there:
        read = Report(there)
        report.write_text(page_of(read), "utf-8")
        click.echo(f"{read.counts.copies:,} of the first {told['pages']:,} pages would be dropped")
        _tell(read, None, _CLUSTERS_TRIED, "the report has all")
    given = "".join(f" -s {shlex.quote(f'{name}={value}')}" for name, value in settings)
    click.echo(f"\nindex:  {options.named(index)}\nreport: {options.named(report)}")
    click.echo('\nIn a project with ADDONS = {"dedup.plugin.Addon": 500}, drop copies with')
    click.echo(f"  scrapy crawl NAME{given}")
    if output is None and sys.stdout.isatty():
        click.launch(str(report))


def address_of(url: str) -> str:
    """Return *url* with a scheme; raises `UsageError` where it is no address of the web."""
    whole = url if "://" in url else f"https://{url}"
    with suppress(ValueError):
        parts = urlsplit(whole)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            if "@" in parts.netloc:
                raise click.UsageError("a trial takes no user and no password: give the URL without")
            return whole
    raise click.UsageError(f"{options.named(url)} is no URL of a site")
