"""The command: `python -m benchmarks.judged --help`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from platform import python_version

import click
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.judged import __doc__ as about
from benchmarks.judged.counting import Figures, Outcome, figures, left_out, total
from benchmarks.judged.labels import SET, Label, labels_in, of_site, unpacked_sites
from benchmarks.judged.report import left_out_table, losses, rules_table, sites_table
from benchmarks.judged.rules import DEFAULT, GRID, RULES, configs
from benchmarks.judged.running import Task, outcomes_of
from benchmarks.judged.sites import ADD, ORDERS
from benchmarks.pool import workers
from benchmarks.tables import Table
from dedup import DedupConfig

# What each rule dropped, by order and rule, of each site.
Found = Mapping[str, Mapping[tuple[str, str], Outcome]]


@click.command(help=(about or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--order",
    "orders",
    multiple=True,
    default=ORDERS,
    show_default=True,
    type=click.Choice(ORDERS),
    help="Take pages by name as `dedup add` does, or breadth first by their links.",
)
@click.option("--rules/--no-rules", "with_rules", default=True, help="Try other rules than the default.")
@click.option("--lists/--no-lists", "with_lists", default=True, help="List what is lost.")
@click.option("--write", type=click.Path(path_type=Path), help="Write the tables to this file.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(
    folder: Path,
    *,
    orders: Sequence[str],
    with_rules: bool,
    with_lists: bool,
    write: Path | None,
    jobs: int,
) -> None:
    labels = labels_in(folder / SET)
    rules, refused = configs(RULES) if with_rules else (configs({DEFAULT: {}})[0], {})
    grid = configs(GRID)[0] if with_rules else {}
    asked = {order: [*rules, *grid] if order == orders[0] else [DEFAULT] for order in orders}
    with tempfile.TemporaryDirectory() as scratch:
        found = _run_all(unpacked_sites(folder / SET, Path(scratch)), {**grid, **rules}, asked, jobs)
    counted = {
        site: {key: figures(outcome, of_site(labels, site)) for key, outcome in outcomes.items()}
        for site, outcomes in found.items()
    }
    tables = [
        sites_table(_TITLES[order], {site: counted[site][order, DEFAULT] for site in counted})
        for order in orders
    ]
    if with_rules:
        tables += _tried(counted, orders[0], list(rules), list(grid), refused)
    if with_lists:
        _print_losses(found, orders, labels)
    click.echo("\n\n".join(table.markdown() for table in tables))
    if write:
        note = f"Measured with Python {python_version()}."
        body = "\n\n".join([_HEAD, note, *(table.markdown() for table in tables)])
        write.write_text(body + "\n", "utf-8")


def _run_all(
    folders: Sequence[Path],
    rules: Mapping[str, DedupConfig],
    orders: Mapping[str, Sequence[str]],
    jobs: int,
) -> dict[str, dict[tuple[str, str], Outcome]]:
    """Return what the *rules* drop of each site; the largest sites begin."""
    sizes = {folder: sum(1 for path in folder.rglob("*") if path.is_file()) for folder in folders}
    tasks = [Task(folder, rules, orders) for folder in sorted(folders, key=lambda path: -sizes[path])]
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with workers(jobs) as pool, Progress(*columns, console=Console(stderr=True)) as progress:
        work = progress.add_task("judging sites", total=sum(sizes.values()))
        found = pool.each(
            outcomes_of, tasks, lambda number: progress.advance(work, sizes[tasks[number].folder])
        )
    by_name = {task.folder.name: outcomes for task, outcomes in zip(tasks, found, strict=True)}
    return dict(sorted(by_name.items()))


def _tried(
    counted: Mapping[str, Mapping[tuple[str, str], Figures]],
    order: str,
    rules: Sequence[str],
    grid: Sequence[str],
    refused: Mapping[str, str],
) -> list[Table]:
    sums = {rule: total(one[order, rule] for one in counted.values()) for rule in rules}
    by_site = {site: {rule: one[order, rule] for rule in grid} for site, one in counted.items()}
    return [
        rules_table("Other rules", sums, refused),
        left_out_table(left_out(by_site), len(grid)),
    ]


def _print_losses(found: Found, orders: Sequence[str], labels: Sequence[Label]) -> None:
    for order in orders:
        outcomes = [one[order, DEFAULT] for one in found.values()]
        click.echo("\n".join(losses(order, outcomes, labels)) + "\n")


_TITLES = {
    order: f"The default rule, pages in the order of {'their names' if order == ADD else 'links'}"
    for order in ORDERS
}
_HEAD = """# Whole sites, and what readers said of the drops

Printed by `python -m benchmarks.judged DATA_FOLDER --write`. Nine whole sites go through an index, as `dedup add`
does it. Of 160 pages that an earlier version dropped, and of 56 pairs that it kept, somebody has read both pages.

- **A** was right to drop, **B** arguable (less than some 15 words of its own, a stub, a list of links), **C** wrong.
  Of the pairs that were kept, **M** is a missed duplicate, **P** arguable, **N** two different pages.
- Each cell has three counts: pages dropped for any page, pages dropped for the page of the label, all pages of the
  label.
- **Wrong** are pages of label C that were dropped for the page of the label, and labelled pages that were dropped for
  another page with more than 15 words that are not on that page.
- **Near** are the drops of pages of which no page kept has the same bytes or tokens. The last columns but one are
  about these, and need no label. **Words lost** are in no run of four words of any page of the site that was kept.
  Words that are lost with two pages count twice. Two tokens of kana are one word, and three of Thai, Lao, Khmer or
  Burmese.
- The drops that were read are those of a rule that asks for a similarity of .62 only. So that rule has nearly all of
  A, B and C, and what only other rules drop has no label: there the columns about words tell.
- **Seconds** are for asking the index and adding to it; fingerprints are made before."""


if __name__ == "__main__":
    main()
