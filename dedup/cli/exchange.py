"""``dedup export`` and ``dedup import``."""

from __future__ import annotations

from pathlib import Path

import click

from dedup.cli.options import (
    Writing,
    index_option,
    index_place,
    named_index_option,
    opened,
    settings_for,
    settings_option,
)
from dedup.cli.output import named, progress_bar
from dedup.files.exchange.files import Exported, export_lines, writing
from dedup.files.exchange.merge import Imported, check_recipes, import_export
from dedup.files.outputs import replacing
from dedup.index.index import open_index
from dedup.values.printable import printable

_NO_CHECK = (
    "Imported pages are compared by their public sketches only: the secret of their index stayed there."
)


@click.command(cls=Writing)
@index_option
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The file to write; compressed if its name ends with .gz.",
)
def export(path: Path | str | None, output: Path) -> None:
    """Write the fingerprints of an index, and all that is known of its pages, for another index.

    The file is JSON Lines: a header, the runs, and a line for each page, as
    docs/reference/exports.md describes. `dedup import` reads it, so that the indexes of two
    machines become one.

    \b
    Examples:
      dedup export --output fingerprints.jsonl.gz
      dedup export pages.db --output fingerprints.jsonl
    """
    with opened(path) as index:
        with (
            progress_bar("exporting") as progress,
            replacing(output) as part,
            writing(part, compressed=output.suffix == ".gz") as file,
        ):
            file.writelines(export_lines(index, progress))
        rows = index.views.statistics().rows
    click.echo(f"{rows:,} rows of {named(index.name)} are in {named(output)}.", err=True)


@click.command("import")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILES...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@named_index_option
@settings_option
def import_(
    *,
    files: tuple[Path, ...],
    path: Path | str | None,
    settings: tuple[tuple[str, str], ...],
) -> None:
    """Import what `dedup export` wrote into an index; a missing index is created.

    An empty index becomes equal to the exported one. If the index has pages or runs already, the pages
    of the file are judged as if they were crawled now, in new runs: the pages that are already there
    count as the older ones and stay. So import the index whose pages shall be kept first.

    What was imported once is not imported again: the same file may be given twice, and a later export
    of the same index adds only what is new in it. A file that is damaged, or whose fingerprints were
    made by another recipe, is refused before anything is written.

    Check sketches stay in their index with its secret; imported pages are compared without them.

    \b
    Examples:
      dedup import fingerprints.jsonl.gz --index all.db
      dedup import monday.jsonl.gz tuesday.jsonl.gz --index week.db
    """
    exports = [Exported.opened(file) for file in files]
    for exported in exports:
        with progress_bar(f"reading {printable(exported.path.name)}") as progress:
            exported.check(progress)
    with open_index(index_place(path)) as index:
        check_recipes(index, exports)
        done: list[Imported] = []
        for exported in exports:
            config = settings_for(index, settings).config
            with progress_bar(f"importing {printable(exported.path.name)}") as progress:
                imported = import_export(index, exported, config, progress)
            done.append(imported)
            click.echo(f"{named(exported.path)}: {imported}")
    if any(one.rows > one.known for one in done):
        click.echo(_NO_CHECK, err=True)
