"""``dedup restore``."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from dedup.cli.options import check_run, index_option, json_option, nearest, opened, url_and_index
from dedup.cli.output import print_json, row_record, working
from dedup.index import Index
from dedup.report.overview import counted
from dedup.values.errors import DedupError
from dedup.values.printable import printable

_LISTS = ("dropped", "orphans", "withheld")


@click.command()
@click.argument("url", required=False)
@index_option
@click.option("--run", type=int, help="What this run dropped or withheld, see `dedup report`.")
@click.option(
    "--list", "what", type=click.Choice(_LISTS), help="Only print the URLs of these; restore nothing."
)
@json_option
def restore(
    *, url: str | None, path: Path | str | None, run: int | None, what: str | None, as_json: bool
) -> None:
    """Have the next crawl keep what was dropped at URL, or by a run.

    Lists each dropped page with the page that it repeats. The next crawl that meets it keeps it,
    whatever it repeats then.

    --list prints URLs that a spider can crawl again, one a line: of pages that were dropped, of orphans
    (dropped for a page that was forgotten, or lost on its way to storage), or of withheld links (not
    requested because they stood on a copy, and not met since). --json
    says more of each, and has pages without URL too. Without URL, --run and --list it counts them.

    \b
    Examples:
      dedup restore https://example.com/page
      dedup restore --run 3
      dedup restore --list orphans > again.txt; scrapy crawl urls -a file=again.txt
      dedup restore --list withheld --run 3
    """
    url, path = url_and_index(url, path, is_index=what is not None or run is not None)
    if url is not None and (what is not None or run is not None):
        raise click.UsageError("give a URL, or --run and --list")
    with opened(path) as index, working("looking"):
        check_run(index, run)
        if what is not None:
            found = _listed(index, what, run)
        elif url is None and run is None:
            _count({name: len(_listed(index, name, None)) for name in _LISTS}, as_json=as_json)
            return
        else:
            found = _restored(index, url, run)
    if as_json:
        print_json(found)
    elif what is None:
        _tell(found)
    else:
        for address in dict.fromkeys(_address(one["url"]) for one in found if one["url"]):
            click.echo(address)
        click.echo(f"{len(found):,} {what}", err=True)


def _count(counts: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        print_json(counts)
        return
    for name, count in counts.items():
        click.echo(f"{count:>7,} {name}")


def _listed(index: Index, what: str, run: int | None) -> list[dict[str, Any]]:
    """Return what is in a list, of one *run* or of all."""
    if what == "withheld":
        found = index.book.never_met(run)
        return [{"url": one.url, "row": one.row, "run": one.run} for one in found]
    if what == "orphans":
        rows = index.orphans()
        return [row_record(row) for row in rows if run in (None, row.sighting.run)]
    return [row_record(row) for row in index.rows(run) if not row.verdict.kept and row.outcome.stands]


def _restored(index: Index, url: str | None, run: int | None) -> list[dict[str, Any]]:
    """Restore what was dropped at *url* or by *run*, and return it."""
    if run is not None:
        rows = index.ledger.restore_run_copies(run)
    else:
        rows = index.ledger.restore_url_copies(url or "")
        if not rows:
            dropped = (row.sighting.url for row in index.rows() if not row.verdict.kept)
            raise DedupError(
                f"nothing was dropped at {printable(url or '')} that could be restored in {index.name}"
                f"{nearest(url or '', dropped)}"
            )
    return list(map(row_record, rows))


def _tell(found: list[dict[str, Any]]) -> None:
    for one in found:
        name = (
            _address(one["url"]) or printable(one["item_key"] or one["title"]) or "an item without URL"
        )
        canonical = printable(one["canonical_url"]) or "an item without URL"
        click.echo(f"{name}  {one['reason']} of {canonical}")
    kept = f"will be kept by the next crawl that meets {'it' if len(found) == 1 else 'them'}"
    click.echo(f"{counted(len(found), 'page')} {kept}", err=True)


def _address(url: str) -> str:
    """Return *url* with all that could act on a terminal percent-encoded; it can still be crawled."""
    return "".join(
        letter if letter.isprintable() and letter != " " else quote(letter, "") for letter in url
    )
