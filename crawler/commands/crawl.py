"""``scrapy crawl``, which reports a wrong argument in one line before the crawl starts."""

from __future__ import annotations

import argparse

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from crawler.page_spider import ArgumentError

# Options that are settings, with what they are for.
_OPTIONS = {
    "content": ("SELECTOR", "judge the part of pages that this CSS selector is for"),
    "ignore": (
        "SELECTOR",
        "do not judge parts of pages that this CSS selector is for, such as clocks",
    ),
}


class Command(ScrapyCrawl):
    """Scrapy's own command with more options, after a check of the spider's name and arguments."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        for name, (metavar, words) in _OPTIONS.items():
            parser.add_argument(f"--{name}", metavar=metavar, help=words)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        for name in _OPTIONS:
            if value := getattr(opts, name):
                self.settings.set(f"DEDUP_{name.upper()}", value, priority="cmdline")

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
