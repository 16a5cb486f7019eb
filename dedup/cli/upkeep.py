"""``dedup check`` and ``dedup rebuild``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.output import bars, named
from dedup.cli.terminal import print_json, working
from dedup.index import SQLiteIndex
from dedup.index.postings import MAX_BLOCKS, MIN_BLOCKS
from dedup.recipes.bands import Banding
from dedup.values.errors import DedupError
from dedup.values.printable import printable

_LONGEST_LINE = 4096


@click.command()
@index_option
@click.option(
    "--blocks",
    type=click.IntRange(MIN_BLOCKS, MAX_BLOCKS),
    help="How many blocks a simhash is cut into from now on.",
)
@click.option(
    "--bands",
    metavar="BANDSxROWS",
    help="Make lists of bands, for instance 24x3, or delete them: none. Without --blocks only these.",
)
@json_option
def rebuild(path: Path | str | None, blocks: int | None, bands: str | None, as_json: bool) -> None:
    """Make the posting lists anew from the rows, after damage or with another number of blocks.

    Fewer blocks are faster for many pages (4 for some millions or more), more blocks for few. The
    answers do not depend on it. The file does not change until the new lists are whole.

    Lists of bands are made when a recipe uses them (minhash, both), and stay until --bands none
    removes them.
    """
    with opened(path) as index, bars() as shown:
        if not isinstance(index, SQLiteIndex):
            raise DedupError(f"{named(index.name)} has no posting lists; `dedup rebuild` is for files")
        bar = shown.add_task("rebuilding", total=None)

        def progress(done: int, total: int) -> None:
            shown.update(bar, completed=done, total=total)

        if bands is not None:  # first, as these may be wrong ones
            index.store.band(_banding(bands), progress)
        if bands is None or blocks:
            index.store.rebuild(blocks, progress)
    if as_json:
        cut_into = {"blocks": index.blocks, "bands": str(index.banding) if index.banding else ""}
        print_json({"index": index.name, **cut_into})
        return
    cut = f" and {index.banding}" if index.banding else ""
    click.echo(f"{named(index.name)} is rebuilt with {index.blocks} blocks{cut}.")


@click.command()
@index_option
@json_option
def check(path: Path | str | None, as_json: bool) -> None:
    """Test whether the file is sound; the exit code is 1 if it is not.

    SQLite tests the file, the posting lists are compared with the rows (`dedup rebuild` makes them
    anew), and the stored pages are read.
    """
    with opened(path) as index, working("checking"):
        problems = index.problems()
    if as_json:
        print_json({"index": index.name, "sound": not problems, "problems": problems})
    else:
        for problem in problems or [f"{named(index.name)} is sound."]:
            click.echo(printable(problem, _LONGEST_LINE))
    if problems:
        sys.exit(1)


def _banding(text: str) -> Banding | None:
    if text == "none":
        return None
    numbers = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    if numbers is None:
        raise click.UsageError(f"--bands {text!r} must be bands x rows, for instance 24x3, or none")
    return Banding(int(numbers[1]), int(numbers[2]))
