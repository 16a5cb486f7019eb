"""``dedup frequencies``."""

from __future__ import annotations

from pathlib import Path

import click

from dedup.cli.options import Writing, given_config, json_option, settings_option
from dedup.cli.output import bars, named, text_output
from dedup.cli.terminal import print_json
from dedup.files.frequencies import count_terms, document_files, frequency_lines, read_documents


@click.command(cls=Writing)
@click.argument(
    "corpus", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="CORPUS..."
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The table to write."
)
@settings_option
@json_option
def frequencies(
    *,
    corpus: tuple[Path, ...],
    output: Path,
    settings: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Count in how many documents each term stands, for DEDUP_RECIPE = "default,frequencies=FILE".

    CORPUS are folders or files: HTML pages, feeds with a page or item in each record (JSON Lines, as a
    crawl writes with -O pages.jsonl, CSV, WARC, Parquet), or plain texts. The table has a line for each
    term of two documents or more, with its inverse document frequency. The terms are those of the recipe
    that -s names; by default they are words.

    \b
    Examples:
      dedup frequencies pages.jsonl --output idf.txt
      dedup frequencies html/ --output idf.txt -s DEDUP_RECIPE=characters
    """
    config = given_config(settings)
    files = document_files(corpus)
    with bars() as shown:
        tracked = shown.track(files, description="counting")
        documents, counts = count_terms(
            (text for file in tracked for text in read_documents(file)), config
        )
    lines = list(frequency_lines(documents, counts))
    with text_output(output) as file:
        file.writelines(f"{line}\n" for line in lines)
    if as_json:
        print_json({"terms": len(lines), "documents": documents, "output": str(output)})
    else:
        click.echo(f"{len(lines):,} terms of {documents:,} documents are in {named(output)}.", err=True)
