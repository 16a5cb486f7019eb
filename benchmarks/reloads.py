"""Crawl articles and records whose pages change at each load, and count what is dropped and lost.

python -m benchmarks.reloads                          # articles at three addresses each, with each kind of noise
python -m benchmarks.reloads --order "in turns"       # first all articles, then their second addresses
python -m benchmarks.reloads --records                # records with counters, one in five at another address
python -m benchmarks.reloads --probes 0               # the same, and nothing is asked for twice
"""

from __future__ import annotations

import json
import os
import subprocess
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

from benchmarks.dynamic.running import ROOT
from benchmarks.records.articles import NOISE, SHUFFLED, URLS, Writer
from benchmarks.records.kinds import COPIES, COUNTERS, KINDS, LISTS, records_of
from benchmarks.records.writing import filled, frame, in_lines
from benchmarks.tables import Row, Table

# As programs write it: above the text, below it.  {links} are titles of other articles, in a list.
MARKED = {
    "marked: views": (
        "<div class='meta'>By Staff <span class='views'>{20..9000} views</span></div>",
        "",
    ),
    "marked: table": ("<table><tr><th>Visits</th><td>{20..9000}</td></tr></table>", ""),
    "marked: related": ("", "<div class='more'><h3>You may also like</h3><ul>{links}</ul></div>"),
    "marked: advert": ("", "<div class='promo'><p>{advert}</p></div>"),
    "marked: quotation": ("", "<blockquote class='quote'>{quotation}</blockquote>"),
    "marked: online": (
        "",
        "<div id='online'><h4>Online</h4><ul><li>{member}</li><li>{member}</li></ul></div>",
    ),
    "marked: byline": ("<p>By Fred Ferro, 8 min read, {20..9000} reading now</p>", ""),
    "marked: token": ("", "<p>Your session: {1000..9999}-{1000..9999}</p>"),
    "marked: all six": (
        "<p class='meta'>Views: {20..9000}</p><p class='likes'>{2..400} people like this</p>",
        "<blockquote class='q'>{quotation} - {member}</blockquote><h3>Related</h3><ul>{links}</ul>"
        "<p id='clock'>It is {00..23}:{00..59}:{00..59}</p><p>{12..90} queries in 0.{020..900} seconds</p>",
    ),
}
IN_TURNS = "in turns"
ORDERS = ("in a row", SHUFFLED, IN_TURNS)
HOST = "http://records.example/"
MOST_LINKS = 5


class Articles:
    """Articles at three addresses each; each answer has noise of its own."""

    def __init__(self, kind: str, count: int, seed: int, *, titled: bool) -> None:
        self.writer = Writer(Random(seed), count, chinese=kind.startswith("Chinese"))
        self.kind, self.titled, self.count = kind, titled, count
        self.addresses = [(url.format(n=number), number) for number in range(count) for url in URLS]

    def answer(self, number: int) -> str:
        writer, article = self.writer, self.writer.articles[number]
        if self.kind in NOISE:
            sides = [writer.beside(one, article, MOST_LINKS) for one in NOISE[self.kind]]
        else:
            others = [other.title for other in writer.articles if other != article]
            links = "".join(f"<li>{one}</li>" for one in writer.rng.sample(others, MOST_LINKS))
            sides = [
                filled(one.replace("{links}", links), writer.rng, writer.lists)
                for one in MARKED[self.kind]
            ]
        return article.page(writer.frame, titled=self.titled, above=sides[0], below=sides[1])


class Records:
    """Records with counters, one in five at another address, too."""

    def __init__(self, kind: str, count: int, seed: int, *, titled: bool) -> None:
        rng = Random(seed)
        self.records = records_of(kind, count, rng)
        self.frame = frame(rng, 80, chinese=kind.startswith("Chinese"))
        self.titled, self.count, self.now = titled, len(self.records), rng
        again = rng.sample(range(self.count), round(COPIES * self.count))
        self.addresses = [(f"{HOST}{number}", number) for number in range(self.count)]
        self.addresses += [(f"{HOST}{number}?from=x", number) for number in again]

    def answer(self, number: int) -> str:
        name, body = self.records[number]
        counters = in_lines(COUNTERS, self.now, LISTS)
        return self.frame.page(f"{body}\n{counters}", name if self.titled else "")


def ordered(addresses: Sequence[tuple[str, int]], order: str, seed: int) -> list[tuple[str, int]]:
    """Return *addresses* in a row, in turns, or shuffled."""
    found = list(addresses)
    if order == SHUFFLED:
        Random(seed).shuffle(found)
    if order == IN_TURNS:
        found = [one for turn in range(len(URLS)) for one in found[turn :: len(URLS)]]
    return found


class Answers:
    """A download handler: what the site of the job answers."""

    lazy = False
    site: Articles | Records
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
    kind = Records if job["records"] else Articles
    Answers.site = site = kind(job["kind"], job["pages"], job["seed"], titled=job["titled"])
    Answers.numbers = dict(ordered(site.addresses, job["order"], job["seed"]))
    handlers = dict.fromkeys(("http", "https"), Answers)
    with TemporaryDirectory() as folder:
        process = CrawlerProcess(
            {
                "ADDONS": {"dedup.plugin.Addon": 500},
                "DEDUP_INDEX": f"{folder}/pages.db",
                "DEDUP_PROBES": job["probes"],
                "DOWNLOAD_HANDLERS": handlers,
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
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reloads", "--job", json.dumps(job)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    share = f"{100 * found['dropped'] / found['copies']:.1f}" if found["copies"] else "-"
    title = "own titles" if job["titled"] else "one title"
    return (
        job["kind"],
        title,
        job["order"],
        *list(found.values())[:2],
        share,
        *list(found.values())[2:],
    )


@click.command(help=__doc__)
@click.option("--pages", default=120, show_default=True, help="Articles, or records.")
@click.option("--kind", "kinds", multiple=True, help="Only kinds that have this in their name.")
@click.option("--order", "orders", multiple=True, type=click.Choice(ORDERS), default=[SHUFFLED])
@click.option("--own-titles/--one-title", default=None, help="Only with these titles.")
@click.option("--records", is_flag=True, help="Records with counters.")
@click.option("--probes", default=5, show_default=True, help="DEDUP_PROBES.")
@click.option("--seed", default=1, show_default=True)
@click.option("--job", help="One crawl, as JSON: what the others are made of.")
def main(
    *,
    pages: int,
    kinds: Sequence[str],
    orders: Sequence[str],
    own_titles: bool | None,
    records: bool,
    probes: int,
    seed: int,
    job: str | None,
) -> None:
    if job:
        click.echo(json.dumps(crawl(json.loads(job))))
        return
    names = [
        name
        for name in (KINDS if records else {**NOISE, **MARKED})
        if not kinds or any(one in name for one in kinds)
    ]
    titles = (False, True) if own_titles is None else (own_titles,)
    common = {"pages": pages, "records": records, "probes": probes, "seed": seed}
    rows = []
    with click.progressbar(list(product(names, titles, orders)), file=sys.stderr) as jobs:
        for kind, titled, order in jobs:
            rows.append(row_of({"kind": kind, "titled": titled, "order": order, **common}))
    head = ("kind", "titles", "order", "copies", "dropped", "%", "unique", "lost", "asked twice")
    click.echo(Table("What moves", head, rows).markdown())


if __name__ == "__main__":
    main()
