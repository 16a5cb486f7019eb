"""``dedup restore`` and ``dedup withheld``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.runs import address
from dedup.cli.terminal import print_json, row_record, working
from dedup.index import Index, Row
from dedup.values.errors import DedupError
from dedup.values.printable import printable


@click.command()
@click.argument("url", required=False)
@index_option
@click.option("--run", type=int, help="The pages that this run dropped, see `dedup runs`.")
@click.option("--look", is_flag=True, help="Only list the pages; restore nothing.")
@json_option
def restore(
    *, url: str | None, path: Path | str | None, run: int | None, look: bool, as_json: bool
) -> None:
    """Have the next crawl keep what was dropped at URL, or by a run.

    Lists each dropped page with the page that it repeats. The next crawl that meets it keeps it,
    whatever it repeats then. A page whose callback was skipped gave no items: the next crawl of its
    spider requests it by itself, if it still has the callback.

    The dropped items themselves are in DEDUP_DROPPED_FEED, if that was set.

    \b
    Examples:
      dedup restore --run 3 --look
      dedup restore --run 3
      dedup restore https://example.com/page
    """
    if run is not None and url is not None and path is None:  # the one argument is the index
        path, url = Path(url), None
    if (run is None) == (url is None):
        raise click.UsageError("give a URL or --run")
    with opened(path) as index, working("looking"):
        rows = _looked_at(index, url, run) if look else _restored(index, url, run)
        skipped = {one.row for one in index.book.withheld() if one.what == "callback"}
    if as_json:
        print_json([row_record(row) | {"callback_skipped": row.id in skipped} for row in rows])
        return
    for row in rows:
        click.echo(_line(row, row.id in skipped))
    fetched = sum(row.id in skipped for row in rows)
    what = "were dropped" if look else "will be kept by the next crawl that meets them"
    click.echo(f"{len(rows):,} pages {what}; {fetched:,} of them had their callback skipped", err=True)


@click.command()
@index_option
@click.option("--run", type=int, help="Only the links withheld by the run of this number.")
@json_option
def withheld(path: Path | str | None, run: int | None, as_json: bool) -> None:
    """List the links of copies that were not requested and that no crawl has met since.

    \b
    Examples:
      dedup withheld > again.txt; scrapy crawl urls -a file=again.txt
      dedup withheld --run 3
    """
    with opened(path) as index, working("looking"):
        if run is not None:
            _require_run(index, run)
        links = index.book.never_met(run)
    if as_json:
        print_json([asdict(one) for one in links])
        return
    for url in dict.fromkeys(one.url for one in links):
        click.echo(address(url))
    click.echo(f"{len(links):,} links were withheld and not met since", err=True)


def _restored(index: Index, url: str | None, run: int | None) -> list[Row]:
    if run is not None:
        _require_run(index, run)
        return index.ledger.restore_run_copies(run)
    return index.ledger.restore_url_copies(url or "")


def _looked_at(index: Index, url: str | None, run: int | None) -> list[Row]:
    if run is not None:
        _require_run(index, run)
    rows = index.views.history(url) if url is not None else index.rows(run)
    return [row for row in rows if not row.verdict.kept and row.outcome.stands]


def _require_run(index: Index, run: int) -> None:
    if run not in {known.id for known in index.runs()}:
        raise DedupError(f"there is no run {run} in {index.name}; see `dedup runs`")


def _line(row: Row, is_skipped: bool) -> str:
    name = address(row.sighting.url) or printable(row.sighting.item_key or row.sighting.title)
    skipped = "  (callback skipped)" if is_skipped else ""
    canonical = printable(row.verdict.canonical_url) or "an item without URL"
    return f"{name or 'an item without URL'}  {row.verdict.reason.value} of {canonical}{skipped}"
