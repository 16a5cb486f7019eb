"""Where the processor time of `dedup add` goes, stage by stage, for pages of about one size.

    python -m benchmarks.add_stages FOLDER --kilobytes 8    # a folder of HTML

All stages run in this process (one job), so that their times add up; with more jobs those of `sighting`
are shared out, and `to another process` comes on top.  Pages within a third of that size are taken.
The command prints medians over rounds of processor time, in microseconds a page, with lowest and highest,
and in seconds what does not depend on the number of pages: the start of the command.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any
from unittest.mock import patch

import click
from rich.console import Console
from rich.table import Table

from dedup import SQLiteIndex
from dedup.files.adding import work
from dedup.files.adding.adding import Adding, AddOptions
from dedup.files.feeds import find_feeds
from dedup.files.feeds.html_files import HtmlFiles
from dedup.index.ledger import Ledger
from dedup.reading.fields import FieldRule
from dedup.reading.page import Page
from dedup.reading.stored import pack

ROUNDS = 5
COMMAND = "from dedup.cli import main; main()"
START = ("-c", COMMAND, "add", "0.html", "--index", "x.db", "--jobs", "1")


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--kilobytes", default=8.0, show_default=True, help="The size of pages.")
@click.option("--repeat", default=ROUNDS, show_default=True, help="Rounds.")
def main(folder: Path, kilobytes: float, repeat: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        pages = Path(scratch, "pages")
        pages.mkdir()
        count = link(folder, pages, kilobytes * 1000)
        rounds = [stages(pages, Path(scratch, f"{number}.db")) for number in range(repeat)]
        starts = [{"the command, with one page": started(pages, *START)} for _ in range(repeat)]
    report(f"{count} pages of {kilobytes:g} KB: microseconds a page", rounds, count / 1e6)
    report("seconds", starts, 1)


def link(folder: Path, pages: Path, size: float) -> int:
    """Link the files of *folder* of about that *size* in bytes into *pages*; return how many."""
    (feed,) = find_feeds([folder], FieldRule()).feeds
    near = [file for file in map(Path, feed.files) if size * 2 <= 3 * file.stat().st_size <= size * 4]
    for number, file in enumerate(near):
        (pages / f"{number}.html").symlink_to(file.resolve())
    return len(near)


def stages(pages: Path, place: Path) -> dict[str, float]:
    """Add *pages* to a new index, and return the seconds that each stage took."""
    spent: defaultdict[str, float] = defaultdict(float)
    sent: list[Any] = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            begin = time.process_time()
            result = function(*args, **options)
            spent[name] += time.process_time() - begin
            if name == "sighting":
                sent.append(result)
            return result

        return call

    with (
        patch.object(HtmlFiles, "raw_page", staticmethod(timed("file", HtmlFiles.raw_page))),
        patch.object(Page, "from_raw", timed("parse and walk", Page.from_raw)),
        patch.object(work, "pack", timed("text to keep", pack)),
        patch.object(work.Sighter, "results", timed("sighting", work.Sighter.results)),
        patch.object(Ledger, "_verdict", timed("verdict", Ledger._verdict)),
        patch.object(Ledger, "_record", timed("row", Ledger._record)),
        SQLiteIndex(place) as index,
    ):
        whole = timed("all", add)
        whole(index, pages)
    spent["fingerprint"] = spent["sighting"] - sum(
        spent[name] for name in ("file", "parse and walk", "text to keep")
    )
    spent["the rest"] = spent["all"] - spent["sighting"] - spent["verdict"] - spent["row"]
    begin = time.process_time()
    for results in sent:
        pickle.loads(pickle.dumps(results))
    spent["to another process"] = time.process_time() - begin
    return spent


def add(index: SQLiteIndex, pages: Path) -> None:
    adding = Adding(index, find_feeds([pages], FieldRule()), AddOptions())
    for _ in adding.work():
        pass
    adding.finish()


def started(folder: Path, *arguments: str) -> float:
    """Return the processor seconds that Python takes with *arguments* in *folder*."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(title: str, rounds: list[dict[str, float]], unit: float) -> None:
    table = Table("stage", "median", "lowest", "highest", title=title)
    for name in rounds[0]:
        values = [seconds[name] / unit for seconds in rounds]
        digits = 2 if unit == 1 else 0
        table.add_row(name, *(f"{f(values):,.{digits}f}" for f in (median, min, max)))
    Console().print(table)


if __name__ == "__main__":
    main()
