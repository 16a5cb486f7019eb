"""``dedup report``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from dedup.cli.html import write_html
from dedup.cli.options import (
    PlainText,
    Since,
    Writing,
    index_option,
    opened,
    settings_for,
    settings_option,
)
from dedup.cli.output import progress_bar, text_output
from dedup.cli.terminal import working
from dedup.files.outputs import replacing
from dedup.index import Index, Row, Run, glance_of
from dedup.report.clusters import KEEPS, Report, report_of
from dedup.report.columns import columns_of
from dedup.report.export import COLUMNS, records, write_csv, write_json, write_jsonl
from dedup.report.replay import Replay, replayed
from dedup.report.selection import Selection, Source
from dedup.report.text import CLUSTERS, Kind, Line, Told, outline_of
from dedup.values.errors import DedupError

_LINES = {"jsonl": write_jsonl, "csv": write_csv}
_DOCUMENTS = ("text", "json", "html")
_FORMATS = ("text", "json", *_LINES, "html", "parquet")
_STYLES: dict[Kind, dict[str, Any]] = {
    Kind.HEADING: {"bold": True},
    Kind.TITLE: {"bold": True, "fg": "cyan"},
    Kind.LOSS: {"fg": "yellow"},
    Kind.QUIET: {"dim": True},
}


@click.command(cls=Writing)
@index_option
@click.option("--run", type=int, help="Only what this run saw.")
@click.option(
    "--since", type=Since(), help="Only what was seen since then: 30d, 12h, or 2026-11-01 (UTC)."
)
@click.option(
    "--domain",
    default="",
    type=PlainText(),
    help="Only pages of this host or domain and its subdomains.",
)
@settings_option
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="Clusters for a person (text, html) or a program (json), or a record for each dropped page.",
)
@click.option("--all", "everything", is_flag=True, help="Write a record for each kept page as well.")
@click.option(
    "--keep",
    type=click.Choice(list(KEEPS)),
    default="first",
    show_default=True,
    help="Name the best page of each cluster by this rule; a crawl keeps the first it sees.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    help=f"How many clusters the text shows, 0 for all and all of their copies [default: {CLUSTERS}].",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="The file to write [default: the terminal].",
)
def report(
    *,
    path: Path | str | None,
    run: int | None,
    since: float | None,
    domain: str,
    settings: tuple[tuple[str, str], ...],
    form: str,
    everything: bool,
    keep: str,
    limit: int | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """Print the clusters: each page kept, and the pages dropped for it.

    Clusters with near copies come first, of these the largest; the copies that lose most words are
    shown first. Words are lost with a copy if they are not on the page kept. Exact copies lose none.

    A crawl keeps the first page that it sees of several copies, because it cannot know what comes
    later. --keep names the one to have instead: the newest, the longest text, the shortest URL,
    one by https, or the one that the pages name as their rel=canonical.

    -s shows what other settings would have dropped, for instance looser or stricter thresholds: all
    pages are judged again from their stored fingerprints. The index stays as it is. With a million
    pages this takes some minutes.

    --format html writes one file to look at in a browser: shares by site and run, words lost and
    distances with the thresholds drawn in, the duplicates that lose most, clusters with the texts of
    their pages side by side (where DEDUP_STORE_PAGES keeps them), borderline pairs, templates. It lists
    the largest clusters, up to 100,000 pages; its figures count all. It loads nothing else and can be
    sent to anybody. It needs scrapy-dedup[report].

    \b
    Examples:
      dedup report
      dedup report pages.db --run 3
      dedup report pages.db --since 7d --domain example.com
      dedup report pages.db --format csv --output dropped.csv
      dedup report pages.db -s DEDUP_MAX_LOST_WORDS=15 -s DEDUP_MAX_LOST_SHARE=0
      dedup report --format html --output report.html
      dedup report --keep longest
      dedup report --limit 0 > clusters.txt
    """
    output = None if output == Path("-") else output
    form = "json" if as_json else form
    if limit is not None and form != "text":
        raise click.UsageError("--limit goes with --format text")
    if form in ("html", "parquet") and output is None:
        raise click.UsageError(f"--format {form} needs --output")
    if everything and form in _DOCUMENTS:
        raise click.UsageError("--all goes with --format jsonl, csv or parquet")
    selection = Selection(run, since or 0.0, domain)
    with opened(path) as index:
        _check_run(index, run)
        with _replay(index, settings) as replay:
            if output and form == "html":
                config = settings_for(index, settings).config
                write_html(index, replay, selection, config, output, keep=keep)
                return
            if form == "text":
                most = CLUSTERS if limit is None else limit
                _tell(index, replay, selection, output, keep=keep, limit=most)
                return
            with _reading(replay or index, index.views.statistics().rows, output) as source:
                clusters = report_of(source, selection, keep=keep, replay=replay)
                _write(clusters, form, output, everything=everything)


def _tell(
    index: Index,
    replay: Replay | None,
    selection: Selection,
    output: Path | None,
    *,
    keep: str,
    limit: int,
) -> None:
    """Print the clusters, page by page on a terminal."""
    source = replay.index if replay else index
    with working("reading"):
        if selection == Selection():
            glances = source.views.glances()
        else:
            glances = map(glance_of, selection.rows(source))
        outline = outline_of(columns_of(glances))
    told = Told(outline=outline, source=source, keep=keep, limit=limit, replay=replay)
    if output is None and sys.stdout.isatty():
        _page(told.lines())
        return
    with text_output(output) as file:
        file.writelines(f"{line.text}\n" for line in told.lines())


def _page(lines: Iterator[Line]) -> None:
    """Print *lines* in colours, by a pager if they are more than the terminal shows."""
    styled = (f"{click.style(line.text, **_STYLES.get(line.kind, {}))}\n" for line in lines)
    shown = list(islice(styled, shutil.get_terminal_size().lines))
    if len(shown) < shutil.get_terminal_size().lines:
        click.echo("".join(shown), nl=False)
    else:
        click.echo_via_pager(chain(shown, styled))


def _write(clusters: Report, form: str, output: Path | None, *, everything: bool) -> None:
    if clusters.replay and form != "json":
        click.echo(clusters.replay, err=True)
    if form == "parquet":
        from dedup.report.parquet import write_parquet

        assert output is not None
        with replacing(output) as part:
            write_parquet(records(clusters, everything=everything), COLUMNS, part)
        return
    with text_output(output) as file:
        if form == "json":
            write_json(clusters, file)
        else:
            _LINES[form](clusters, file, everything=everything)


def _check_run(index: Index, run: int | None) -> None:
    if run is not None and run not in {known.id for known in index.runs()}:
        raise DedupError(f"there is no run {run} in {index.name}; see `dedup runs`")


@contextmanager
def _replay(index: Index, settings: tuple[tuple[str, str], ...]) -> Iterator[Replay | None]:
    """Give a replay by the *settings* of this command, None where there are none."""
    if not settings:
        yield None
        return
    config = settings_for(index, settings).config
    with ExitStack() as stack:
        with progress_bar("judging again") as progress:
            replay = stack.enter_context(replayed(index, config, progress))
        yield replay


@dataclass(frozen=True, slots=True)
class _Watched:
    """A source that reports how much of it has been read."""

    source: Source
    rows_in_all: int
    progress: Callable[[int, int], None]

    def rows(self, run: int | None = None) -> Iterator[Row]:
        for row in self.source.rows(run):
            self.progress(row.id, self.rows_in_all)
            yield row

    def rows_of(self, rows: Iterable[int]) -> Iterator[Row]:
        return self.source.rows_of(rows)

    def runs(self) -> Sequence[Run]:
        return self.source.runs()


@contextmanager
def _reading(source: Source, rows: int, output: Path | None) -> Iterator[Source]:
    """Give *source*, with a progress bar unless the output goes to the terminal itself."""
    with progress_bar("reading", show=output is not None) as progress:
        yield _Watched(source, rows, progress)
