"""``dedup report --changes``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from dedup.cli.options import check_run, opened
from dedup.cli.output import text_output, url_text
from dedup.report.changes import SUMMARY, Record, changes, told
from dedup.values.errors import DedupError
from dedup.values.printable import printable
from dedup.values.row import DRY_RUN

# Of so many passages of a page, and so many characters of each, a terminal is told.
_PASSAGES, _LONGEST = 5, 300


def tell_changes(
    path: Path | str | None, run: int | None, output: Path | None, *, as_json: bool
) -> None:
    """Print what *run*, or the last crawl, has changed."""
    with opened(path, read_only=True) as index, text_output(output) as file:
        check_run(index, run)
        runs = [one.id for one in index.book.all() if one.action != DRY_RUN]
        if run is None and not runs:
            raise DedupError(f"there is no crawl in {index.name}")
        for record in changes(index, runs[-1] if run is None else run):
            lines = [json.dumps(record)] if as_json else _lines(record)
            file.writelines(f"{line}\n" for line in lines)


def _lines(record: Record) -> Iterator[str]:
    """Yield the lines about a page, or at last the counts."""
    if record["change"] == SUMMARY:
        yield told(record) or f"{record['added']:,} added: there was no crawl before"
        return
    line = f"{record['change']:<9} {url_text(record['url']) or printable(record['key'])}"
    if "moved_from" in record:
        line += f" from {url_text(record['moved_from'])}"
    if "copy_of" in record:
        line += f", now a copy of {url_text(record['copy_of'])}"
    if "came" in record:
        line += f" (+{record['words_came']:,} -{record['words_went']:,} words)"
    yield line
    for name, sign in (("went", "-"), ("came", "+")):
        for passage in (record.get(name) or ())[:_PASSAGES]:
            yield f"  {sign} {printable(passage, _LONGEST)}"
