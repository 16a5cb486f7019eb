"""Crawl the pages that sitemaps list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.http import Response
from scrapy.spiders import SitemapSpider as ScrapySitemapSpider

from crawler.page_spider import PageSpider, is_web_url, read_domains, read_number, read_urls

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".txt")
# By the protocol, robots.txt lists sitemaps or indexes of sitemaps, and an index lists at most 50,000.
_MAX_DEPTH = 5
_MAX_SITEMAPS = 50_000


class SitemapSpider(PageSpider, ScrapySitemapSpider):
    """Crawl the pages that sitemaps list, in the domains of the sitemaps.

    -a url=           sitemaps, robots.txt files or sites, separated by white space; for a site, the
                      sitemaps in its robots.txt are used
    -a domains=       further domains to take pages and sitemaps from, separated by white space
    -a max_depth=     follow sitemaps that are listed in sitemaps this deep [default: 5]
    -a max_sitemaps=  follow at most this many sitemaps that are listed in others [default: 50,000]
    -a html=1         keep the source of each page in its item

    Sitemaps beyond these limits are counted under ``sitemaps/``; the first one is logged.
    """

    name = "sitemap"

    def __init__(
        self,
        *,
        url: str = "",
        domains: str = "",
        max_depth: str = "",
        max_sitemaps: str = "",
        **kwargs: Any,
    ) -> None:
        starts = read_urls("url", url)
        self.sitemap_urls = [
            start
            if urlsplit(start).path.lower().endswith(_SITEMAP_ENDINGS)
            else urljoin(start, "/robots.txt")
            for start in starts
        ]
        self.allowed_domains = read_domains(starts, domains)
        depth, number = read_number("max_depth", max_depth), read_number("max_sitemaps", max_sitemaps)
        self._max_depth = _MAX_DEPTH if depth is None else depth
        self._max_sitemaps = _MAX_SITEMAPS if number is None else number
        # Scrapy saves it for a paused job, and restores it here.
        self.state: dict[str, Any] = {}
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
        followed: set[str] = self.state.setdefault("sitemaps", set())
        if url in followed:
            return True
        if depth >= self._max_depth:
            stat, why = "too_deep", f"it is {depth + 1} lists deep (see max_depth)"
        elif len(followed) >= self._max_sitemaps:
            stat, why = "too_many", f"{len(followed):,} others were followed (see max_sitemaps)"
        else:
            followed.add(url)
            return True
        assert self.crawler.stats is not None
        if not self.crawler.stats.get_value(f"sitemaps/{stat}"):
            self.logger.warning("The sitemap %s is not followed: %s. Others are only counted.", url, why)
        self.count(f"sitemaps/{stat}")
        return False
