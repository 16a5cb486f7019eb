"""What does deduplication cost a crawl?

    python -m benchmarks.crawl FOLDER START...

FOLDER holds a site of plain files, for instance an unpacked manual.  START are the paths of its start
pages.  The site is served on 127.0.0.1 and crawled by a stock CrawlSpider and by our spider `site`, with
dedup and without, in turn and each time in a new process.  The command prints medians of wall time and of
the crawler's CPU time, and the anonymous memory of the crawler.  The stat `dedup/seconds` is compared
with what was measured.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from crawler.example import running
from crawler.spiders.site import SiteSpider

ADDON = {"ADDONS": {"dedup.plugin.Addon": 500}}
# What is compared: a spider and its settings.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "CrawlSpider": ("stock", {}),
    "CrawlSpider + add-on": ("stock", ADDON),
    "CrawlSpider + add-on, responses": ("stock", {**ADDON, "DEDUP_SOURCE": "response"}),
    "site": ("site", {}),
    "site + add-on": ("site", {**ADDON, "DEDUP_SOURCE": "response"}),
}
# The same spider without the add-on.
WITHOUT = {
    "CrawlSpider + add-on": "CrawlSpider",
    "CrawlSpider + add-on, responses": "CrawlSpider",
    "site + add-on": "site",
}
COMMON = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
}
SAMPLE_EVERY = 250  # pages


class StockSpider(CrawlSpider):
    """What `scrapy genspider -t crawl` makes, with the page in its items."""

    name = "stock"
    rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = url.split()
        self.allowed_domains = ["127.0.0.1"]

    def parse_item(self, response: Response) -> Iterator[dict[str, Any]]:
        title = response.css("title::text").get()
        yield {"url": response.url, "title": title, "html": response.text}


SPIDERS = {"stock": StockSpider, "site": SiteSpider}


class _Quiet(SimpleHTTPRequestHandler):
    # Header and body in two small packets would make every request wait for a delayed ACK.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("starts", nargs=-1, required=True)
@click.option("--repeat", default=5, show_default=True, help="Rounds; each crawls once in every way.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only these.")
@click.option("--one", hidden=True, help="Crawl once in this process; used by the command itself.")
@click.option("--index", hidden=True)
def main(  # noqa: PLR0917
    folder: Path, starts: tuple[str, ...], repeat: int, kinds: tuple[str, ...], one: str, index: str
) -> None:
    if one:
        print(json.dumps(crawled(one, " ".join(starts), index)))
        return
    chosen = kinds or tuple(KINDS)
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in chosen}
    with (
        tempfile.TemporaryDirectory() as scratch,
        running(partial(_Quiet, directory=str(folder))) as url,
    ):
        rounds = [(turn, kind) for turn in range(repeat) for kind in _rotated(chosen, turn)]
        for turn, kind in track(rounds, "crawling", console=Console(stderr=True)):
            index = str(Path(scratch, f"{turn}-{list(KINDS).index(kind)}.db"))
            command = [sys.executable, "-m", "benchmarks.crawl", str(folder), "--one", kind]
            command += ["--index", index, *(url + start for start in starts)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[kind].append(json.loads(done.stdout.splitlines()[-1]))
    report(found)


def crawled(kind: str, url: str, index: str) -> dict[str, Any]:
    """Crawl once in this process, and return what it took."""
    name, settings = KINDS[kind]
    process = CrawlerProcess({**COMMON, **settings, **({"DEDUP_INDEX": index} if settings else {})})
    crawler = process.create_crawler(SPIDERS[name])
    memory: list[float] = []
    items = 0

    def responded() -> None:
        nonlocal items
        items += 1
        if items % SAMPLE_EVERY == 0:
            memory.append(anonymous_mb())

    crawler.signals.connect(responded, signals.response_received)
    collecting = [0.0]

    def collected(phase: str, _: object) -> None:
        collecting[0] += _cpu() if phase == "stop" else -_cpu()

    gc.callbacks.append(collected)
    # Not the imports and the start, which a crawl of any length pays once.
    begin, cpu = time.perf_counter(), _cpu()
    process.crawl(crawler, url=url)
    process.start()
    gc.callbacks.remove(collected)
    assert crawler.stats is not None
    stats = {
        name: value
        for name, value in crawler.stats.get_stats().items()
        if isinstance(value, int | float | str)
    }
    return {
        "seconds": time.perf_counter() - begin,
        "cpu": _cpu() - cpu,
        "collecting": collecting[0],
        "memory": [*memory, anonymous_mb()],
        "pages": stats.get("response_received_count", 0),
        "stats": stats,
    }


def anonymous_mb() -> float:
    """Return the anonymous memory of this process in megabytes (10**6 bytes)."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024 / 1e6


def report(found: dict[str, list[dict[str, Any]]]) -> None:
    table = Table(
        title="medians; ratios are medians over rounds, against the CrawlSpider without add-on"
    )
    for column in ("crawl", "pages", "items", "wall s", "ratio", "CPU s", "ratio", "half MB", "end MB"):
        table.add_column(column, justify="left" if column == "crawl" else "right")
    base = next(iter(found.values()))
    for kind, runs in found.items():
        table.add_row(
            kind,
            f"{runs[0]['pages']:,}",
            f"{runs[0]['stats'].get('item_scraped_count', 0):,}",
            f"{median(run['seconds'] for run in runs):.2f}",
            f"{_ratio(runs, base, 'seconds'):.3f}",
            f"{median(run['cpu'] for run in runs):.2f}",
            f"{_ratio(runs, base, 'cpu'):.3f}",
            f"{median(run['memory'][len(run['memory']) // 2] for run in runs):.0f}",
            f"{median(run['memory'][-1] for run in runs):.0f}",
        )
    Console(width=120).print(table)
    for kind, runs in found.items():
        stats = runs[0]["stats"]
        steps = [name for name in stats if name.startswith("dedup/seconds/")]
        if steps:
            each = "  ".join(
                f"{name.rsplit('/')[-1]} {median(run['stats'][name] for run in runs) * 1000 / runs[0]['pages']:.2f}"
                for name in sorted(steps)
            )
            click.echo(f"{kind}: ms a page: {each}; {stats.get('dedup/dropped', 0):,} pages dropped")
        if without := found.get(WITHOUT.get(kind, "")):
            told = median(run["stats"]["dedup/seconds"] for run in runs)
            pairs = list(zip(runs, without, strict=True))
            more = median(run["cpu"] - other["cpu"] for run, other in pairs)
            spared = median(other["collecting"] - run["collecting"] for run, other in pairs)
            click.echo(
                f"{kind}: dedup/seconds {told:.2f}, measured {more:.2f} (ratio {told / more:.2f}), "
                f"after {spared:.2f} that garbage collection took less"
            )


def _ratio(runs: list[dict[str, Any]], base: list[dict[str, Any]], name: str) -> float:
    ratios = [float(run[name] / other[name]) for run, other in zip(runs, base, strict=True)]
    return median(ratios)


def _rotated(kinds: tuple[str, ...], turn: int) -> tuple[str, ...]:
    start = turn % len(kinds)
    return kinds[start:] + kinds[:start]


def _cpu() -> float:
    from resource import RUSAGE_SELF, getrusage  # not on Windows, where tests read this module

    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
