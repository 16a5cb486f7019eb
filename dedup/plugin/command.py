"""``scrapy dedup``, the command line of this package inside Scrapy's, and the crawl of ``dedup try``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class DedupCommand(ScrapyCommand):
    """Hands everything on to the command ``dedup``."""

    requires_crawler_process = False

    def syntax(self) -> str:
        return "COMMAND [ARGS]..."

    def short_desc(self) -> str:
        return "Look into the index of near-duplicates"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.set_defaults(profile=None)  # Scrapy asks every command for it

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """No option is Scrapy's own: all belong to the command."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from dedup.cli import main

        command = opts.command if opts.command != ["help"] else ["--help"]
        main(command or ["--help"], prog_name="scrapy dedup")


_POLITE = {
    "ROBOTSTXT_OBEY": True,
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_START_DELAY": 0.5,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    "DOWNLOAD_TIMEOUT": 30,
    "DOWNLOAD_MAXSIZE": 1 << 24,
    "USER_AGENT": "scrapy-dedup (a trial of some pages; https://github.com/scrapy-dedup/scrapy-dedup)",
    "LOG_LEVEL": "CRITICAL",
    "TELNETCONSOLE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
}


class TrialSpider(Spider):
    """Follows the links of a site on its host, breadth first, and yields its pages."""

    name = "trial"
    custom_settings = {  # noqa: RUF012
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }

    def __init__(self, *, url: str, pages: int, told: Counter[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._url, self._pages, self._told = url, pages, told
        self._links = LinkExtractor()
        self._hosts = {urlsplit(url).hostname}

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self._url, self.parse, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            self._told["not HTML"] += 1
            return
        host = urlsplit(response.url).hostname
        if not response.meta.get("depth"):
            self._hosts.add(host)  # the site may have redirected the visitor
        if self._told["pages"] >= self._pages or host not in self._hosts:
            return
        self._told["pages"] += 1
        yield {"url": response.url, "html": response.text}
        for link in self._links.extract_links(response):
            if urlsplit(link.url).hostname in self._hosts:
                yield Request(link.url, self.parse)

    def failed(self, failure: Any) -> None:
        """Note why the first page could not be fetched."""
        status = getattr(getattr(failure.value, "response", None), "status", None)
        said = str(failure.value).rstrip(".")
        if "<" in said or not said:  # a list of what failed in Twisted
            said = f"what answers there speaks no HTTP ({failure.type.__name__})"
        self._told[f"status {status}" if status else said] += 1


def try_site(
    url: str, index: Path, pages: int, settings: Mapping[str, Any], tell: Callable[[int], None]
) -> Counter[str]:
    """Crawl at most *pages* of the site of *url* into a new *index*, as a dry run; return what was met.

    *settings* are those of dedup.  *tell* is called with how many pages there are so far.  This starts a
    reactor, so a process can call it only once.
    """
    told: Counter[str] = Counter()
    own = {
        "ADDONS": {"dedup.plugin.Addon": 500},
        **settings,
        "DEDUP_INDEX": str(index),
        "DEDUP_ACTION": "report",
        "CLOSESPIDER_ITEMCOUNT": pages,
    }
    process = CrawlerProcess({**_POLITE, **own})
    crawler = process.create_crawler(TrialSpider)
    crawler.signals.connect(lambda: tell(told["pages"]), signals.item_scraped, weak=False)
    process.crawl(crawler, url=url, pages=pages, told=told)
    process.start()
    if process.bootstrap_failed:
        told["the crawl could not begin"] += 1
    return told
