"""Crawl a list of URLs."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request

from crawler.page_spider import ArgumentError, PageSpider, is_web_url


class UrlsSpider(PageSpider):
    """Crawl the URLs of a list, one on each line.  Empty lines and lines that begin with # are skipped.

    -a file=   the file with the list, or - for standard input
    -a html=1  keep the source of each page in its item
    """

    name = "urls"

    def __init__(self, *, file: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not file:
            raise ArgumentError("file is missing: -a file=urls.txt, or -a file=- for standard input")
        if file != "-" and not Path(file).is_file():
            raise ArgumentError(f"file ({file!r}) must be an existing file")
        self._file = file

    async def start(self) -> AsyncIterator[Request]:
        file = sys.stdin.fileno() if self._file == "-" else self._file
        with open(file, encoding="utf-8", errors="replace", closefd=self._file != "-") as lines:
            for number, line in enumerate(lines, 1):
                url = line.strip()
                if is_web_url(url):
                    yield Request(url, self.parse)
                elif url and not url.startswith("#"):
                    self.logger.warning("line %d of %s is not a URL and is skipped", number, self._file)
