"""How far a page walks through the house: calls, stays and climbs of an item, a copy and a record.

    python -m benchmarks.trace                 # of this tree
    python -m benchmarks.trace --tree FOLDER   # of another checkout, for instance the commit before

A *call* is one of a Python function of dedup.  A *stay* is each entry of a module of dedup, and each return to
one.  A *climb* is a call into a higher floor than the one that calls (`tests/test_architecture.py` has the floors).
*Modules* are those that a page enters.  Twice as many pages are traced once more, and half of the difference counts,
so that beginnings and ends of a crawl do not.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).parent.parent
KINDS = ("item", "copy", "add")
PAGES = 60
# The lowest first; as `FLOORS` of the test.
FLOORS = (
    "native values",
    "reading",
    "recipes",
    "rule urls",
    "index",
    "algorithms archives files report",
    "front",
    "cli plugin",
)
_FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names.split()}


class Trace:
    """Counts what `sys.setprofile` tells of the modules of dedup."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.stays = self.climbs = 0
        self._path: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """See `sys.setprofile`."""
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("dedup.") or event not in ("call", "return"):
            return
        if event == "return":
            self._path.pop()
            self.stays += bool(self._path) and self._path[-1] != module
            return
        caller = self._path[-1] if self._path else ""
        self.calls[module] += 1
        self.stays += caller != module
        self.climbs += bool(caller) and _floor(module) > _floor(caller)
        self._path.append(module)

    def told(self) -> dict[str, Any]:
        """Return what was counted."""
        return {"calls": self.calls, "stays": self.stays, "climbs": self.climbs}


def _floor(module: str) -> int:
    return _FLOOR.get(module.split(".")[1], 0)


def html(seed: int) -> str:
    """Return a page with words of its own, in the frame of a site."""
    words = " ".join(random.Random(seed).choices(WORDS, k=300))
    return (
        f"<html><head><title>{seed}</title></head><body><nav>home news</nav><p>{words}</p></body></html>"
    )


WORDS = ["".join(random.Random(number).choices("abdeiklmnorst", k=7)) for number in range(3000)]


def crawled(kind: str, pages: int, folder: Path) -> Trace:
    """Crawl so many *pages* in this process."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    trace = Trace()

    class Traced(scrapy.Spider):
        name = "traced"

        async def start(self) -> AsyncIterator[Any]:
            for number in range(pages):
                yield scrapy.Request("data:,x", cb_kwargs={"number": number}, dont_filter=True)

        def parse(self, _: Any, number: int = 0) -> Iterator[Any]:
            yield {"url": f"http://a/{number}", "html": html(number if kind == "item" else 0)}

    process = CrawlerProcess(
        {
            "ADDONS": {"dedup.plugin.Addon": 500},
            "DEDUP_INDEX": str(folder / "pages.db"),
            "LOG_LEVEL": "ERROR",
            "CONCURRENT_REQUESTS": 1,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Traced)
    sys.setprofile(trace)
    process.start()
    sys.setprofile(None)
    return trace


def added(pages: int, folder: Path) -> Trace:
    """Add so many records in this process."""
    from dedup.cli import main

    feed = folder / "pages.jsonl"
    records = ({"url": f"http://a/{number}", "html": html(number)} for number in range(pages))
    feed.write_text("".join(json.dumps(record) + "\n" for record in records))
    trace = Trace()
    command = ["add", str(feed), "--index", str(folder / "pages.db"), "--jobs", "1"]
    sys.setprofile(trace)
    main(command, standalone_mode=False)
    sys.setprofile(None)
    return trace


def traced(kind: str, pages: int, tree: Path) -> dict[str, Any]:
    """Return what *pages* of *kind* count in a process of their own, with the dedup of *tree*."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            str(Path(__file__).absolute()),
            "--one",
            kind,
            "--pages",
            str(pages),
            "--folder",
            folder,
        ]
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(tree)},
            check=True,
            cwd=folder,  # not in a project, whose settings would count
            stdout=subprocess.PIPE,
            text=True,
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def of_a_page(kind: str, tree: Path) -> dict[str, float]:
    """Return what one page of *kind* counts."""
    few, many = (traced(kind, pages, tree) for pages in (PAGES, 2 * PAGES))
    calls = {name: (count - few["calls"].get(name, 0)) / PAGES for name, count in many["calls"].items()}
    return {
        "calls": sum(calls.values()),
        "stays": (many["stays"] - few["stays"]) / PAGES,
        "modules": sum(count >= 0.5 for count in calls.values()),
        "climbs": (many["climbs"] - few["climbs"]) / PAGES,
    }


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option(
    "--tree", default=str(ROOT), type=click.Path(exists=True, file_okay=False), help="A checkout."
)
@click.option("--one", type=click.Choice(KINDS), hidden=True)
@click.option("--pages", default=PAGES, hidden=True)
@click.option("--folder", default=".", hidden=True)
def main(tree: str, one: str | None, pages: int, folder: str) -> None:
    if one:
        trace = added(pages, Path(folder)) if one == "add" else crawled(one, pages, Path(folder))
        print(json.dumps(trace.told()))
        return
    table = Table("a page", "calls", "stays", "modules", "climbs")
    for kind in track(KINDS, "tracing", console=Console(stderr=True)):
        found = of_a_page(kind, Path(tree).absolute())
        table.add_row(
            kind,
            *(f"{value:.1f}" if name != "modules" else f"{value:.0f}" for name, value in found.items()),
        )
    Console().print(table)


if __name__ == "__main__":
    main()
