"""One crawl of a program, in a process of its own; reads a job, JSON, and writes what it came to."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from time import process_time
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

_DENIED = r"(/raw/|/rawfile|/plain/|/patch|/snapshot|a=(blob_plain|patch|rss|atom|opml|project_index)|/atom|/rss|do=(export|login|media|edit|register|resendpwd)|/archive/|/tarball|\.(css|js|gz|zip|bz2|xml)$|/static/|/feed\.php|/_media|/lib/)"


class FollowingSpider(Spider):
    """Follows all links of the host, and yields each page."""

    name = "following"

    async def start(self) -> AsyncIterator[Any]:
        self.links = LinkExtractor(deny=_DENIED, allow=r"^http://127\.0\.0\.1[:/]")
        yield Request(self.url, self.parse)  # type: ignore[attr-defined]

    def parse(self, response: Response) -> Iterator[Any]:
        if isinstance(response, HtmlResponse):
            yield {"url": response.url, "html": response.text}
            for link in self.links.extract_links(response):
                yield Request(link.url, self.parse)


def main() -> None:
    job = json.loads(sys.stdin.read())
    process = CrawlerProcess(job["settings"])
    crawler = process.create_crawler(FollowingSpider)
    cpu = process_time()
    process.crawl(crawler, url=job["url"])
    process.start()
    assert crawler.stats
    stats = {
        name: value for name, value in crawler.stats.get_stats().items() if not hasattr(value, "year")
    }
    Path(job["result"]).write_text(json.dumps({"cpu": process_time() - cpu, "stats": stats}))


if __name__ == "__main__":
    main()
