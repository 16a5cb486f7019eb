"""Crawl a million generated pages in three crawls, and print the results.

    python -m benchmarks.soak FOLDER --pages 1000000

Each crawl is a process of its own: Scrapy with the add-on, a feed, and a download handler that makes the
pages, a hundred in each response.  FOLDER gets the index, the feeds and the measurements.  A command that
was interrupted continues when it is run again.

The first crawl makes four in five of all visits.  Of the visits of the others 70 % are to known places.  Of
new places 35 % have a text of their own; 25 % have one, too, with layout, title and site of another page,
and must be kept; 15 % repeat an earlier page byte for byte, and 25 % with one to five words replaced.  A
page is *kept, a copy* if its text was kept at another URL before, and *dropped, wrongly* if it was dropped
for a page with another text, or was the first with its text.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import click
from click.testing import CliRunner

from benchmarks.soak.crawling import Sample, crawl
from benchmarks.soak.pages import CRAWLS, Plan
from benchmarks.soak.report import feed_problems, scores, tables
from dedup import SQLiteIndex
from dedup.cli import main as dedup


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--pages", default=1_000_000, show_default=True, help="How many visits all crawls make together."
)
@click.option("--seed", default=1, show_default=True)
@click.option("--every", default=5_000, show_default=True, help="Pages between two measurements.")
@click.option(
    "--one", type=int, hidden=True, help="Do this crawl in this process; used by the command itself."
)
def main(folder: Path, pages: int, seed: int, every: int, one: int | None) -> None:
    if one is not None:
        crawl(Plan(pages, seed), one, folder, every)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(CRAWLS)):
        if not (folder / f"stats-{number}.json").exists():
            command = [sys.executable, "-m", "benchmarks.soak", str(folder), "--one", str(number)]
            choices = ["--pages", str(pages), "--seed", str(seed), "--every", str(every)]
            subprocess.run([*command, *choices], check=True)
    report(Plan(pages, seed), folder)


def report(plan: Plan, folder: Path) -> None:
    """Print what the crawls in *folder* came to."""
    samples = Sample.read(folder / "soak.csv")
    beginnings = [int((folder / f"rows-before-{number}").read_text()) for number in range(len(CRAWLS))]
    with SQLiteIndex(folder / "pages.db") as index:
        found = scores(plan, index, beginnings)
        problems = feed_problems(index, folder, beginnings)
    begin = time.perf_counter()
    checked = CliRunner().invoke(dedup, ["check", str(folder / "pages.db")])
    click.echo(f"{tables(samples, found, folder)}\n")
    for line in problems or ["The feeds hold exactly the pages that the index says were kept."]:
        click.echo(line)
    click.echo(f"`dedup check`, {time.perf_counter() - begin:.0f} s: {checked.output.strip()}")


if __name__ == "__main__":
    main()
