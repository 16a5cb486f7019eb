"""``scrapy example``: crawl the small site that comes with this repository."""

from __future__ import annotations

import argparse
from contextlib import suppress
from errno import EADDRINUSE
from threading import Event

from scrapy.commands import BaseRunSpiderCommand
from scrapy.exceptions import UsageError

from crawler.example import served

PORT = 8765


class Command(BaseRunSpiderCommand):
    """Serves the example site on 127.0.0.1 and crawls it with the spider `site`."""

    requires_project = True

    def short_desc(self) -> str:
        return "Crawl the example site of this repository, without a network"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--serve", action="store_true", help="only serve the site, until Ctrl-C")
        parser.add_argument("--port", type=int, default=PORT, help=f"port to serve on (default: {PORT})")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        # There is no need to be polite to this machine.
        self.settings.set("AUTOTHROTTLE_ENABLED", False, priority="cmdline")
        # Of two copies the first that comes is kept: everybody's crawl keeps the same.
        self.settings.set("CONCURRENT_REQUESTS", 1, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        try:
            with served(opts.port) as url:
                if opts.serve:
                    print(f"Serving {url} until Ctrl-C")
                    with suppress(KeyboardInterrupt):
                        Event().wait()
                    print("Stopped")
                else:
                    self.crawler_process.crawl("site", url=url, **opts.spargs)
                    self.crawler_process.start()
        except OSError as error:
            problem = f"port {opts.port}: {error.strerror}"
            if error.errno == EADDRINUSE:
                problem = (
                    f"port {opts.port} is in use: is another `scrapy example --serve` running? "
                    "End it (`kill %1` in its shell), or choose another port with --port"
                )
            raise UsageError(problem, print_help=False) from error
        if self.crawler_process.bootstrap_failed:
            self.exitcode = 1
