"""``scrapy crawl``, which reports a wrong argument in one line before the crawl starts."""

from __future__ import annotations

import argparse

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from crawler.page_spider import ArgumentError


class Command(ScrapyCrawl):
    """Scrapy's own command with one more option, after a check of the spider's name and arguments."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        words = "do not judge parts of pages that this CSS selector is for, such as clocks"
        parser.add_argument("--ignore", metavar="SELECTOR", help=words)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.ignore:
            self.settings.set("DEDUP_IGNORE", opts.ignore, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        spiders = self.crawler_process.spider_loader
        if len(args) == 1:
            if args[0] not in spiders.list():
                known = ", ".join(sorted(spiders.list()))
                raise UsageError(
                    f"there is no spider {args[0]!r}; the spiders are {known}", print_help=False
                )
            try:
                spiders.load(args[0])(**opts.spargs)
            except ArgumentError as error:
                raise UsageError(str(error), print_help=False) from error
        super().run(args, opts)
