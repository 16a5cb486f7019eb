"""``dedup merge``."""

from __future__ import annotations

from pathlib import Path

import click

from dedup.cli.options import Place, index_option, index_place, opened, settings_for, settings_option
from dedup.cli.output import named, progress_bar
from dedup.files.merge import merge as merged
from dedup.index.index import open_index, short_name


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
