"""``dedup check``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dedup.cli.options import index_option, opened
from dedup.cli.output import bars, named, working
from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.index.postings import MAX_BLOCKS, MIN_BLOCKS
from dedup.values.errors import DedupError


@click.command()
@index_option
@click.option("--rebuild", is_flag=True, help="Make the posting lists anew from the rows before.")
@click.option(
    "--blocks",
    type=click.IntRange(MIN_BLOCKS, MAX_BLOCKS),
    help="With --rebuild: how many blocks a simhash is cut into from now on.",
)
def check(*, path: Path | str | None, rebuild: bool, blocks: int | None) -> None:
    """Test whether the file is sound; the exit code is 1 if it is not.

    SQLite tests the file, the posting lists are compared with the rows, and the stored pages are read.

    --rebuild makes the posting lists anew, after damage or with another number of blocks. Fewer blocks
    are faster for many pages (4 for some millions or more), more blocks for few. The answers do not
    depend on it. The file does not change until the new lists are whole.

    \b
    Examples:
      dedup check
      dedup check pages.db --rebuild
      dedup check --rebuild --blocks 4
    """
    if blocks and not rebuild:
        raise click.UsageError("--blocks goes with --rebuild")
    with opened(path) as index:
        if rebuild:
            _rebuild(index, blocks)
        with working("checking"):
            problems = index.problems()
    for problem in problems or [f"{named(index.name)} is sound."]:
        click.echo(named(problem))
    if problems:
        sys.exit(1)


def _rebuild(index: Index, blocks: int | None) -> None:
    if not isinstance(index, SQLiteIndex):
        raise DedupError(f"{named(index.name)} has no posting lists; --rebuild is for files")
    with bars() as shown:
        bar = shown.add_task("rebuilding", total=None)
        index.store.rebuild(blocks, lambda done, total: shown.update(bar, completed=done, total=total))
    cut = f" and {index.banding}" if index.banding else ""
    click.echo(f"{named(index.name)} is rebuilt with {index.blocks} blocks{cut}.")
