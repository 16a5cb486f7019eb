"""``dedup check``, ``dedup forget`` and ``dedup merge``."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from dedup.cli.options import (
    Age,
    Place,
    check_run,
    index_option,
    index_place,
    opened,
    settings_for,
    settings_option,
    url_and_index,
)
from dedup.cli.output import bars, named, progress_bar, working
from dedup.files.merge import merge as merged
from dedup.index import Index
from dedup.index.address import short_name
from dedup.index.index import SQLiteIndex, open_index
from dedup.values.errors import DedupError


@click.command()
@click.argument("url", required=False)
@index_option
@click.option("--run", type=int, help="Undo the run of this number, see `dedup report`.")
@click.option(
    "--older-than", type=Age(), help="Forget what was neither seen nor repeated for so long: 30d."
)
@click.option("--dry-run", is_flag=True, help="Only say how many rows; forget nothing.")
def forget(
    *, url: str | None, path: Path | str | None, run: int | None, older_than: float | None, dry_run: bool
) -> None:
    """Forget what was seen at URL, by a run, or long ago: nothing is compared with it any more.

    Pages that were dropped for it become orphans; `dedup restore --list orphans` lists these. The rows
    stay in the index as forgotten, but the texts that DEDUP_STORE_PAGES kept are deleted, and with
    --older-than the rows of lost pages. This cannot be undone, so on a terminal it asks before.

    \b
    Examples:
      dedup forget --run 3
      dedup forget https://example.com/page
      dedup forget --older-than 90d --dry-run
    """
    url, path = url_and_index(url, path, is_index=run is not None or older_than is not None)
    if (run is None) + (url is None) + (older_than is None) != 2:
        raise click.UsageError("give a URL, --run or --older-than, one of the three")
    what = _What(run, url, None if older_than is None else time.time() - older_than)
    with opened(path) as index:
        check_run(index, run)
        is_asked = not dry_run and sys.stdin.isatty()
        if dry_run or is_asked:
            count = _tried(index, what)
        if is_asked:
            click.confirm(f"Forget {count:,} rows of {named(index.name)}?", abort=True, err=True)
        if not dry_run:
            with working("forgetting"):
                count = what.forget(index)
    click.echo(f"{count:,} rows {'would be' if dry_run else 'are'} forgotten.")


@dataclass(frozen=True, slots=True)
class _What:
    """What is to be forgotten: a run, a URL, or what was not seen since a moment."""

    run: int | None
    url: str | None
    since: float | None

    def forget(self, index: Index) -> int:
        """Forget it, and return how many rows that were."""
        if self.run is not None:
            return index.book.forget(self.run)
        if self.url is not None:
            return index.ledger.forget_url(self.url)
        assert self.since is not None
        return index.ledger.forget_unseen_since(self.since)


class _Undo(Exception):  # noqa: N818 - nothing went wrong
    """Takes back what was forgotten to count it."""


def _tried(index: Index, what: _What) -> int:
    """Return how many rows *what* is: they are forgotten in a transaction that is undone."""
    count = 0
    with working("counting"), suppress(_Undo), index.batch():
        count = what.forget(index)
        raise _Undo
    return count


@click.command()
@click.argument("other", type=Place())
@index_option
@settings_option
def merge(*, other: Path | str, path: Path | str | None, settings: tuple[tuple[str, str], ...]) -> None:
    """Judge the pages of the index OTHER into the index; a missing index is created.

    The pages of OTHER are judged in their order as if they were crawled now, in new runs: the pages
    that are already there count as the older ones and stay. So begin with the index whose pages shall
    be kept. OTHER stays as it is.

    What was merged once is not merged again: the same index may be given later, and adds only what is
    new in it. An index whose fingerprints were made by another recipe is refused before anything is
    written. Texts of pages stay in their index.

    \b
    Examples:
      dedup merge monday.db week.db
      dedup merge pages.db postgresql://crawler@db.example/crawls
    """
    with opened(other, read_only=True) as there, open_index(index_place(path)) as index:
        config = settings_for(index, settings).config
        with progress_bar(f"merging {named(short_name(there.name))}") as progress:
            done = merged(there, index, config, progress)
        click.echo(f"{named(there.name)}: {done}")


@click.command()
@index_option
@click.option("--rebuild", is_flag=True, help="Make the posting lists anew from the rows before.")
def check(*, path: Path | str | None, rebuild: bool) -> None:
    """Test whether the file is sound; the exit code is 1 if it is not.

    SQLite tests the file, the posting lists are compared with the rows, and the stored pages are read.

    --rebuild makes the posting lists anew, after damage. The file does not change until they are whole.

    \b
    Examples:
      dedup check
      dedup check pages.db --rebuild
    """
    with opened(path) as index:
        if rebuild:
            _rebuild(index)
        with working("checking"):
            problems = index.problems()
    for problem in problems or [f"{named(index.name)} is sound."]:
        click.echo(named(problem))
    if problems:
        sys.exit(1)


def _rebuild(index: Index) -> None:
    if not isinstance(index, SQLiteIndex):
        raise DedupError(f"{named(index.name)} has no posting lists; --rebuild is for files")
    with bars() as shown:
        bar = shown.add_task("rebuilding", total=None)
        index.store.rebuild(lambda done, total: shown.update(bar, completed=done, total=total))
    click.echo(f"{named(index.name)} is rebuilt.")
