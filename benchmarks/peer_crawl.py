"""Crawl a site twice with a Scrapy plugin, in its environment, and print the result as JSON.

    python peer_crawl.py URL SETTINGS FOLDER

SETTINGS is JSON.  {folder} in it stands for FOLDER, where the plugin may write files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Plain(Spider):
    """Follows every link of a site, and gives an item for every page."""

    name = "plain"

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._url = url
        self.allowed_domains = ["127.0.0.1"]

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self._url)  # as any other: a link back to it is a request made before

    def parse(self, response: Any) -> Iterator[Any]:
        if "html" in (response.headers.get("Content-Type") or b"").decode():
            yield {"url": response.url, "html": response.text}
            yield from response.follow_all(LinkExtractor().extract_links(response), self.parse)


def crawl(url: str, settings: Mapping[str, Any]) -> list[int]:
    process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **settings})
    crawler = process.create_crawler(Plain)
    process.crawl(crawler, url=url)
    process.start()
    assert crawler.stats is not None
    found = crawler.stats.get_stats()
    return [found.get("item_scraped_count", 0), found.get("response_received_count", 0)]


def main(url: str, settings: str, folder: str) -> None:
    if folder == "-":
        print(json.dumps(crawl(url, json.loads(settings))))
        return
    command = [sys.executable, __file__, url, settings.replace("{folder}", folder), "-"]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
        errors = [line for line in done.stderr.splitlines() if "Error" in line.split(":")[0]]
        print(lines[-1] if lines and not errors else json.dumps(errors[-1] if errors else "no answer"))


if __name__ == "__main__":
    main(*sys.argv[1:])
