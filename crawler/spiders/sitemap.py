"""Crawl the pages that sitemaps list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.http import Response
from scrapy.spiders import SitemapSpider as ScrapySitemapSpider

from crawler.page_spider import PageSpider, is_web_url, read_domains, read_urls

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".txt")
# By the protocol, robots.txt lists sitemaps or indexes of sitemaps, and an index lists at most 50,000.
MAX_DEPTH = 5
MAX_SITEMAPS = 50_000


class SitemapSpider(PageSpider, ScrapySitemapSpider):
    """Crawl the pages that sitemaps list, in the domains of the sitemaps.

    -a url=           sitemaps, robots.txt files or sites, separated by white space; for a site, the
                      sitemaps in its robots.txt are used
    -a domains=       further domains to take pages and sitemaps from, separated by white space
    -a html=1         keep the source of each page in its item

    Sitemaps that lead on to others without end are not followed for ever: those beyond the limits are
    counted under ``sitemaps/``.
    """

    name = "sitemap"

    def __init__(self, *, url: str = "", domains: str = "", **kwargs: Any) -> None:
        starts = read_urls("url", url)
        self.sitemap_urls = [
            start
            if urlsplit(start).path.lower().endswith(_SITEMAP_ENDINGS)
            else urljoin(start, "/robots.txt")
            for start in starts
        ]
        self.allowed_domains = read_domains(starts, domains)
        self._followed: set[str] = set()
        super().__init__(**kwargs)

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Leave out entries that are not URLs: Scrapy would end the sitemap there."""
        return (entry for entry in entries if is_web_url((entry.get("loc") or "").strip()))

    def _parse_sitemap(self, response: Response) -> Iterator[Request]:
        depth = response.meta.get("depth", 0)
        for request in super()._parse_sitemap(response):
            if request.callback != self._parse_sitemap or self._is_followed(request.url, depth):
                yield request

    def _is_followed(self, url: str, depth: int) -> bool:
        if url in self._followed:
            return True
        if depth >= MAX_DEPTH or len(self._followed) >= MAX_SITEMAPS:
            self.count("sitemaps/too_deep" if depth >= MAX_DEPTH else "sitemaps/too_many")
            self.logger.info("The sitemap %s is not followed: it is too deep, or one of too many", url)
            return False
        self._followed.add(url)
        return True
