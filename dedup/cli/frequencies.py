"""``dedup frequencies``."""

from __future__ import annotations

from pathlib import Path

import click

from dedup.cli.options import Writing
from dedup.cli.output import bars, named, text_output
from dedup.files.frequencies import count_terms, document_files, frequency_lines, read_documents
from dedup.recipes.config import DedupConfig


@click.command(cls=Writing)
@click.argument(
    "corpus", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="CORPUS..."
)
@click.option("--output", required=True, type=click.Path(path_type=Path), help="The table to write.")
@click.option("--terms", default="words", show_default=True, help="What is counted, as DEDUP_TERMS.")
@click.option("--term-size", default=0, help="As DEDUP_TERM_SIZE.")
@click.option("--user-dictionary", default="", help="As DEDUP_USER_DICTIONARY.")
@click.option(
    "--minimum", default=2, show_default=True, help="Leave out what stands in fewer documents."
)
def frequencies(
    *,
    corpus: tuple[Path, ...],
    output: Path,
    terms: str,
    term_size: int,
    user_dictionary: str,
    minimum: int,
) -> None:
    """Count in how many documents each word stands, for the setting DEDUP_FREQUENCIES.

    CORPUS are folders or files: HTML pages, feeds with a page or item a record (JSON Lines as a
    crawl writes with -O pages.jsonl, CSV, WARC, Parquet), or plain texts. The table is a line for each
    word with its inverse document frequency.

    \b
    Examples:
      dedup frequencies pages.jsonl --output idf.txt
      dedup frequencies html/ --output idf.txt --minimum 3
    """
    config = DedupConfig(terms=terms, term_size=term_size, user_dictionary=user_dictionary)
    files = document_files(corpus)
    with bars() as shown:
        tracked = shown.track(files, description="counting")
        documents, counts = count_terms(
            (text for file in tracked for text in read_documents(file)), config
        )
    lines = list(frequency_lines(documents, counts, minimum))
    with text_output(output) as file:
        file.writelines(f"{line}\n" for line in lines)
    click.echo(f"{len(lines):,} terms of {documents:,} documents are in {named(output)}.", err=True)
