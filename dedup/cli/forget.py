"""``dedup forget``."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from dedup.cli.options import Age, check_run, index_option, opened, url_and_index
from dedup.cli.output import named, working
from dedup.index import Index


@click.command()
@click.argument("url", required=False)
@index_option
@click.option("--run", type=int, help="Undo the run of this number, see `dedup report`.")
@click.option(
    "--older-than",
    type=Age(),
    help="Forget what was neither seen nor repeated for so long: 30d.",
)
@click.option("--dry-run", is_flag=True, help="Only say how many rows; forget nothing.")
def forget(
    *,
    url: str | None,
    path: Path | str | None,
    run: int | None,
    older_than: float | None,
    dry_run: bool,
) -> None:
    """Forget what was seen at URL, by a run, or long ago: nothing is compared with it any more.

    Pages that were dropped for it become orphans; `dedup restore --list orphans` lists these. No row is
    deleted: the rows stay in the index as forgotten, but the texts that DEDUP_STORE_PAGES kept are
    deleted. This cannot be undone, so on a terminal it asks before.

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
