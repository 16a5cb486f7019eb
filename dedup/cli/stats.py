"""``dedup stats``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.terminal import console, print_json, row_record, url_text, working
from dedup.index import ClusterSize, Index, SQLiteIndex, Tally
from dedup.report.counts import Count, counts
from dedup.values.printable import printable

_MOST_LINES = 20
# What the rows are counted by; "run" and "site" are names of the JSON too.
_BY: dict[str, Callable[[Tally], object]] = {
    "reason": lambda tally: tally.reason,
    "run": lambda tally: tally.run,
    "site": lambda tally: tally.site,
}


@click.command()
@index_option
@json_option
def stats(path: Path | str | None, as_json: bool) -> None:
    """Count what is in the index by reason, run and site, and list the largest clusters.

    Every page has a row for each time that it was seen. A row is kept or dropped; it is released if
    its page was lost on its way to storage, and forgotten after `dedup forget`. Orphans are dropped
    rows whose page is gone; `dedup orphans` lists them.

    A cluster is a page that was kept and the copies that were dropped for it; its size counts a copy
    once for each time that it was seen. "Least alike" is the similarity of the copy that shares least
    with the page: a low one in a large cluster is worth a look with `dedup explain`. All members of all
    clusters are in `dedup report`.

    The tables show twenty lines; --json has all runs and sites.

    \b
    Examples:
      dedup stats
      dedup stats --json | jq '.total.dropped'
    """
    with opened(path) as index:
        with working("counting"):
            tallies = index.views.tallies()
            clusters = index.views.clusters(_MOST_LINES)
        tables = {name: counts(tallies, key) for name, key in _BY.items()}
        total = next(iter(counts(tallies, lambda _: "all")), Count("all", 0, 0, 0, 0, 0))
        facts = _facts(index)
    if as_json:
        rows = {f"by_{name}": [asdict(count) for count in table] for name, table in tables.items()}
        largest = {"clusters": list(map(_cluster_record, clusters))}
        print_json({"total": asdict(total), **rows, **largest, **facts})
        return
    screen = console()
    _show_counts(screen, "all rows", [total], 1)
    for name, table in tables.items():
        _show_counts(screen, f"by {name}", table, _MOST_LINES)
    _show_clusters(screen, clusters)
    for name, value in facts.items():
        screen.print(Text(f"{name:<8} {_value(value)}"))


def _cluster_record(cluster: ClusterSize) -> dict[str, Any]:
    row = row_record(cluster.canonical)
    return {
        "size": cluster.copies + 1,
        "min_similarity": cluster.similarity,
        **{name: row[name] for name in ("url", "title", "row", "run")},
    }


def _facts(index: Index) -> dict[str, Any]:
    statistics = index.views.statistics()
    return {
        "orphans": statistics.orphans,
        "bytes": statistics.bytes,
        **({"blocks": index.blocks} if isinstance(index, SQLiteIndex) else {}),
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


def _show_clusters(screen: Console, clusters: Sequence[ClusterSize]) -> None:
    if not clusters:
        return
    screen.print(Text("size  least alike  largest clusters", "bold"))
    for cluster in clusters:
        url = url_text(cluster.canonical.sighting.url)
        screen.print(Text(f"{cluster.copies + 1:>4,}  {cluster.similarity:>11.2f}  {url}"))
    screen.print()


def _show_counts(screen: Console, title: str, table: list[Count], limit: int) -> None:
    wide = max((len(f"{count.rows:,}") for count in table), default=0)
    rows, dropped = max(wide, 4), max(wide, 7)
    head = f"{'rows':>{rows}} {'kept':>{rows}} {'dropped':>{dropped}} share  {title}"
    screen.print(Text(head, "bold"))
    for count in table[:limit]:
        numbers = f"{count.rows:>{rows},} {count.kept:>{rows},} {count.dropped:>{dropped},}"
        lost = f" ({count.released:,} released)" if count.released else ""
        gone = f" ({count.forgotten:,} forgotten)" if count.forgotten else ""
        share = count.dropped / count.rows if count.rows else 0
        name = printable(count.name) or "(none)"
        screen.print(Text(f"{numbers} {share:>5.0%}  {name}{lost}{gone}"))
    if len(table) > limit:
        screen.print(Text(f"and {len(table) - limit:,} more"))
    screen.print()
