"""One crawl as a user does it, in a process of its own: reads a job, JSON, and writes each page as it comes."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class FollowingSpider(Spider):
    """Follows all links of the host, and yields each page."""

    name = "dynamic"
    is_over = False

    async def start(self) -> AsyncIterator[Any]:
        job = self.settings["JOB"]
        self.links = LinkExtractor(allow=rf"^http://127\.0\.0\.1:{job['port']}/", deny=job["deny"] or ())
        yield Request(f"http://127.0.0.1:{job['port']}{job['path']}", self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        if isinstance(response, HtmlResponse):
            yield {"url": response.url, "html": response.text}
            for link in self.links.extract_links(response):
                yield Request(link.url, self.parse)


def main() -> None:
    job = json.loads(sys.stdin.read())
    settings = {
        "JOB": job,
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": job["index"],
        "DEDUP_UNCHANGED": "drop" if job["day"] > 1 else "keep",
        "DOWNLOADER_MIDDLEWARES": {"benchmarks.dynamic.days.Editing": 585},
        "CLOSESPIDER_ITEMCOUNT": 0,
        # One after the other, the nearest first: the same order in each crawl.
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOAD_DELAY": 0,
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "LOG_FILE": job["log"],
    }
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(FollowingSpider)
    pages: list[dict[str, Any]] = []

    def came(item: Any, dropped: bool) -> None:
        pages.append({**item, "dropped": dropped})
        if len(pages) == job["pages"]:
            assert isinstance(crawler.spider, FollowingSpider)
            crawler.spider.is_over = True

    def kept_one(item: Any) -> None:
        came(item, False)

    def dropped_one(item: Any) -> None:
        came(item, True)

    crawler.signals.connect(kept_one, signals.item_scraped)
    crawler.signals.connect(dropped_one, signals.item_dropped)
    process.crawl(crawler)
    process.start()
    lines = (json.dumps(page) + "\n" for page in pages[: job["pages"]])
    Path(job["result"]).write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
