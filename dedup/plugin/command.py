"""``scrapy dedup``: the command line of this package inside Scrapy's."""

from __future__ import annotations

import argparse

from scrapy.commands import ScrapyCommand


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
