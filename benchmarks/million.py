"""A million pages in one crawl: speed, memory and size of the index, and what is dropped wrongly.

    python -m benchmarks.million
    python -m benchmarks.million --pages 100000

The pages are those of `benchmarks.templated`, one in five a copy, twenty in each response; a download handler makes
them.  *Kept, copies* are copies of a page that was kept.  *Dropped, wrongly* are pages of which nothing with the same
text was kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse

from benchmarks.child import anonymous_mb
from benchmarks.tables import Table
from benchmarks.templated import Crawl

BATCH = 20
HEADER = ("pages", "pages a second", "of processor time", "memory, MB", "index, MB")


class Answers:
    """A download handler: the pages of a batch, as an API would list them."""

    lazy = False
    crawl: Crawl

    @classmethod
    def from_crawler(cls, _: Any) -> Answers:
        return cls()

    async def download_request(self, request: Request) -> Response:
        first = int(request.url.rsplit("/", maxsplit=1)[-1]) * BATCH
        pages = [
            {"url": self.crawl.url(one), "number": one, "html": self.crawl.html(one)}
            for one in range(first, min(first + BATCH, self.crawl.count))
        ]
        return TextResponse(request.url, body=json.dumps(pages).encode(), request=request)

    async def close(self) -> None:
        pass


class Batches(Spider):
    """Asks for one batch after the other, and yields each page of it."""

    name = "million"

    async def start(self) -> AsyncIterator[Any]:
        for batch in range(-(-Answers.crawl.count // BATCH)):
            yield Request(f"http://api.example/{batch}", self.parse)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        assert isinstance(response, TextResponse)
        yield from response.json()


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.option("--pages", default=1_000_000, show_default=True)
def main(pages: int) -> None:
    Answers.crawl = made = Crawl(pages)
    kept: list[int] = []
    rows: list[tuple[object, ...]] = []
    with TemporaryDirectory() as folder:
        index = Path(folder, "pages.db")
        process = CrawlerProcess(
            {
                "ADDONS": {"dedup.plugin.Addon": 500},
                "DEDUP_INDEX": str(index),
                "DOWNLOAD_HANDLERS": {"http": Answers},
                "LOG_LEVEL": "ERROR",
                "TELNETCONSOLE_ENABLED": False,
            }
        )
        crawler = process.create_crawler(Batches)
        seen, last = 0, (time.perf_counter(), time.process_time())

        def settled(item: dict[str, Any], exception: Exception | None = None) -> None:
            nonlocal seen, last
            seen += 1
            if exception is None:
                kept.append(item["number"])
            if seen % max(1, pages // 10) == 0:
                now = time.perf_counter(), time.process_time()
                speeds = (
                    f"{pages / 10 / (one - other):,.0f}" for one, other in zip(now, last, strict=True)
                )
                size = index.stat().st_size / 1e6
                rows.append((f"{seen:,}", *speeds, f"{anonymous_mb():,.0f}", f"{size:,.0f}"))
                last = now

        for signal in (signals.item_scraped, signals.item_dropped):
            crawler.signals.connect(settled, signal)
        process.crawl(crawler)
        process.start()
    click.echo(Table("Each tenth", HEADER, rows).markdown())
    texts = {int(made.origins[number]) for number in kept}
    click.echo(
        f"\n{seen - len(kept):,} of {seen:,} dropped; kept, copies: {len(kept) - len(texts):,}; "
        f"dropped, wrongly: {len(set(made.origins[:seen].tolist())) - len(texts):,}"
    )


if __name__ == "__main__":
    main()
