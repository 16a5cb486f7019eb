"""``dedup add``."""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dedup.cli.options import (
    Writing,
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
from dedup.model.printable import printable
from dedup.report.summary import summary

if TYPE_CHECKING:
    from dedup.files.adding import Adding, Event
    from dedup.files.feeds import Inputs

_FORMATS = ("jsonl", "csv", "html", "warc", "parquet")
_MAX_PROBLEMS = 20


@click.command(cls=Writing)
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
    path: Path | str | None,
    output: Path | None,
    judge: bool,
    form: str | None,
    spider: str,
    jobs: int | None,
    as_json: bool,
    settings: tuple[tuple[str, str], ...],
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
    with open_index(index_place(path), read_only=judge) as index:
        from dedup.files.adding import Adding, AddOptions, check_output
        from dedup.files.feeds import find_feeds

        chosen = settings_for(index, settings)
        feeds = find_feeds(files, chosen.fields, form or "")
        if output:
            check_output(output, feeds)
        choices = AddOptions(
            config=chosen.config,
            rule=chosen.fields,
            kind="item" if chosen.source == "item" else "page",
            spider=spider,
            jobs=jobs or os.cpu_count() or 1,
            record=not judge,
            has_output=output is not None and not judge,
        )
        gc.freeze()  # the modules: each full collection would go through them again
        talk = _Talk(as_json=as_json)
        adding = Adding(index, feeds, choices, talk.tell)
        seconds = _work(adding, feeds, output, talk)
        _sum_up(adding, index, feeds, seconds, as_json=as_json)
    if adding.tally.counts["unreadable"] or feeds.troubles:
        sys.exit(1)


def _work(adding: Adding, feeds: Inputs, output: Path | None, talk: _Talk) -> float:
    """Judge all records and write the output, with progress bars; return the seconds of judging."""
    begin = time.perf_counter()
    try:
        for trouble in feeds.troubles:
            talk.say(trouble)
        _judge(adding, begin)
        seconds = time.perf_counter() - begin
        if output:
            _write(adding, feeds, output)
        adding.finish()
    except KeyboardInterrupt:
        adding.stop("interrupted")
        raise DedupError(f"interrupted after {adding.tally.records:,} records") from None
    except BaseException:
        adding.stop("failed")
        raise
    return seconds


def _judge(adding: Adding, begin: float) -> None:
    with progress_bar("judging", has_thread=False) as show:
        for tally in adding.work():
            rate = tally.records / (time.perf_counter() - begin)
            show(tally.share, 1.0, f"{tally.records:,} records, {rate:,.0f}/s")


def _write(adding: Adding, feeds: Inputs, output: Path) -> None:
    from dedup.files.adding import write_output

    with progress_bar("writing") as show:
        for share in write_output(output, feeds.feeds, adding):
            show(share, 1.0, f"{share:.0%}")


class _Talk:
    """Messages on the way: problems on stderr, copies on stdout where nothing is recorded."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._problems = 0

    def say(self, text: str) -> None:
        click.echo(printable(text, limit=500), err=True)

    def tell(self, event: Event) -> None:
        if event.problem:
            self._problems += 1
            if self._problems <= _MAX_PROBLEMS:
                self.say(f"{event.name}: {event.problem}" if event.name else event.problem)
            if self._problems == _MAX_PROBLEMS:
                self.say("further problems are only counted")
        elif event.verdict is not None:
            self._copy(event)

    def _copy(self, event: Event) -> None:
        verdict = event.verdict
        assert verdict is not None
        if self._as_json:
            values = {
                "record": event.name,
                "url": event.url,
                "reason": verdict.reason.value,
                "canonical_url": verdict.canonical_url,
                "content_distance": verdict.content_distance,
                "structure_distance": verdict.structure_distance,
                "similarity": verdict.similarity,
                "lost": verdict.lost,
                "words": verdict.words,
                "canonical_run": verdict.canonical_run,
            }
            print_json(values, indent=None)
            return
        name = event.url or event.name
        canonical = verdict.canonical_url or "(no URL)"
        click.echo(f"{verdict.reason}  {printable(name, 2000)}  of {printable(canonical, 2000)}")


def _sum_up(adding: Adding, index: Index, feeds: Inputs, seconds: float, *, as_json: bool) -> None:
    counts = adding.tally.counts
    rate = adding.tally.records / seconds if seconds else 0.0
    troubles = counts["unreadable"] + len(feeds.troubles)
    if as_json:
        values: dict[str, Any] = {
            "run": adding.run.id if adding.run else None,
            "index": index.name,
            "records": adding.tally.records,
            **{name: counts[name] for name in _COUNTS},
            "over_limit": sum(counts[f"over_limit/{excess}"] for excess in Excess),
            "unreadable": troubles,
            "left_out": feeds.left_out,
            "seconds": round(seconds, 3),
            "records_per_second": round(rate, 1),
        }
        print_json(values, indent=None)
        return
    lines = [_summary(adding, index)]
    for count, said in (
        (counts["bad"], "records could not be read, and were kept where they are whole"),
        (counts["revisits"], "revisits of dropped records were left out of the output"),
        (troubles, "files or folders could not be read to their end"),
        (feeds.left_out, "files in folders were left out: their names do not tell a format"),
    ):
        lines += [f"  {count:,} {said}"] if count else []
    lines.append(f"  {rate:,.0f} records a second, {seconds:,.1f} seconds")
    click.echo("\n".join(lines))


_COUNTS = (
    *("seen", "kept", "dropped", "new", "near_duplicate", "exact_duplicate"),
    *("unchanged", "updated", "not_judged", "bad", "revisits", "dropped_for_earlier_run"),
)


def _summary(adding: Adding, index: Index) -> str:
    counts = adding.tally.counts
    if adding.run is None:
        copies = counts["dropped"]
        return f"{counts['seen']:,} pages judged, {copies:,} of them copies; nothing is recorded."
    return summary(counts, index, adding.run, unjudged=adding.unjudged)
