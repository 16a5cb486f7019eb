"""``dedup forget``."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from dedup.cli.options import Age, index_option, json_option, opened
from dedup.cli.output import named
from dedup.cli.terminal import print_json, working
from dedup.index import Index
from dedup.values.errors import DedupError


@click.command()
@index_option
@click.option("--run", type=int, help="Undo the run of this number, see `dedup runs`.")
@click.option("--url", help="Forget what was seen at this URL.")
@click.option(
    "--older-than",
    type=Age(),
    help="Forget what was neither seen nor repeated for so long: 30d.",
)
@click.option("--dry-run", is_flag=True, help="Only say how many rows; forget nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")
@json_option
def forget(
    *,
    path: Path | str | None,
    run: int | None,
    url: str | None,
    older_than: float | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget pages: nothing is compared with them any more.

    Pages that were dropped for them become orphans; `dedup orphans` lists these. No row is deleted:
    the rows stay in the index as forgotten, but the texts that DEDUP_STORE_PAGES kept are deleted. This
    cannot be undone, so on a terminal it asks before.

    \b
    Examples:
      dedup forget --run 3
      dedup forget --url https://example.com/page
      dedup forget --older-than 90d --dry-run
    """
    if (run is None) + (url is None) + (older_than is None) != 2:
        raise click.UsageError("give one of --run, --url and --older-than")
    what = _What(run, url, None if older_than is None else time.time() - older_than)
    with opened(path) as index:
        if run is not None and run not in {known.id for known in index.runs()}:
            raise DedupError(f"there is no run {run} in {index.name}; see `dedup runs`")
        is_asked = not (yes or dry_run or as_json) and sys.stdin.isatty()
        if dry_run or is_asked:
            count = _tried(index, what)
        if is_asked:
            click.confirm(f"Forget {count:,} rows of {named(index.name)}?", abort=True, err=True)
        if not dry_run:
            with working("forgetting"):
                count = what.forget(index)
    if as_json:
        print_json({"forgotten": count, "dry_run": dry_run})
    else:
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
