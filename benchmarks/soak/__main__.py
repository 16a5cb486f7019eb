"""Crawl a million generated pages, in three crawls, and say what came of it.

    python -m benchmarks.soak FOLDER --pages 1000000 --output docs

Each crawl is a process of its own: Scrapy with the add-on, a download handler that makes the pages,
a feed.  FOLDER gets the index, the feeds and the measurements; a command broken off goes on where
it was.  OUTPUT gets ``soak.csv``, ``soak-speed.svg``, ``soak-memory.svg`` and ``soak.md``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
from click.testing import CliRunner

from benchmarks.soak.crawling import Sample, crawl
from benchmarks.soak.pages import CRAWLS, SITES, Plan
from benchmarks.soak.report import feed_problems, plot, scores, tables
from dedup import SQLiteIndex
from dedup.cli import main as dedup

PAGE = """# A million pages

`python -m benchmarks.soak FOLDER --pages {pages} --output docs` crawls {pages:,} generated pages of {sites}
sites in three crawls, each a Scrapy process with the add-on, a feed, and a download handler that makes the
pages, a hundred to a response. The first crawl meets four in five of them; 70 % of what the others visit
are places known from before, most unchanged, some with two words edited, some with another text.

Of the new places 35 % have a text of their own; 25 % have one, too, but stand in the very layout, under
the title and on the site of another page, and must be kept; 15 % repeat an earlier page byte for byte;
25 % have one to five of its words replaced, half of them in the template of another site. Which page is
repeated follows Zipf's law: the nth text is repeated in proportion to 1/n. Texts have 180 to 320 words of
a vocabulary of 20,000, so that unrelated ones are unrelated. Everything follows from a seed.

Speed by the clock tells what else the machine did; speed of processor time is the crawl's own, with
Scrapy, the making of the pages (some 0.2 ms each) and the feed. Memory includes the plan of the crawls.

![Pages a second](soak-speed.svg)

![Memory and size of the index](soak-memory.svg)

{text}

A page is *kept, a copy* where its text was kept at another URL before: mostly near copies whose content
word is further than `DEDUP_MAX_DISTANCE` from that of the page kept. *Dropped, wrongly* is what was dropped
for a page with another text, or as the first of its text.
"""


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--pages", default=1_000_000, show_default=True, help="How many visits all crawls make.")
@click.option("--seed", default=1, show_default=True)
@click.option("--every", default=5_000, show_default=True, help="Pages between two measurements.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="FOLDER if not given.")
@click.option("--one", type=int, hidden=True, help="Do this crawl here; used by the command itself.")
def main(  # noqa: PLR0917
    folder: Path, pages: int, seed: int, every: int, output: Path | None, one: int | None
) -> None:
    if one is not None:
        crawl(Plan(pages, seed), one, folder, every)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(CRAWLS)):
        if not (folder / f"stats-{number}.json").exists():
            command = [sys.executable, "-m", "benchmarks.soak", str(folder), "--one", str(number)]
            choices = ["--pages", str(pages), "--seed", str(seed), "--every", str(every)]
            subprocess.run([*command, *choices], check=True)
    report(Plan(pages, seed), folder, output or folder)


def report(plan: Plan, folder: Path, output: Path) -> None:
    """Write what the crawls in *folder* came to into *output*, and print it."""
    samples = Sample.read(folder / "soak.csv")
    beginnings = [int((folder / f"rows-before-{number}").read_text()) for number in range(len(CRAWLS))]
    with SQLiteIndex(folder / "pages.db") as index:
        found = scores(plan, index, beginnings)
        problems = feed_problems(index, folder, beginnings)
    begin = time.perf_counter()
    checked = CliRunner().invoke(dedup, ["check", "--index", str(folder / "pages.db")])
    text = "\n".join(
        [
            tables(samples, found, folder),
            "",
            *(problems or ["The feeds hold exactly the pages that the index says were kept."]),
            f"`dedup check`, {time.perf_counter() - begin:.0f} s: {checked.output.strip().replace(f'{folder}/', '')}",
        ]
    )
    output.mkdir(parents=True, exist_ok=True)
    (output / "soak.md").write_text(
        PAGE.format(pages=sum(map(len, plan.crawls)), sites=SITES, text=text)
    )
    if output != folder:
        shutil.copy(folder / "soak.csv", output / "soak.csv")
    plot(samples, output)
    print(text)


if __name__ == "__main__":
    main()
