"""Crawl sites without end, with our spider at its defaults and with Scrapy's CrawlSpider beside it.

``python -m benchmarks.traps [NAME ...]`` prints for each site how many requests each made, of which the
articles need 34, and how many of the 30 articles arrived.  A crawl that has not ended after --limit pages
is stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from tests.traps import ARTICLES, IDEAL, Trap, trapped, traps

ROOT = Path(__file__).parent.parent
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

    @property
    def words(self) -> str:
        """It as a cell of a table."""
        return f"{self.requests:,}{'' if self.ended else ', stopped'}; {self.articles} of {ARTICLES}"


def crawl(
    trap: Trap, folder: Path, *, is_stock: bool = False, limit: int = LIMIT, at_once: int = 0
) -> Crawled:
    """Crawl the site of *trap* in a process of its own, with *at_once* requests if that is not 0."""
    feed = folder / "feed.jsonl"
    with trapped(trap) as url:
        settings = {
            "AUTOTHROTTLE_ENABLED": "0",
            "CLOSESPIDER_PAGECOUNT": str(limit),
            "DEDUP_INDEX": str(folder / "pages.db"),
            "JOBDIR": str(folder / "job"),
        }
        if at_once:
            settings["CONCURRENT_REQUESTS"] = str(at_once)
        options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        if is_stock:
            # Scrapy's own settings, not those of this project.
            command = ["runspider", __file__, "-a", f"url={url}"]
            options += ["-s", "ADDONS={}", "-s", "TELNETCONSOLE_ENABLED=0"]
        else:
            command = ["crawl", "site", "-a", f"url={url}"]
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", *command, *options, "-O", str(feed)],
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


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="names of traps [default: all]")
    parser.add_argument(
        "--limit", type=int, default=LIMIT, help=f"pages of a crawl [default: {LIMIT:,}]"
    )
    parser.add_argument("--ours", action="store_true", help="leave out CrawlSpider")
    chosen = parser.parse_args()
    print("| trap | may take | ours: requests; articles | CrawlSpider: requests; articles |")
    print("|---|---|---|---|")
    for trap in traps():
        if chosen.names and trap.name not in chosen.names:
            continue
        cells = []
        for is_stock in (False,) if chosen.ours else (False, True):
            trap.asked.clear()
            with TemporaryDirectory() as folder:
                cells.append(crawl(trap, Path(folder), is_stock=is_stock, limit=chosen.limit).words)
        most = 3 * IDEAL if trap.is_finite else IDEAL + 1_000
        print(f"| {trap.name} | {most:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
