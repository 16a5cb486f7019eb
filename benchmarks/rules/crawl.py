"""One crawl of a program, in a process of its own; reads a job, JSON, and writes what it came to."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from dedup.plugin import middleware
from dedup.plugin.requests import mark_link
from dedup.plugin.rules import CrawlRules

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
            meta = (
                {"avoid_dup_content": True} if self.settings.getbool("AVOID_DUP_CONTENT_ENABLED") else {}
            )
            for link in self.links.extract_links(response):
                yield Request(link.url, self.parse, meta=meta)


class _Told(logging.Handler):
    """Notes how many responses there were when a rule began to act, and when one ended."""

    def __init__(self, process: Any) -> None:
        super().__init__()
        self.process = process
        self.told: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        (crawler,) = self.process.crawlers
        pages = crawler.stats.get_value("response_received_count", 0)
        if "acts" in message:
            self.told.append((pages, message))


class _Clock:
    """The seconds of processor time that rules take to decide, and to learn."""

    def __init__(self) -> None:
        self.decided = self.learned = 0.0
        self.decisions = 0
        answer, learn = CrawlRules._answer, CrawlRules._learn

        def timed_answer(rules: CrawlRules, request: Request, **choices: bool) -> Any:
            begin = thread_time()
            held = answer(rules, request, **choices)
            if held is None:  # what is withheld costs a transaction, and saves a page
                self.decided += thread_time() - begin
                self.decisions += 1
            return held

        def timed(method: Any) -> Any:
            def run(*arguments: Any, **more: Any) -> Any:
                begin = thread_time()
                try:
                    return method(*arguments, **more)
                finally:
                    self.learned += thread_time() - begin

            return run

        CrawlRules._answer = timed_answer  # type: ignore[method-assign, assignment]
        middleware.mark_link = timed(mark_link)  # type: ignore[attr-defined]
        CrawlRules.links = timed(CrawlRules.links)  # type: ignore[method-assign]
        CrawlRules._learn = timed(learn)  # type: ignore[method-assign]
        CrawlRules.watch = timed(CrawlRules.watch)  # type: ignore[method-assign]
        CrawlRules.close = timed(CrawlRules.close)  # type: ignore[method-assign]


def main() -> None:
    job = json.loads(sys.stdin.read())
    clock = _Clock()
    process = CrawlerProcess(job["settings"])
    told = _Told(process)
    logging.getLogger("dedup.plugin.rules").addHandler(told)
    crawler = process.create_crawler(FollowingSpider)
    begin, cpu = perf_counter(), process_time()
    process.crawl(crawler, url=job["url"])
    process.start()
    assert crawler.stats
    stats = {
        name: value for name, value in crawler.stats.get_stats().items() if not hasattr(value, "year")
    }
    result = {
        "seconds": perf_counter() - begin,
        "cpu": process_time() - cpu,
        "rules": clock.decided + clock.learned,
        "stats": stats,
        "told": told.told,
        "decided": clock.decided,
        "decisions": clock.decisions,
        "learned": clock.learned,
    }
    Path(job["result"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
