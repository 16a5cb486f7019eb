"""The command: `python -m benchmarks.judged --help`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from benchmarks.judged import __doc__ as about
from benchmarks.judged.counting import (
    LABELS,
    MOST_LOST,
    Drop,
    Figures,
    figures,
    labels_in,
    unpacked_sites,
)
from benchmarks.judged.running import drops_by_order
from benchmarks.judged.sites import ORDERS
from benchmarks.pool import each
from benchmarks.tables import Row, Table

EXCERPT = 240


@click.command(help=(about or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--lists/--no-lists", default=True, help="List what is lost.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(folder: Path, *, lists: bool, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        sites = unpacked_sites(folder, Path(scratch))
        found = each(drops_by_order, sites, jobs, "judging sites")
    drops = dict(sorted(zip((site.name for site in sites), found, strict=True)))
    labels = labels_in(folder)
    for order, title in ORDERS.items():
        of_sites = {site: by_order[order] for site, by_order in drops.items()}
        counted = {
            site: figures(some, [one for one in labels if one.site == site])
            for site, some in of_sites.items()
        }
        click.echo(f"{table(title, counted).markdown()}\n")
        if lists:
            click.echo("\n".join(losses(of_sites)) + "\n")


def table(order: str, counted: Mapping[str, Figures]) -> Table:
    """Return a table with a row for each site, and their sum."""
    header = ("site", *LABELS, "drops", "near", "words lost", f"drops over {MOST_LOST}")
    rows = [row(site, found) for site, found in counted.items()]
    every = row("all", sum(counted.values(), Figures()))
    return Table(f"Pages in the order of {order}", header, [*rows, every])


def row(name: str, found: Figures) -> Row:
    """Return the cells of a row; labels as pages dropped / all."""
    shown = [f"{found.dropped[one]} / {found.of[one]}" if found.of[one] else "" for one in LABELS]
    return (name, *shown, f"{found.drops:,}", f"{found.near:,}", f"{found.words:,}", found.heavy)


def losses(drops: Mapping[str, Sequence[Drop]]) -> list[str]:
    """Return lines about drops that lose much."""
    lines = [f"Drops that lose over {MOST_LOST} words:"]
    for site, some in drops.items():
        heavy = sorted((drop for drop in some if drop.words > MOST_LOST), key=lambda drop: -drop.words)
        for drop in heavy:
            lines.append(f"  {drop.words:6}  {site}: {drop.page} for {drop.other}")
            lines.append(f"          {drop.lost[:EXCERPT]}")
    return lines


if __name__ == "__main__":
    main()
