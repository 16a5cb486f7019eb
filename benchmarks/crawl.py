"""What does deduplication cost a crawl?

    python -m benchmarks.crawl FOLDER START...

FOLDER holds a site of plain files, for instance an unpacked manual.  START are the paths of its start
pages.  The site is served on 127.0.0.1 and crawled by a stock CrawlSpider and by our spider `site`, with
dedup and without, in turn and each time in a new process.  The command prints medians of wall time and of
the crawler's CPU time, and the anonymous memory of the crawler.  The sum of `dedup/seconds/*` is compared
with what was measured.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from benchmarks.child import anonymous_mb, child
from crawler.example import running
from crawler.spiders.site import SiteSpider
from dedup import plugin
from settings import CONCURRENT_ITEMS

ADDON = {"ADDONS": {"dedup.plugin.Addon": 500}}
SITE = {"CONCURRENT_ITEMS": CONCURRENT_ITEMS}
# What is compared: a spider and its settings.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "CrawlSpider": ("stock", {}),
    "CrawlSpider + add-on": ("stock", ADDON),
    "CrawlSpider + add-on, responses": ("stock", {**ADDON, "DEDUP_SOURCE": "response"}),
    "site": ("site", SITE),
    "site + add-on": ("site", {**SITE, **ADDON, "DEDUP_SOURCE": "response"}),
}
COMMON = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
}


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
def main(folder: Path, starts: tuple[str, ...], repeat: int, kinds: tuple[str, ...], one: str) -> None:
    if one:
        print(json.dumps(crawled(one, " ".join(starts))))
        return
    chosen = kinds or tuple(KINDS)
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in chosen}
    with running(partial(_Quiet, directory=str(folder))) as url:
        addresses = [url + start for start in starts]
        rounds = [kind for turn in range(repeat) for kind in _rotated(chosen, turn)]
        for kind in track(rounds, "crawling", console=Console(stderr=True)):
            found[kind].append(child("benchmarks.crawl", str(folder), "--one", kind, *addresses))
            if not found[kind][0]["stats"].get("item_scraped_count"):
                raise click.ClickException(f"no page was read from {', '.join(addresses)}")
    report(found)


def crawled(kind: str, url: str) -> dict[str, Any]:
    """Crawl once in this process, and return what it took, without imports and the start."""
    name, settings = KINDS[kind]
    for component in plugin.__all__ if "ADDONS" in settings else ():
        getattr(plugin, component)  # which imports it
    with tempfile.TemporaryDirectory() as folder:
        index = {"DEDUP_INDEX": f"{folder}/pages.db"} if settings else {}
        process = CrawlerProcess({**COMMON, **settings, **index})
        crawler = process.create_crawler(SPIDERS[name])
        begin, cpu = time.perf_counter(), time.process_time()
        process.crawl(crawler, url=url)
        process.start()
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    assert crawler.stats is not None
    return {
        "wall": wall,
        "cpu": cpu,
        "memory": anonymous_mb(),
        "stats": {
            name: value
            for name, value in crawler.stats.get_stats().items()
            if not hasattr(value, "year")
        },
    }


def report(found: dict[str, list[dict[str, Any]]]) -> None:
    table = Table(title="medians; ratios are medians over rounds, against the first row")
    for column in ("crawl", "pages", "items", "wall s", "ratio", "CPU s", "ratio", "end MB"):
        table.add_column(column, justify="left" if column == "crawl" else "right")
    base = next(iter(found.values()))
    steps = []
    for kind, runs in found.items():
        stats = runs[0]["stats"]
        pages = stats.get("response_received_count", 0)
        table.add_row(
            *(kind, f"{pages:,}", f"{stats.get('item_scraped_count', 0):,}"),
            *(f"{_median(runs, 'wall'):.2f}", f"{_ratio(runs, base, 'wall'):.3f}"),
            *(f"{_median(runs, 'cpu'):.2f}", f"{_ratio(runs, base, 'cpu'):.3f}"),
            f"{_median(runs, 'memory'):.0f}",
        )
        if "dedup/seconds/index" in stats:
            told = (
                f"{step} {1000 * stats[f'dedup/seconds/{step}'] / pages:.2f}"
                for step in ("parse", "fingerprint", "index")
            )
            steps.append(f"{kind}: ms a page by its stats: {', '.join(told)}")
    Console(width=120).print(table)
    click.echo("\n".join(steps))


def _median(runs: Sequence[dict[str, Any]], name: str) -> float:
    return float(median(run[name] for run in runs))


def _ratio(runs: Sequence[dict[str, Any]], base: Sequence[dict[str, Any]], name: str) -> float:
    return float(median(run[name] / other[name] for run, other in zip(runs, base, strict=True)))


def _rotated(kinds: tuple[str, ...], turn: int) -> tuple[str, ...]:
    start = turn % len(kinds)
    return kinds[start:] + kinds[:start]


if __name__ == "__main__":
    main()
