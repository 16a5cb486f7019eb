"""``dedup try``."""

from __future__ import annotations

import shlex
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlsplit

import click

from dedup.cli.options import Given, named, progress_bar, text_output
from dedup.cli.report import write_html
from dedup.index.index import open_index
from dedup.model.errors import DedupError
from dedup.prints.config import DedupConfig
from dedup.report.clusters import Report
from dedup.report.text import lines
from dedup.settings import read_settings, setting_of

_CLUSTERS = 5  # in the terminal; the report in the browser has all


def try_(*, url: str, pages: int, output: Path | None, settings: Given) -> None:
    """Crawl some pages of the site of *url*, and show what would be dropped."""
    address = address_of(url)
    read_settings(dict(settings))  # a bad one is an error before the crawl
    known = {setting_of(field.name) for field in fields(DedupConfig)}
    if others := sorted(dict(settings).keys() - known):
        raise click.UsageError(f"{others[0]} cannot be tried: pages are judged by their HTML")
    folder = _folder(output)
    index = folder / "pages.db"
    try:
        from dedup.plugin.command import try_site
    except ModuleNotFoundError as error:
        if error.name != "scrapy":
            raise
        raise DedupError("Scrapy is not installed; get it by: pip install scrapy-dedup") from error
    with progress_bar("crawling") as progress:
        told = try_site(address, index, pages, dict(settings), lambda done: progress(done, pages))
    if not told["pages"]:
        reasons = ", ".join(reason for reason in told if reason != "pages")
        other = "" if "://" in url else f"; did you mean http://{named(url)}?"
        raise DedupError(
            f"no page of {named(address)} was read: {reasons or 'robots.txt forbids it'}{other}"
        )
    with open_index(index, read_only=True) as opened:
        read, report = Report(opened), folder / "report.html"
        with text_output(report) as file:
            write_html(read, file)
        click.echo(f"{read.answer.copies:,} of {told['pages']:,} pages would be dropped")
        for _, line in lines(read, _CLUSTERS, "the report has all"):
            click.echo(line)
    given = "".join(f" -s {shlex.quote(f'{name}={value}')}" for name, value in settings)
    click.echo(f"\nindex:  {named(index)}")
    click.echo(f"report: {named(report)}")
    click.echo('\nIn a project with ADDONS = {"dedup.plugin.Addon": 500}, drop copies with')
    click.echo(f"  scrapy crawl NAME{given}")
    if output is None and sys.stdout.isatty():
        click.launch(str(report))


def address_of(url: str) -> str:
    """Return *url* with a scheme; raises `UsageError` where it is no address of the web."""
    whole = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(whole)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    if is_web and "@" in parts.netloc:
        raise click.UsageError("a trial takes no user and no password: give the URL without")
    if not is_web:
        raise click.UsageError(f"{named(url)} is no URL of a site")
    return whole


def _folder(output: Path | None) -> Path:
    """Return the folder, whole: a crawl takes a relative index for one in its project."""
    if output is None:
        return Path(tempfile.mkdtemp(prefix="dedup-try-"))
    output = output.absolute()
    if output.exists() and any(output.iterdir()):
        raise click.UsageError(f"{named(output)} is not empty: name a new folder")
    output.mkdir(parents=True, exist_ok=True)
    return output
