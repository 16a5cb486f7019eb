"""``scrapy crawl``, which reports a wrong argument in one line before the crawl starts."""

from __future__ import annotations

import argparse

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from crawler.page_spider import ArgumentError


class Command(ScrapyCrawl):
    """Scrapy's own command, after a check of the spider's name and arguments."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        spiders = self.crawler_process.spider_loader
        if len(args) == 1 and args[0] not in spiders.list():
            known = ", ".join(sorted(spiders.list()))
            raise UsageError(
                f"there is no spider {args[0]!r}; the spiders are {known}", print_help=False
            )
        if len(args) == 1:
            try:
                spiders.load(args[0])(**opts.spargs)
            except ArgumentError as error:
                raise UsageError(str(error), print_help=False) from error
        super().run(args, opts)
