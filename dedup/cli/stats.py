"""``dedup stats`` and ``dedup clusters``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.terminal import console, print_json, row_record, url_text, working
from dedup.index import SQLiteIndex, Tally
from dedup.report.counts import Count, counts
from dedup.values.printable import printable

# What the rows are counted by; "run" and "site" are names of the JSON too.
_BY: dict[str, Callable[[Tally], object]] = {
    "reason": lambda tally: tally.reason,
    "run": lambda tally: tally.run,
    "site": lambda tally: tally.site,
}


@click.command()
@index_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Runs and sites.")
@json_option
def stats(path: Path | None, limit: int, as_json: bool) -> None:
    """Count what is in the index: by reason, by run, by site, and what the file is like.

    Every page that was seen is a row, each time that it was seen. A row is kept or dropped; it is
    released if its page was lost on its way to storage, and forgotten after `dedup forget`. Orphans
    are dropped rows whose page is gone; `dedup orphans` lists them.

    \b
    Examples:
      dedup stats
      dedup stats --json | jq '.total.dropped'
    """
    with opened(path) as index:
        with working("counting"):
            tallies = index.views.tallies()
        tables = {name: counts(tallies, key) for name, key in _BY.items()}
        total = next(iter(counts(tallies, lambda _: "all")), Count("all", 0, 0, 0, 0, 0))
        facts = _facts(index)
    if as_json:
        rows = {f"by_{name}": [asdict(count) for count in table] for name, table in tables.items()}
        print_json({"total": asdict(total), **rows, **facts})
        return
    screen = console()
    _show_counts(screen, "all rows", [total], 1)
    for name, table in tables.items():
        _show_counts(screen, f"by {name}", table, limit)
    for name, value in facts.items():
        screen.print(Text(f"{name:<8} {_value(value)}"))


@click.command()
@index_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Show so many.")
@click.option(
    "--min-size",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    help="With so many pages or more.",
)
@json_option
def clusters(path: Path | None, limit: int, min_size: int, as_json: bool) -> None:
    """List the largest clusters: a page that was kept, and how many pages were dropped for it.

    The size counts the page and its copies, a copy once for each time that it was seen. The
    similarity is that of the copy that is least like the page; a low one in a large cluster is worth
    a look: `dedup explain` and `dedup compare` give one. `dedup report` lists all members.

    \b
    Examples:
      dedup clusters
      dedup clusters --min-size 100 --limit 5
    """
    with opened(path) as index, working("counting"):
        found = index.views.clusters(limit, min_copies=min_size - 1)
    if as_json:
        print_json(
            [
                {
                    "size": cluster.copies + 1,
                    "min_similarity": cluster.similarity,
                    **{
                        key: row_record(cluster.canonical)[key] for key in ("url", "title", "row", "run")
                    },
                }
                for cluster in found
            ]
        )
        return
    screen = console()
    screen.print(Text("     size  least alike  page", "bold"))
    for cluster in found:
        url = url_text(cluster.canonical.sighting.url)
        screen.print(Text(f"{cluster.copies + 1:>9,}  {cluster.similarity:>11.2f}  {url}"))


def _facts(index: SQLiteIndex) -> dict[str, Any]:
    found = index.views.statistics()
    return {
        "orphans": found.orphans,
        "bytes": found.bytes,
        "blocks": index.blocks,
        "bands": str(index.banding) if index.banding else "",
        "parser": index.parser,
        "recipe": dict(index.recipe()),
    }


def _value(value: object) -> str:
    if isinstance(value, dict):
        return printable(", ".join(f"{name}={text}" for name, text in value.items()), 2000)
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value)) or "none"


def _show_counts(screen: Console, title: str, table: list[Count], limit: int) -> None:
    screen.print(Text(f"{'rows':>12} {'kept':>12} {'dropped':>12} {'share':>6}  {title}", "bold"))
    for count in table[:limit]:
        numbers = f"{count.rows:>12,} {count.kept:>12,} {count.dropped:>12,}"
        lost = f" ({count.released:,} released)" if count.released else ""
        gone = f" ({count.forgotten:,} forgotten)" if count.forgotten else ""
        share = count.dropped / count.rows if count.rows else 0
        name = printable(count.name) or "(none)"
        screen.print(Text(f"{numbers} {share:>6.1%}  {name}{lost}{gone}"))
    if len(table) > limit:
        screen.print(Text(f"{'':>46}  and {len(table) - limit:,} more"))
    screen.print()
