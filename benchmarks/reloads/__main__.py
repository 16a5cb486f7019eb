"""The command: `python -m benchmarks.reloads --help`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import click
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response

from benchmarks.child import child
from benchmarks.reloads import __doc__ as about
from benchmarks.reloads.sites import KINDS, MARKED, NOISE, URLS, Articles, Records, Site
from benchmarks.tables import Row, Table

ORDERS = ("in a row", "shuffled", "in turns")


class Answers:
    """A download handler: what the site of the job answers."""

    lazy = False
    site: Site
    numbers: dict[str, int]

    @classmethod
    def from_crawler(cls, _: Any) -> Answers:
        return cls()

    async def download_request(self, request: Request) -> HtmlResponse:
        html = self.site.answer(self.numbers[request.url])
        return HtmlResponse(request.url, body=html.encode(), encoding="utf-8", request=request)

    async def close(self) -> None:
        pass


class Visitor(Spider):
    """Visits the addresses in their order, and yields each page."""

    name = "reloads"

    async def start(self) -> AsyncIterator[Any]:
        for place, url in enumerate(Answers.numbers):
            yield Request(url, priority=-place)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}


def crawl(job: dict[str, Any]) -> dict[str, int]:
    """Crawl the site of *job*, and return what came of it."""
    of = {"count": job["pages"], "seed": job["seed"], "titled": job["titled"]}
    site: Site = (
        Articles(job["kind"], **of)
        if not job["records"]
        else Records(job["kind"], **of, still=job["still"])
    )
    Answers.site = site
    addresses = list(site.addresses)
    if job["order"] == "shuffled":
        Random(job["seed"]).shuffle(addresses)
    if job["order"] == "in turns":
        addresses = [one for turn in range(len(URLS)) for one in addresses[turn :: len(URLS)]]
    Answers.numbers = dict(addresses)
    with TemporaryDirectory() as folder:
        process = CrawlerProcess(
            {
                "ADDONS": {"dedup.plugin.Addon": 500},
                "DEDUP_INDEX": f"{folder}/pages.db",
                "DEDUP_PROBES": job["probes"],
                "DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"), Answers),
                "FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines", "fields": ["url"]}},
                "LOG_LEVEL": "ERROR",
                "TELNETCONSOLE_ENABLED": False,
            }
        )
        crawler = process.create_crawler(Visitor)
        process.crawl(crawler)
        process.start()
        lines = Path(folder, "items.jsonl").read_text("utf-8").splitlines()
    urls = [json.loads(line)["url"] for line in lines]
    kept = {Answers.numbers[url] for url in urls}
    copies = len(Answers.numbers) - site.count
    assert crawler.stats
    return {
        "copies": copies,
        "dropped": copies - (len(urls) - len(kept)),
        "unique": site.count,
        "lost": site.count - len(kept),
        "asked": crawler.stats.get_value("dedup/asked_twice", 0),
    }


def row_of(job: dict[str, Any]) -> Row:
    """Return what became of *job*, in a process of its own."""
    found = child("benchmarks.reloads", "--job", json.dumps(job))
    share = f"{100 * found['dropped'] / max(1, found['copies']):.1f}"
    title = "own titles" if job["titled"] else "one title"
    copies, dropped, *others = found.values()
    return (job["kind"], title, job["order"], copies, dropped, share, *others)


@click.command(help=about)
@click.option("--pages", default=120, show_default=True, help="Articles, or records.")
@click.option("--kind", "kinds", multiple=True, help="Only kinds that have this in their name.")
@click.option("--order", type=click.Choice(ORDERS), default="shuffled", show_default=True)
@click.option("--own-titles/--one-title", default=None, help="Only with these titles.")
@click.option("--records", is_flag=True, help="Records with counters.")
@click.option("--still", is_flag=True, help="Records without counters.")
@click.option("--probes", default=5, show_default=True, help="DEDUP_PROBES.")
@click.option("--seed", default=1, show_default=True)
@click.option("--job", hidden=True, help="One crawl, as JSON: what the others are made of.")
def main(*, kinds: Sequence[str], own_titles: bool | None, job: str | None, **common: Any) -> None:
    if job:
        click.echo(json.dumps(crawl(json.loads(job))))
        return
    every = KINDS if common["records"] else {**NOISE, **MARKED}
    names = [name for name in every if not kinds or any(one in name for one in kinds)]
    titles = (False, True) if own_titles is None else (own_titles,)
    with click.progressbar(list(product(names, titles)), file=sys.stderr) as jobs:
        rows = [row_of({"kind": kind, "titled": titled, **common}) for kind, titled in jobs]
    head = ("kind", "titles", "order", "copies", "dropped", "%", "unique", "lost", "asked twice")
    click.echo(Table("What moves", head, rows).markdown())


if __name__ == "__main__":
    main()
