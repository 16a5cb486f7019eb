"""``dedup check``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from dedup.cli.options import index_option, opened
from dedup.cli.output import bars, named
from dedup.cli.terminal import working
from dedup.index import Index
from dedup.index.index import SQLiteIndex
from dedup.index.postings import MAX_BLOCKS, MIN_BLOCKS
from dedup.recipes.bands import Banding
from dedup.values.errors import DedupError
from dedup.values.printable import printable

_LONGEST_LINE = 4096


@click.command()
@index_option
@click.option("--rebuild", is_flag=True, help="Make the posting lists anew from the rows before.")
@click.option(
    "--blocks",
    type=click.IntRange(MIN_BLOCKS, MAX_BLOCKS),
    help="With --rebuild: how many blocks a simhash is cut into from now on.",
)
@click.option(
    "--bands",
    metavar="BANDSxROWS",
    help="With --rebuild: make lists of bands, for instance 24x3, or delete them: none.",
)
def check(*, path: Path | str | None, rebuild: bool, blocks: int | None, bands: str | None) -> None:
    """Test whether the file is sound; the exit code is 1 if it is not.

    SQLite tests the file, the posting lists are compared with the rows, and the stored pages are read.

    --rebuild makes the posting lists anew, after damage or with another number of blocks. Fewer blocks
    are faster for many pages (4 for some millions or more), more blocks for few. The answers do not
    depend on it. The file does not change until the new lists are whole. Lists of bands are made when a
    recipe uses them (minhash, both), and stay until --bands none removes them; with --bands, but
    without --blocks, only these are made anew.

    \b
    Examples:
      dedup check
      dedup check pages.db --rebuild
      dedup check --rebuild --blocks 4
    """
    if not rebuild and (blocks or bands is not None):
        raise click.UsageError("--blocks and --bands go with --rebuild")
    with opened(path) as index:
        if rebuild:
            _rebuild(index, blocks, bands)
        with working("checking"):
            problems = index.problems()
    for problem in problems or [f"{named(index.name)} is sound."]:
        click.echo(printable(problem, _LONGEST_LINE))
    if problems:
        sys.exit(1)


def _rebuild(index: Index, blocks: int | None, bands: str | None) -> None:
    if not isinstance(index, SQLiteIndex):
        raise DedupError(f"{named(index.name)} has no posting lists; --rebuild is for files")
    with bars() as shown:
        bar = shown.add_task("rebuilding", total=None)

        def progress(done: int, total: int) -> None:
            shown.update(bar, completed=done, total=total)

        if bands is not None:  # first, as these may be wrong ones
            index.store.band(_banding(bands), progress)
        if bands is None or blocks:
            index.store.rebuild(blocks, progress)
    cut = f" and {index.banding}" if index.banding else ""
    click.echo(f"{named(index.name)} is rebuilt with {index.blocks} blocks{cut}.")


def _banding(text: str) -> Banding | None:
    if text == "none":
        return None
    numbers = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    if numbers is None:
        raise click.UsageError(f"--bands {text!r} must be bands x rows, for instance 24x3, or none")
    return Banding(int(numbers[1]), int(numbers[2]))
