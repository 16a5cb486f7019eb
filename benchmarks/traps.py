"""Crawl sites without end, with our spider at its defaults and with Scrapy's CrawlSpider beside it.

``python -m benchmarks.traps [NAME ...]`` prints for each site how many requests each made, of which the
articles need 34, and how many of the 30 articles arrived.  A crawl that has not ended after --limit pages
is stopped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import click
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from benchmarks.child import ROOT
from benchmarks.endless import ARTICLES, IDEAL, Trap, trapped, traps
from benchmarks.tables import Table

LIMIT = 3 * IDEAL + 1_500


class StockSpider(CrawlSpider):
    """What Scrapy's documentation proposes for a whole site."""

    name = "stock"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.allowed_domains = [urlsplit(url).hostname or ""]

    def parse_page(self, response: Response) -> Any:
        """Yield the page."""
        yield {"url": response.url, "text": response.text}


@dataclass(frozen=True)
class Crawled:
    """What became of a crawl: the *requests* it made, the *articles* it brought, whether it has *ended*."""

    requests: int
    articles: int
    deep: int
    ended: bool
    log: str


def crawl(
    trap: Trap, folder: Path, *, is_stock: bool = False, limit: int = LIMIT, at_once: int = 8
) -> Crawled:
    """Crawl the site of *trap* in a process of its own, with *at_once* requests."""
    feed = folder / "feed.jsonl"
    with trapped(trap) as url:
        settings = {
            "AUTOTHROTTLE_ENABLED": 0,
            "CLOSESPIDER_PAGECOUNT": limit,
            "CONCURRENT_REQUESTS": at_once,
            "DEDUP_INDEX": folder / "pages.db",
            "JOBDIR": folder / "job",
        }
        command = ["crawl", "site"]
        if is_stock:  # with Scrapy's own settings, not those of this project
            command = ["runspider", __file__]
            settings |= {"ADDONS": {}, "TELNETCONSOLE_ENABLED": 0}
        options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", *command, "-a", f"url={url}", *options, "-O", str(feed)],
            cwd=folder if is_stock else ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
    texts = [json.loads(line)["text"] for line in feed.read_text("utf-8").splitlines()]
    return Crawled(
        len(trap.asked),
        sum(any(f"article-{number}-here" in text for text in texts) for number in range(ARTICLES)),
        sum(any(f"deep-{number}-here" in text for text in texts) for number in trap.deep.values()),
        "closespider_pagecount" not in done.stderr,
        done.stderr,
    )


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--limit", default=LIMIT, show_default=True, help="Pages of a crawl.")
def main(names: Sequence[str], limit: int) -> None:
    rows = []
    for trap in traps():
        if names and trap.name not in names:
            continue
        cells = [f"{3 * IDEAL if trap.is_finite else IDEAL + 1_000:,}"]
        for is_stock in (False, True):
            trap.asked.clear()
            with TemporaryDirectory() as folder:
                found = crawl(trap, Path(folder), is_stock=is_stock, limit=limit)
            stopped = "" if found.ended else ", stopped"
            cells.append(f"{found.requests:,}{stopped}; {found.articles} of {ARTICLES}")
        rows.append((trap.name, *cells))
    head = ("trap", "may take", "ours: requests; articles", "CrawlSpider: requests; articles")
    click.echo(Table("Traps", head, rows).markdown())


if __name__ == "__main__":
    main()
