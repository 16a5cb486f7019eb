"""Crawl the pages that sitemaps list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy.http import Response
from scrapy.spiders import SitemapSpider as ScrapySitemapSpider

from crawler.items import PageItem
from crawler.page_spider import PageSpider, is_web_url, read_domains, read_urls

_SITEMAP_ENDINGS = (".xml", ".xml.gz", ".txt")


class SitemapSpider(PageSpider, ScrapySitemapSpider):
    """Take the pages that sitemaps list, in their own domains.

    -a url=      sitemaps, robots.txt files or sites, separated by white space; of a site, the
                 sitemaps that its robots.txt names
    -a domains=  further domains to take pages and sitemaps from, separated by white space
    -a html=1    keep the source of each page in its item
    """

    name = "sitemap"

    def __init__(self, *, url: str = "", domains: str = "", **kwargs: Any) -> None:
        starts = read_urls("url", url)
        self.sitemap_urls = [_sitemap(start) for start in starts]
        self.allowed_domains = read_domains(starts, domains)
        super().__init__(**kwargs)

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Leave out what is no URL: Scrapy would end the sitemap there."""
        return (entry for entry in entries if is_web_url((entry.get("loc") or "").strip()))

    def parse(self, response: Response, **kwargs: Any) -> Iterator[PageItem]:
        return self.parse_page(response)


def _sitemap(url: str) -> str:
    is_sitemap = urlsplit(url).path.lower().endswith(_SITEMAP_ENDINGS)
    return url if is_sitemap else urljoin(url, "/robots.txt")
