"""``dedup forget``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from dedup.cli.options import Age, index_option, opened
from dedup.values.errors import DedupError


@click.command()
@index_option
@click.option("--run", type=int, help="Undo the run of this number, see `dedup runs`.")
@click.option("--url", help="Forget what was seen at this URL.")
@click.option("--older-than", type=Age(), help="Forget what no page has repeated for so long: 30d, 12h.")
def forget(path: Path | None, run: int | None, url: str | None, older_than: float | None) -> None:
    """Forget pages: nothing is compared with them any more.

    What was dropped for them is marked as orphaned; `dedup orphans` lists it. No row is deleted:
    the rows stay in the index, as forgotten, without the pages that DEDUP_STORE_PAGES kept.

    \b
    Examples:
      dedup forget --run 3
      dedup forget --url https://example.com/page
      dedup forget --older-than 90d
    """
    if (run is None) + (url is None) + (older_than is None) != 2:
        raise click.UsageError("give one of --run, --url and --older-than")
    with opened(path) as index:
        if run is not None:
            if run not in {known.id for known in index.runs()}:
                raise DedupError(f"there is no run {run} in {index.name}; see `dedup runs`")
            count = index.book.forget(run)
        elif url is not None:
            count = index.ledger.forget_url(url)
        else:
            assert older_than is not None
            count = index.ledger.forget_unseen_since(time.time() - older_than)
        click.echo(f"{count:,} rows are forgotten.")
