"""Crawl a million generated pages in three crawls, and report the results.

    python -m benchmarks.soak FOLDER --pages 1000000 --output docs

Each crawl is a process of its own: Scrapy with the add-on, a feed, and a download handler that makes the
pages.  FOLDER gets the index, the feeds and the measurements.  A command that was interrupted continues
when it is run again.  OUTPUT gets ``soak.csv``, ``soak-speed.svg``, ``soak-memory.svg`` and ``soak.md``.
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
sites in three crawls. Each crawl is a Scrapy process with the add-on, a feed, and a download handler that makes
the pages, a hundred in each response. The first crawl makes four in five of all visits. Of the visits of the other
crawls, 70 % are to known places: most of these are unchanged, some have two words edited, some have another text.

There are four kinds of new places:

- 35 % have a text of their own.
- 25 % also have a text of their own, but the layout, the title and the site of another page. They must be kept.
- 15 % repeat an earlier page byte for byte.
- 25 % repeat an earlier page with one to five words replaced, half of them in the template of another site.

Which page is repeated follows Zipf's law: the nth text is repeated in proportion to 1/n. Texts have 180 to 320
words from a vocabulary of 20,000, so that unrelated texts have little in common. A seed determines everything.

Pages a second by the clock also depend on what else the machine did. Pages a second of processor time depend only
on the crawl, with Scrapy, the making of the pages (some 0.2 ms each) and the feed. Memory includes the plan of the
crawls.

![Pages a second](soak-speed.svg)

![Memory and size of the index](soak-memory.svg)

{text}

A page counts as *kept, a copy* if its text was kept at another URL before. Most of these are near-duplicates whose
content simhash is more than `max_distance` (10) bits from that of the page kept. A page counts as *dropped,
wrongly* if it was dropped for a page with another text, or was the first page with its text.
"""


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--pages", default=1_000_000, show_default=True, help="How many visits all crawls make together."
)
@click.option("--seed", default=1, show_default=True)
@click.option("--every", default=5_000, show_default=True, help="Pages between two measurements.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the report goes [default: FOLDER].",
)
@click.option(
    "--one", type=int, hidden=True, help="Do this crawl in this process; used by the command itself."
)
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
    checked = CliRunner().invoke(dedup, ["check", str(folder / "pages.db")])
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
